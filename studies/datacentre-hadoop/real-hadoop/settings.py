"""Hadoop's own settings for a small cluster, in its own files, and how its programs are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OPENS = [
    "java.lang",
    "java.util",
    "java.util.concurrent",
    "java.net",
    "java.nio",
    "java.io",
    "java.text",
    "java.math",
]
JAVA_OPTIONS = " ".join(
    [
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENS),
        "-Djava.net.preferIPv4Stack=true",
    ]
)
HEAP = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
DAEMONS = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}
FRAMEWORKS = {"mapreduce": "yarn", "tez": "yarn-tez"}
"""What Hadoop calls them."""
WEBAPPS = ["hdfs", "datanode", "cluster", "node", "yarn", "proxy", "jobhistory", "mapreduce", "static"]


@dataclass(frozen=True)
class Settings:
    """What differs between clusters."""

    master: str
    """The host of NameNode and ResourceManager."""
    folder: str
    """Where a host keeps what it has."""
    host: str
    """A host's own name, in Hadoop's words."""
    replication: int
    slots: int
    """Containers of a compute node at a time."""
    container_mb: int
    """Memory of a container, as YARN counts it."""
    block: int = 128 << 20
    """Bytes of a block of HDFS."""

    def write(self, root: Path) -> None:
        """Writes them to `root/conf`; the jars are in `root/lib`."""
        conf = root / "conf"
        for app in WEBAPPS:
            (conf / "webapps" / app).mkdir(parents=True, exist_ok=True)
        for name, settings in self._files(f"{conf}:{root}/lib/*").items():
            (conf / f"{name}.xml").write_text(xml(settings))
        (conf / "log4j.properties").write_text(
            "log4j.rootLogger=INFO,console\n"
            "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.console.target=System.err\n"
            "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p [%t] %c{2}: %m%n\n"
        )

    def _files(self, path: str) -> dict[str, dict[str, object]]:
        return {
            "core-site": {"fs.defaultFS": f"hdfs://{self.master}:8020", "hadoop.tmp.dir": self.folder},
            "hdfs-site": {
                "dfs.replication": self.replication,
                "dfs.blocksize": self.block,
                "dfs.permissions.enabled": "false",
                "dfs.namenode.datanode.registration.ip-hostname-check": "false",
                "dfs.datanode.du.reserved": 0,
                # Otherwise a gigabyte has to be free.
                "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
            },
            "yarn-site": {
                "yarn.resourcemanager.hostname": self.master,
                "yarn.nodemanager.hostname": self.host,
                "yarn.nodemanager.aux-services": "mapreduce_shuffle",
                "yarn.nodemanager.resource.memory-mb": self.container_mb * self.slots,
                "yarn.nodemanager.resource.cpu-vcores": self.slots,
                "yarn.scheduler.minimum-allocation-mb": self.container_mb,
                "yarn.nodemanager.vmem-check-enabled": "false",
                "yarn.nodemanager.pmem-check-enabled": "false",
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
                "yarn.nodemanager.log-dirs": f"{self.folder}/userlogs",
                "yarn.nodemanager.delete.debug-delay-sec": 7200,
                "yarn.log-aggregation-enable": "true",
                "yarn.nodemanager.remote-app-log-dir": "/logs",
                "yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,JDK_JAVA_OPTIONS,RT_HOST",
                "yarn.application.classpath": path,
                "yarn.resourcemanager.am.max-attempts": 1,
            },
            "capacity-scheduler": {
                "yarn.scheduler.capacity.maximum-am-resource-percent": 0.5,
                "yarn.scheduler.capacity.root.queues": "default",
                "yarn.scheduler.capacity.root.default.capacity": 100,
            },
            "mapred-site": {
                "mapreduce.framework.name": "yarn",
                "mapreduce.application.classpath": path,
                "mapreduce.map.java.opts": HEAP,
                "mapreduce.reduce.java.opts": HEAP,
                "yarn.app.mapreduce.am.command-opts": HEAP,
                "yarn.app.mapreduce.am.resource.mb": self.container_mb,
                "mapreduce.map.memory.mb": self.container_mb,
                "mapreduce.reduce.memory.mb": self.container_mb,
                "mapreduce.task.io.sort.mb": 20,
                "mapreduce.jobhistory.jhist.format": "json",
            },
            "tez-site": {
                "tez.ignore.lib.uris": "true",
                "tez.cluster.additional.classpath.prefix": path,
                "tez.am.launch.cmd-opts": HEAP,
                "tez.task.launch.cmd-opts": HEAP,
                "tez.am.resource.memory.mb": self.container_mb,
                "tez.runtime.io.sort.mb": 20,
                "tez.am.view-acls": "*",
            },
        }


def xml(settings: dict[str, object]) -> str:
    """Hadoop's form of settings."""
    rows = (
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    return "<configuration>\n" + "\n".join(rows) + "\n</configuration>\n"
