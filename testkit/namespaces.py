"""Networks of Linux network namespaces: hosts and switches, links with a rate each way.

For benchmarks and tests of real programs; nothing here reaches beyond the machine. A host is a namespace
with one interface, eth0, and an address; a switch is a namespace with a bridge. A link is a veth pair, and
each end sends through a token bucket (tc-tbf(8)) in front of a queue that drops at its tail. Links and
switches must form a tree: bridges flood.

    with Network(star({"a": 20_000_000, "b": 2_000_000})) as network:
        subprocess.run([*network.enter("a"), "ping", "-c", "1", network.address("b")])

Needs root, iproute2 and the kernel's bridge, veth and tbf (`unavailable()` says what is missing). Several
networks can exist at once. Leaving the `with` block kills what still runs in the namespaces and removes
them; those that a killed program left behind are removed by the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PREFIX = "incast"
SWITCH = "switch"
#: A private network of the namespaces alone.
NET = "10.77.0"
MTU = 1500
#: A hardware address that no host has.
NOBODY = "02:00:00:00:00:01"
#: A bucket holds what leaves in this time, and at least some packets; a queue likewise.
BURST_S = 0.003
BURST_LEAST_BYTES = 5_000
QUEUE_S = 0.05
QUEUE_LEAST_BYTES = 64_000
BITS = 8

# Where Debian has tc, which not everybody's path leads to.
os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"

serial = itertools.count()


class NamespaceError(Exception):
    """A step failed; the message has the command and what it said."""


@dataclass(frozen=True)
class Link:
    """Between two nodes, rates in bit/s each way; 0 is without a limit."""

    a: str
    b: str
    ab: int = 0
    ba: int = 0


def star(rates: Mapping[str, int]) -> list[Link]:
    """Hosts around one switch, the same rate both ways."""
    return [Link(host, SWITCH, rate, rate) for host, rate in rates.items()]


def unavailable() -> str | None:
    """Why such networks can't be had here; None if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return f"no {' and no '.join(missing)}: install iproute2"
    try:
        with Network(star({"a": 1_000_000, "b": 1_000_000})):
            return None
    except NamespaceError as reason:
        return str(reason)


