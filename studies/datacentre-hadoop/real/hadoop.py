"""Real Hadoop on the modelled network: HDFS, YARN and MapReduce, unmodified, on emulated hosts.

    python studies/datacentre-hadoop/real/hadoop.py results/hadoop-real [--size 30MB] [--clock virtual|real]

The cluster is the study's, scaled down: compute nodes below one leaf switch, data nodes below another, the
management node (NameNode and ResourceManager) below a third. TeraGen, TeraSort and TeraValidate run one after
the other; what each took is in the result. The same TeraSort is then simulated (`shuffle`). Maven brings
Hadoop, once; nothing of it is installed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from incast.quantity import parse_bytes

VERSION = "3.4.2"
ARTIFACTS = (
    "hadoop-common",
    "hadoop-hdfs",
    "hadoop-yarn-server-resourcemanager",
    "hadoop-yarn-server-nodemanager",
    "hadoop-mapreduce-client-app",
    "hadoop-mapreduce-client-shuffle",
    "hadoop-mapreduce-client-jobclient",
    "hadoop-mapreduce-examples",
)
COMPUTE, DATA = 3, 2
MASTER = f"host{COMPUTE + DATA}"
ROW = 100
"""Bytes of a row of TeraGen."""
HEAP_MB = 200
SLOTS = 2
"""Containers of a compute node beside that of the master of the job."""
CHOICES: dict[str, dict[str, Any]] = {
    "shallow": {},
    "deep": {"switch": {"buffer": {"kind": "static", "limit": "40MB"}}},
    "ecn": {"switch": {"queue": {"kind": "step", "threshold": "60kB"}}, "host.tcp.ecn": "on"},
    "dctcp": {
        "switch": {"queue": {"kind": "step", "threshold": "60kB"}},
        "host.tcp": {"congestion": "dctcp"},
    },
}


@dataclass(frozen=True)
class Asked:
    """What is to run."""

    out: Path
    size: int
    """Bytes that are sorted."""
    clock: str
    choices: tuple[str, ...]


def main() -> None:
    """Gets Hadoop, runs it and its model, and shows both."""
    parser = argparse.ArgumentParser(description="Real Hadoop on the modelled network.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="30MB", help="of the data that are sorted")
    parser.add_argument("--clock", choices=["virtual", "real"], default="virtual")
    parser.add_argument("--choices", default=",".join(CHOICES))
    given = parser.parse_args()
    asked = Asked(given.out.resolve(), parse_bytes(given.size), given.clock, tuple(given.choices.split(",")))
    asked.out.mkdir(parents=True, exist_ok=True)
    jars = library(asked.out)
    configure(asked.out / "conf")
    scenario = asked.out / "scenario.yaml"
    scenario.write_text(yaml.safe_dump(described(asked, jars), sort_keys=False))
    command = [sys.executable, "-m", "incast", "run", str(scenario), "--out", str(asked.out / "result")]
    raise SystemExit(subprocess.run([*command, "--force"], check=False).returncode)


def library(place: Path) -> Path:
    """The folder of Hadoop's jars; Maven gets them when they are not there."""
    jars = place / "lib"
    if not any(jars.glob(f"hadoop-common-{VERSION}.jar")):
        if not shutil.which("mvn"):
            raise SystemExit("Hadoop comes by Maven, and there is no mvn: apt-get install maven")
        one = (
            "<dependency><groupId>org.apache.hadoop</groupId><artifactId>{}</artifactId>"
            "<version>{}</version></dependency>"
        )
        (place / "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>hadoop</artifactId>"
            "<version>1</version><packaging>pom</packaging><dependencies>"
            + "".join(one.format(name, VERSION) for name in ARTIFACTS)
            + "</dependencies></project>"
        )
        command = ["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        subprocess.run(command, cwd=place, check=True)
    return jars


def configure(place: Path) -> None:
    """Hadoop's own settings, in its own files."""
    place.mkdir(exist_ok=True)
    local = "/tmp/hadoop"
    options = f"-Xmx{HEAP_MB}m {' '.join(JAVA)}"
    container = HEAP_MB + 56
    classpath = f"{place},{place.parent / 'lib'}/*"
    settings = {
        "core-site": {
            "fs.defaultFS": f"hdfs://{MASTER}:9000",
            "hadoop.tmp.dir": local,
        },
        "hdfs-site": {
            "dfs.replication": 2,
            "dfs.blocksize": 8 << 20,
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": 0,
            "dfs.permissions.enabled": "false",
            "dfs.client.datanode-restart.timeout": 30,
        },
        "yarn-site": {
            "yarn.resourcemanager.hostname": MASTER,
            "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "yarn.nodemanager.resource.memory-mb": container * (SLOTS + 1),
            "yarn.nodemanager.resource.cpu-vcores": SLOTS + 1,
            "yarn.scheduler.minimum-allocation-mb": container,
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.application.classpath": classpath,
        },
        "mapred-site": {
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": classpath,
            "yarn.app.mapreduce.am.resource.mb": container,
            "yarn.app.mapreduce.am.command-opts": options,
            "mapreduce.map.memory.mb": container,
            "mapreduce.reduce.memory.mb": container,
            "mapred.child.java.opts": options,
            "mapreduce.task.io.sort.mb": 50,
            "mapreduce.job.reduce.slowstart.completedmaps": 0.05,
        },
    }
    for name, values in settings.items():
        one = "<property><name>{}</name><value>{}</value></property>"
        lines = (one.format(key, value) for key, value in values.items())
        (place / f"{name}.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
    (place / "log4j.properties").write_text(
        "log4j.rootLogger=INFO,console\n"
        "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n\n"
    )


JAVA = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.security.egd=file:/dev/./urandom",
)


def java_home() -> Path:
    """Where this machine's Java is."""
    found = shutil.which("java")
    if not found:
        raise SystemExit("Hadoop needs Java, and there is no java: apt-get install openjdk-17-jre-headless")
    return Path(found).resolve().parents[1]


def described(asked: Asked, jars: Path) -> dict[str, Any]:
    """The scenario."""
    home = java_home()
    java = f"{home}/bin/java -Xmx{HEAP_MB}m {' '.join(JAVA)} -cp {asked.out / 'conf'}:{jars}/*"
    hdfs, yarn = "org.apache.hadoop.hdfs.server", "org.apache.hadoop.yarn.server"
    tera = f"{java} org.apache.hadoop.examples.terasort"
    maps = -(-asked.size // (8 << 20))
    reduces = COMPUTE * SLOTS
    # Daemons are up within some seconds where computing takes no time.
    begin = 20 if asked.clock == "virtual" else 90
    timed = (
        'took() { name=$1; shift; begun=$(date +%s%N); "$@" || exit; '
        'echo "took $name $(( ($(date +%s%N) - begun) / 1000000 )) ms"; }; '
    )
    sort = (
        f"took teragen {tera}.TeraGen -Dmapreduce.job.maps={maps} {asked.size // ROW} /in; "
        f"took terasort {tera}.TeraSort -Dmapreduce.job.reduces={reduces} /in /out; "
        f"took teravalidate {tera}.TeraValidate /out /checked"
    )

    def daemon(name: str, hosts: str, command: str, start: int = 0) -> dict[str, Any]:
        return {
            "name": name,
            "kind": "program",
            "hosts": hosts,
            "command": command,
            "start": f"{start}s",
            "environment": {"JAVA_HOME": str(home)},
            "done": "started",
        }

    compute, data = f"host[0-{COMPUTE - 1}]", f"host[{COMPUTE}-{COMPUTE + DATA - 1}]"
    name = f"{java} {hdfs}.namenode.NameNode"
    jobs = [
        daemon("namenode", MASTER, f"{name} -format -nonInteractive && exec {name}"),
        daemon("resourcemanager", MASTER, f"exec {java} {yarn}.resourcemanager.ResourceManager"),
        daemon("datanodes", data, f"exec {java} {hdfs}.datanode.DataNode", begin // 4),
        daemon("nodemanagers", compute, f"exec {java} {yarn}.nodemanager.NodeManager", begin // 4),
        {
            "name": "terasort",
            "kind": "program",
            "hosts": MASTER,
            "start": f"{begin}s",
            "command": timed + sort,
            "read": {"pattern": r"^took terasort ([0-9]+) ms", "unit": "ms"},
        },
    ]
    described = {
        "name": "hadoop-real",
        "description": f"HDFS, YARN and MapReduce {VERSION} sort {asked.size} bytes on emulated hosts",
        "topology": {
            "kind": "leaf-spine",
            "leaves": [COMPUTE, DATA, 1],
            "spines": 2,
            "host_link": {"rate": "1Gbps", "delay": "1us"},
            "uplink": {"rate": "1Gbps", "delay": "1us"},
        },
        "switch": {"buffer": {"kind": "static", "limit": "300kB"}},
        "host": {"kernel": {"memory": "1536MiB", "moderation": "20us" if asked.clock == "virtual" else "0s"}},
        "jobs": jobs,
        "until": f"{begin + 600}s",
        "choices": {choice: CHOICES[choice] for choice in asked.choices},
    }
    if asked.clock == "real":
        described["clock"] = {"kind": "real"}
        described["host"]["tcp"] = {"congestion": "reno"}
    return described


if __name__ == "__main__":
    main()
