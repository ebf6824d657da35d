"""The programs compared with ours, each driven as its documentation says.

Rates are given to none of them but `uftp -R`. All TCP is CUBIC.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benches.broadcast import install
from benches.broadcast.course import SOURCE, Course, Program
from benches.broadcast.install import UnavailableError

DRIVERS = Path(__file__).resolve().parent / "drivers"
#: Of a link's rate: what is left after the headers of uftp's packets (1300 of 1366 bytes and a little room).
UFTP_SHARE = 0.94
#: Its default of 256 kB is 10 ms of 200 Mb/s, less than a busy machine may leave a receiver out.
UFTP_BUFFER = ["-B", str(4 * 2**20)]


def plain(role: str, name: str) -> Program:
    """The source sends to each receiver itself."""

    def start(course: Course) -> None:
        for host in course.receivers:
            course.spawn(host, [sys.executable, DRIVERS / "sockets.py", "sink", course.final(host)])
        course.spawn(SOURCE, [sys.executable, DRIVERS / "sockets.py", role, course.file, *course.addresses()])

    return Program(name, start)


def chain() -> Program:
    """Each host passes on what it has got, 64 kB at a time; the slow one is the fourth."""

    def start(course: Course) -> None:
        hosts = course.receivers
        for host, after in zip(hosts, [*hosts[1:], None], strict=True):
            child = [course.network.address(after)] if after else []
            command: list[str | Path] = [
                sys.executable,
                DRIVERS / "sockets.py",
                "relay",
                course.final(host),
                *child,
            ]
            course.spawn(host, command)
        first = course.network.address(hosts[0])
        course.spawn(SOURCE, [sys.executable, DRIVERS / "sockets.py", "flat", course.file, first])

    return Program("TCP chain", start)


def udpcast() -> Program:
    """Multicast with acknowledged slices; starts when all receivers are there."""
    programs, version = install.package("udpcast")

    def start(course: Course) -> None:
        both = ["--interface", "eth0", "--nokbd"]
        for host in course.receivers:
            part = course.own(host) / "part"
            get = f"{programs}/udp-receiver --file {part} {' '.join(both)} && mv {part} {course.final(host)}"
            course.spawn(host, ["sh", "-c", get])
        send: list[str | Path] = [programs / "udp-sender", "--file", course.file, *both, "--full-duplex"]
        course.spawn(SOURCE, [*send, "--min-receivers", str(len(course.receivers))])

    return Program(f"udpcast {version}", start)


def uftp(control: Callable[[int], list[str]], name: str) -> Program:
    """Multicast with NAKs; the hosts are named, so it starts when all have answered."""
    programs, version = install.package("uftp")

    def start(course: Course) -> None:
        for host in course.receivers:
            log = ["-d", "-t", "-I", "eth0", *UFTP_BUFFER, "-U", identifier(course, host)]
            course.spawn(host, [programs / "uftpd", *log, "-D", course.own(host)])
        hosts = ",".join(identifier(course, host) for host in course.receivers)
        command: list[str | Path] = [programs / "uftp", "-I", "eth0", *UFTP_BUFFER]
        command += [*control(course.case.rate), "-H", hosts]
        course.spawn(SOURCE, [*command, "-D", "file", course.file])

    return Program(f"uftp {version} {name}", start)


def identifier(course: Course, host: str) -> str:
    """As uftp writes them."""
    return f"0x{course.network.hosts.index(host) + 0x1000:08X}"


def torrent() -> Program:
    """Everybody knows everybody."""
    python = install.environment() / "python"

    def start(course: Course) -> None:
        everybody = [course.network.address(host) for host in [SOURCE, *course.receivers]]
        kept = course.folder / "torrent"
        make(python, course.file, kept)
        for host in [*course.receivers, SOURCE]:
            file = course.file if host == SOURCE else course.final(host)
            role = "seed" if host == SOURCE else "leech"
            own = course.network.address(host)
            course.spawn(host, [python, DRIVERS / "torrent.py", role, file, kept, own, *everybody])

    return Program(f"libtorrent {install.version('libtorrent')}", start)


def make(python: Path, file: Path, kept: Path) -> None:
    """The description with the hashes, before the clock begins."""
    install.run([str(python), str(DRIVERS / "torrent.py"), "make", str(file), str(kept), ""])


def openmpi() -> Program:
    """`mpirun` on the source; the agent that stands for ssh enters the namespace."""
    programs = install.environment()

    def start(course: Course) -> None:
        hosts = [SOURCE, *course.receivers]
        agent = course.folder / "agent"
        lines = [f"{course.network.address(host)}) ns={course.network.namespace(host)};;" for host in hosts]
        # A name of its own for each host, or Open MPI takes all for one machine.
        enter = 'exec ip netns exec $ns unshare -u sh -c \'hostname $0; exec sh -c "$*"\' $host "$@"'
        script = f"#!/bin/sh\nhost=$1; shift\ncase $host in\n{chr(10).join(lines)}\nesac\n{enter}\n"
        agent.write_text(script)
        agent.chmod(0o755)
        hostfile = course.folder / "hosts"
        hostfile.write_text("".join(f"{course.network.address(host)} slots=1\n" for host in hosts))
        command: list[str | Path] = [programs / "mpirun", "--allow-run-as-root"]
        command += ["--hostfile", hostfile, "-n", str(len(hosts))]
        command += ["--prtemca", "plm_ssh_agent", agent, "--prtemca", "prte_if_include", "eth0"]
        command += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0"]
        course.spawn(SOURCE, [*command, programs / "python", DRIVERS / "mpi.py", course.folder])

    return Program(f"Open MPI {install.version('openmpi')} MPI_Bcast", start, says_when=True)


PEERS: dict[str, Callable[[], Program]] = {
    "flat": lambda: plain("flat", "TCP to all at once"),
    "turns": lambda: plain("turns", "TCP to one after the other"),
    "chain": chain,
    "udpcast": udpcast,
    "tfmcc": lambda: uftp(lambda _: ["-C", "tfmcc"], "-C tfmcc"),
    # A rate set by hand, without congestion control.
    "fixed": lambda: uftp(lambda rate: ["-R", str(int(rate * UFTP_SHARE / 1000))], "-R"),
    "torrent": torrent,
    "mpi": openmpi,
}


def available(programs: dict[str, Callable[[], Program]], wanted: list[str]) -> Iterator[tuple[str, Program]]:
    """What can be had; the rest is said."""
    for key in wanted:
        try:
            yield key, programs[key]()
        except UnavailableError as reason:
            print(f"left out: {key}: {reason}", flush=True)
