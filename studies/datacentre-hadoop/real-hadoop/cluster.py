"""A small Hadoop cluster on one machine: a network namespace a host, a bridge as the switch, real daemons.

`Cluster(...)` is a context: it makes the network, writes the settings, starts the daemons, and ends all
it started. The links towards the compute nodes cross `relay.py`. Needs root, Java 17, and the jars that
`pom.xml` names.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from settings import DAEMONS, HEAP, JAVA_OPTIONS, Settings

HERE = Path(__file__).parent
PREFIX = "rt-"


def run(*command: str, **options: object) -> None:
    """A command that must succeed."""
    subprocess.run(command, check=True, **options)  # type: ignore[call-overload]


class Cluster:
    """One master (NameNode, ResourceManager, client), DataNodes, and NodeManagers behind a delay."""

    def __init__(self, root: Path, data_nodes: int, compute_nodes: int, slots: int) -> None:
        self.root, self.slots = root, slots
        self.conf, self.logs, self.run = root / "conf", root / "logs", root / "run"
        self.data = [f"d{n + 1}" for n in range(data_nodes)]
        self.compute = [f"n{n + 1}" for n in range(compute_nodes)]
        self.address = {"master": "10.9.0.1"}
        self.address |= {host: f"10.9.0.{11 + n}" for n, host in enumerate(self.data)}
        self.address |= {host: f"10.9.0.{21 + n}" for n, host in enumerate(self.compute)}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.delay_file = root / "delay"

    # Network

    def _namespaces(self) -> None:
        hosts = "127.0.0.1 localhost\n" + "".join(f"{ip} {host}\n" for host, ip in self.address.items())
        for host in ["switch", *self.address]:
            name = PREFIX + host
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
            etc = Path("/etc/netns") / name
            etc.mkdir(parents=True, exist_ok=True)
            (etc / "hosts").write_text(hosts)
            (etc / "resolv.conf").write_text("")
            for kind in ("all", "default"):
                knob = f"net.ipv6.conf.{kind}.disable_ipv6=1"
                run("ip", "netns", "exec", name, "sysctl", "-qw", knob)
        switch = PREFIX + "switch"
        run("ip", "-n", switch, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        run("ip", "-n", switch, "link", "set", "br0", "up")

    def _links(self) -> None:
        switch = PREFIX + "switch"
        self.set_delay(0)
        relay = ["ip", "netns", "exec", switch, sys.executable, str(HERE / "relay.py"), str(self.delay_file)]
        self._start("relay", [*relay, *self.compute])
        time.sleep(1)
        for host, ip in self.address.items():
            name = PREFIX + host
            if host not in self.compute:
                kind = ["type", "veth", "peer", "name", f"h-{host}"]
                run("ip", "-n", switch, "link", "add", f"s-{host}", *kind)
            run("ip", "-n", switch, "link", "set", f"h-{host}", "netns", name)
            run("ip", "-n", switch, "link", "set", f"s-{host}", "master", "br0", "up")
            run("ip", "-n", name, "link", "set", f"h-{host}", "name", "eth0")
            run("ip", "-n", name, "addr", "add", f"{ip}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")

    def set_delay(self, seconds: float) -> None:
        """Of every link towards a compute node."""
        new = self.delay_file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self.delay_file)
        time.sleep(0.3)

    # Settings

    def _settings(self) -> None:
        Settings(
            master="master",
            folder=f"{self.run}/${{env.RT_HOST:-any}}",
            host="${env.RT_HOST:-any}",
            replication=len(self.data),
            slots=self.slots,
            container_mb=1024,
        ).write(self.root)

    # Processes

    def _start(self, name: str, command: list[str], **options: object) -> None:
        out = (self.logs / f"{name}.log").open("wb")
        process = subprocess.Popen(  # type: ignore[call-overload]
            command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **options
        )
        self.processes.append(process)

    def command(self, host: str, main: str, *arguments: str) -> list[str]:
        """A Java program on a host."""
        inside = f'hostname {host}; exec java {HEAP} -cp "{self.conf}:{self.root}/lib/*" "$@"'
        return [
            "ip",
            "netns",
            "exec",
            PREFIX + host,
            "unshare",
            "-u",
            "sh",
            "-c",
            inside,
            "-",
            main,
            *arguments,
        ]

    def environment(self, host: str) -> dict[str, str]:
        """What every program on a host sees."""
        extra = {"RT_HOST": host, "JDK_JAVA_OPTIONS": JAVA_OPTIONS, "HADOOP_CONF_DIR": str(self.conf)}
        return os.environ | extra | {"HADOOP_USER_NAME": "root"}

    def hadoop(self, main: str, *arguments: str, log: Path | None = None) -> None:
        """Runs a client on the master, to its end."""
        out = log.open("wb") if log else subprocess.DEVNULL
        command, environment = self.command("master", main, *arguments), self.environment("master")
        run(*command, env=environment, stdout=out, stderr=subprocess.STDOUT, timeout=600)

    def _daemon(self, kind: str, host: str) -> None:
        self._start(f"{kind}-{host}", self.command(host, DAEMONS[kind]), env=self.environment(host))

    def _await(self, what: str, log: str, seconds: int = 90) -> None:
        end = time.monotonic() + seconds
        while what not in (self.logs / log).read_text(errors="replace"):
            if time.monotonic() > end:
                raise TimeoutError(f"{log} never says {what!r}")
            time.sleep(0.5)

    def await_end(self, app: str) -> None:
        """Until the ResourceManager has heard the last of a job."""
        self._await(f"{app} State change from FINISHING to FINISHED", "resourcemanager-master.log")

    def __enter__(self) -> "Cluster":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
        shutil.rmtree(self.run, ignore_errors=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        try:
            self._namespaces()
            self._links()
            self._settings()
            self.hadoop(DAEMONS["namenode"], "-format", "-force")
            for kind, hosts in (
                ("namenode", ["master"]),
                ("resourcemanager", ["master"]),
                ("datanode", self.data),
                ("nodemanager", self.compute),
            ):
                for host in hosts:
                    self._daemon(kind, host)
            for host in self.data:
                self._await("successfully registered with NN", f"datanode-{host}.log")
            for host in self.compute:
                self._await("Registered with ResourceManager", f"nodemanager-{host}.log")
        except BaseException:
            self._end()
            raise
        return self

    def _end(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        for host in ["switch", *self.address]:
            name = PREFIX + host
            subprocess.run(["ip", "netns", "del", name], check=False)
            shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()