class Network:
    """Nodes that occur as `switches` are bridges, all others hosts."""

    def __init__(
        self, links: Iterable[Link], switches: Iterable[str] = (SWITCH,), congestion: str = "cubic"
    ) -> None:
        """The congestion control goes with the routes: the machine's own setting stays as it is."""
        self.links = list(links)
        self.switches = set(switches)
        self.congestion = congestion
        nodes = list(dict.fromkeys(node for link in self.links for node in (link.a, link.b)))
        self.hosts = [node for node in nodes if node not in self.switches]
        self.nodes = nodes
        self._prefix = f"{PREFIX}-{os.getpid()}-{next(serial)}"
        self._ports: dict[tuple[int, str], str] = {}

    def __enter__(self) -> Self:
        sweep()
        atexit.register(self.close)
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills and removes; a second call does nothing."""
        atexit.unregister(self.close)
        remove(name for name in namespaces() if name.startswith(f"{self._prefix}-"))

    def namespace(self, node: str) -> str:
        """Its name for `ip netns`."""
        return f"{self._prefix}-{node}"

    def enter(self, host: str) -> list[str]:
        """What to put before a command that is to run there."""
        return ["ip", "netns", "exec", self.namespace(host)]

    def address(self, host: str) -> str:
        """IPv4."""
        return f"{NET}.{self.hosts.index(host) + 1}"

    def broadcast(self) -> str:
        """The address of all hosts."""
        return f"{NET}.255"

    def set_link(self, link: Link) -> None:
        """New rates for a link between these two nodes."""
        for index, old in enumerate(self.links):
            if {old.a, old.b} == {link.a, link.b}:
                self._shape(index, link.a, link.ab)
                self._shape(index, link.b, link.ba)
                return
        raise KeyError(f"no link between {link.a} and {link.b}")

    def cut(self, host: str) -> None:
        """Takes its interface down, as a pulled cable."""
        ip(self.namespace(host), ["link set eth0 down"])

    def restore(self, host: str) -> None:
        """Puts it up again, with its routes."""
        ip(self.namespace(host), ["link set eth0 up"])
        self._address(host, ["addr flush dev eth0"])

    def carrier(self, host: str, yes: bool, switch: str = SWITCH) -> None:
        """Whether the switch's port is up: without it the host's link has no carrier."""
        ip(self.namespace(switch), [f"link set {self.port(switch, host)} {'up' if yes else 'down'}"])

    def drop(self, host: str, yes: bool, switch: str = SWITCH) -> None:
        """Whether the switch drops what comes from a host and goes to it; its link stays up (bridge(8))."""
        state = "0" if yes else "3"
        run(
            [
                "bridge",
                "-n",
                self.namespace(switch),
                "link",
                "set",
                "dev",
                self.port(switch, host),
                "state",
                state,
            ]
        )

    def part(self, a: str, b: str, yes: bool) -> None:
        """Whether what two hosts send to each other is lost: they have a wrong neighbour."""
        for host, other in ((a, b), (b, a)):
            what = f"{self.address(other)} dev eth0"
            how = f"replace {what} lladdr {NOBODY} nud permanent" if yes else f"del {what}"
            ip(self.namespace(host), [f"neigh {how}"])

    def freeze(self, host: str, yes: bool) -> None:
        """Whether all that runs there stands still (SIGSTOP, SIGCONT)."""
        for pid in run(["ip", "netns", "pids", self.namespace(host)]).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGSTOP if yes else signal.SIGCONT)

    def forward(self, yes: bool, switch: str = SWITCH) -> None:
        """Whether a switch forwards what comes; its ports stay up, so that hosts don't see it."""
        ip(self.namespace(switch), [f"link set br0 {'up' if yes else 'down'}"])

    def kill(self, host: str) -> None:
        """SIGKILL for all that runs there."""
        kill([self.namespace(host)])

    def counters(self, switch: str = SWITCH) -> dict[str, tuple[int, int]]:
        """Bytes that came from and went to the nodes on a switch's ports."""
        text = run(["ip", "-n", self.namespace(switch), "-s", "-j", "link"])
        stats = {entry["ifname"]: entry["stats64"] for entry in json.loads(text)}
        found = {}
        for (index, node), port in self._ports.items():
            if node == switch:
                link = self.links[index]
                other = link.b if link.a == switch else link.a
                found[other] = (stats[port]["rx"]["bytes"], stats[port]["tx"]["bytes"])
        return found

    def port(self, switch: str, node: str) -> str:
        """The switch's interface towards a node."""
        for index, link in enumerate(self.links):
            if {link.a, link.b} == {switch, node}:
                return self._ports[index, switch]
        raise KeyError(f"no link between {switch} and {node}")

    def _build(self) -> None:
        for node in self.nodes:
            run(["ip", "netns", "add", self.namespace(node)])
            switch = (
                ["link add name br0 type bridge", "link set br0 addrgenmode none up"]
                if node in self.switches
                else []
            )
            ip(self.namespace(node), ["link set lo up", *switch])
        for index, link in enumerate(self.links):
            self._join(index, link)
        for host in self.hosts:
            self._address(host)

    def _join(self, index: int, link: Link) -> None:
        ends = [(node, f"p{index}" if node in self.switches else "eth0") for node in (link.a, link.b)]
        (a, port_a), (b, port_b) = ends
        pair = f"link add name {port_a} mtu {MTU} type veth peer name {port_b} mtu {MTU}"
        ip(self.namespace(a), [f"{pair} netns {self.namespace(b)}"])
        for (node, port), rate in zip(ends, (link.ab, link.ba), strict=True):
            self._ports[index, node] = port
            join = [f"link set {port} master br0"] if node in self.switches else []
            # Without an IPv6 address nothing is sent unasked.
            ip(self.namespace(node), [*join, f"link set {port} addrgenmode none up"])
            self._shape(index, node, rate)

    def _address(self, host: str, before: Iterable[str] = ()) -> None:
        commands = [*before, f"addr add {self.address(host)}/24 brd + dev eth0"]
        commands.append(
            f"route replace {NET}.0/24 dev eth0 src {self.address(host)} congctl {self.congestion}"
        )
        # Multicast leaves by eth0 too.
        commands.append("route add default dev eth0")
        ip(self.namespace(host), commands)

    def _shape(self, index: int, node: str, rate: int) -> None:
        port = self._ports[index, node]
        tc = ["tc", "-n", self.namespace(node), "qdisc"]
        if rate == 0:
            subprocess.run([*tc, "del", "dev", port, "root"], capture_output=True, check=False)
            return
        burst = max(BURST_LEAST_BYTES, int(rate * BURST_S / BITS))
        limit = max(QUEUE_LEAST_BYTES, int(rate * QUEUE_S / BITS)) + burst
        bucket = ["tbf", "rate", f"{rate}bit", "burst", str(burst), "limit", str(limit)]
        run([*tc, "replace", "dev", port, "root", *bucket])


def run(command: list[str], text: str = "") -> str:
    """Runs a step."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NamespaceError(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip()} {text.strip()}")
    return done.stdout


def ip(namespace: str, commands: list[str]) -> None:
    """Several commands in one process."""
    run(["ip", "-n", namespace, "-batch", "-"], "\n".join(commands) + "\n")


def namespaces() -> list[str]:
    """All that a program of ours made."""
    listed: list[dict[str, Any]] = json.loads(run(["ip", "-j", "netns", "list"]) or "[]")
    return [entry["name"] for entry in listed if entry["name"].startswith(f"{PREFIX}-")]


def sweep() -> None:
    """Removes what programs left that are no more."""
    remove(name for name in namespaces() if not Path("/proc", name.split("-")[1]).exists())


def remove(names: Iterable[str]) -> None:
    """With all that runs in them."""
    chosen = list(names)
    kill(chosen)
    for name in chosen:
        run(["ip", "netns", "del", name])


def kill(names: Iterable[str]) -> None:
    """Until nothing runs there: what was killed may have started something meanwhile."""
    waiting = list(names)
    for _ in range(200):
        pids = [int(pid) for name in waiting for pid in run(["ip", "netns", "pids", name]).split()]
        living = [pid for pid in pids if alive(pid)]
        if not living:
            return
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)
    raise NamespaceError(f"processes in {', '.join(waiting)} don't end: {living}")


def alive(pid: int) -> bool:
    """A zombie is not: its parent has not yet asked for its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
