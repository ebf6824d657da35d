"""One run: a program moves a file from one host to the others, and the bench records when each host has it.

The clock begins when the source has put 20 kB onto its link, so neither starting processes nor finding each
other counts, unless the program itself writes down when it began. A receiver has the file when it is there
under its final name. Afterwards every byte of each is compared.
"""

from __future__ import annotations

import filecmp
import shutil
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from testkit.namespaces import SWITCH, Network, star

SOURCE = "h0"
STARTED_BYTES = 20_000
LOOK_S = 0.002
#: To bring all processes up, before the first byte: on a busy machine nine of Python take minutes.
PATIENCE_S = 240
BITS = 8
MEGA = 1e6


@dataclass(frozen=True)
class Case:
    """A source and receivers around a switch; one has a tenth of the others' rate, `others` their own."""

    rate: int
    size: int
    #: A fast receiver's processes are killed when it would have this share of the file at best.
    killed_at: float | None = None
    receivers: int = 8
    slow: str = "h4"
    victim: str = "h6"
    others: tuple[tuple[str, int], ...] = ()
    #: Ours is not told what the links carry.
    typed: bool = False

    @property
    def name(self) -> str:
        """For the table."""
        mebibytes = self.size // 2**20
        counts = Counter(self.rates()[host] // 10**6 for host in self.hosts()[1:])
        rates = " + ".join(f"{count} × {rate}" for rate, count in sorted(counts.items(), reverse=True))
        more = (", as typed" if self.typed else "") + (f", {self.victim} killed" if self.killed_at else "")
        return f"{rates} Mb/s, {mebibytes} MiB{more}"

    def hosts(self) -> list[str]:
        """The source, then the receivers."""
        return [SOURCE, *(f"h{index + 1}" for index in range(self.receivers))]

    def rates(self) -> dict[str, int]:
        """Of each host's link, both ways."""
        return {host: self.rate // 10 if host == self.slow else self.rate for host in self.hosts()} | dict(
            self.others
        )

    @property
    def ideal_s(self) -> float:
        """Of a fast receiver, without headers."""
        return self.size * BITS / self.rate

    @property
    def limit_s(self) -> float:
        """A host without the file by then counts as never getting it."""
        return 10 * self.ideal_s * (1.5 if self.killed_at else 2.5) + 10


@dataclass
class Course:
    """The hosts, the folders, the processes of a run."""

    network: Network
    folder: Path
    case: Case
    receivers: list[str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """What is sent."""
        return self.folder / "file"

    def own(self, host: str) -> Path:
        """A receiver's folder."""
        return self.folder / host

    def final(self, host: str) -> Path:
        """Where a receiver is to have it."""
        return self.own(host) / "file"

    def addresses(self) -> list[str]:
        """Of the receivers."""
        return [self.network.address(host) for host in self.receivers]

    def spawn(self, host: str, command: Iterable[str | Path]) -> None:
        """Starts a program on a host; what it says goes to a file."""
        with (self.folder / f"{host}.log").open("ab") as log:
            full = [*self.network.enter(host), *map(str, command)]
            self.processes.append(
                subprocess.Popen(full, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
            )

    def said(self) -> str:
        """The last line of each log, for debugging."""
        logs = sorted(self.folder.glob("*.log"))
        last = {log.stem: log.read_text(errors="replace").strip().splitlines()[-1:] for log in logs}
        return "; ".join(f"{host}: {line[0][:100]}" for host, line in last.items() if line)


#: Starts all processes of a program.
Start = Callable[[Course], None]


@dataclass(frozen=True)
class Program:
    """Ours or a peer's."""

    name: str
    start: Start
    #: It writes down itself when it began.
    says_when: bool = False


@dataclass(frozen=True)
class Outcome:
    """Seconds from the beginning until each receiver had the file; None if it never did."""

    times: dict[str, float | None]
    #: From the first process to the last file.
    whole_s: float
    #: Bytes that went over the source's link and over all hosts' links to them.
    source_bytes: int
    all_bytes: int
    said: str

    def fast(self, case: Case) -> list[float | None]:
        """Of receivers with the full rate that were not killed."""
        out = {case.slow, *dict(case.others)} | ({case.victim} if case.killed_at else set())
        return [value for host, value in self.times.items() if host not in out]

    def aggregate_bps(self, case: Case) -> float:
        """The sum of all receivers' rates."""
        return sum(case.size * BITS / value for value in self.times.values() if value)


class Meter:
    """Reads the counters of the switch's ports without starting a process."""

    def __init__(self, network: Network) -> None:
        self.holder = subprocess.Popen([*network.enter(SWITCH), "sleep", "infinity"])
        self.ports = {host: network.port(SWITCH, host) for host in network.hosts}
        self.file = Path(f"/proc/{self.holder.pid}/net/dev")
        while "p0" not in self.file.read_text():
            time.sleep(LOOK_S)

    def read(self) -> dict[str, tuple[int, int]]:
        """Bytes from and to each host."""
        lines = (line.split() for line in self.file.read_text().splitlines()[2:])
        ports = {name.rstrip(":"): (int(rest[0]), int(rest[8])) for name, *rest in lines}
        return {host: ports[port] for host, port in self.ports.items()}


def once(program: Program, case: Case, content: Path, folder: Path, alone: str | None = None) -> Outcome:
    """One run in a new network; with `alone` that receiver is the only one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "file").hardlink_to(content)
    with Network(star(case.rates())) as network:
        receivers = [alone] if alone else network.hosts[1:]
        course = Course(network, folder, case, receivers)
        for host in receivers:
            course.own(host).mkdir()
        meter = Meter(network)
        try:
            outcome = watch(program, course, meter)
        finally:
            for host in network.hosts:
                network.kill(host)
            for process in course.processes:
                process.wait()
            network.close()
            meter.holder.wait()
    for host, value in outcome.times.items():
        if value is not None and not filecmp.cmp(content, course.final(host), shallow=False):
            print(f"{program.name}: {host} has other bytes than the source", flush=True)
            outcome.times[host] = None
    return outcome


def watch(program: Program, course: Course, meter: Meter) -> Outcome:
    """Starts it and polls until all hosts have the file or no further host will get it."""
    launched = time.monotonic()
    program.start(course)
    idle = meter.read()[SOURCE][0]
    began = None
    missing = list(course.receivers)
    found: dict[str, float] = {}
    victim = course.case.victim if course.case.killed_at else None
    while missing:
        now = time.monotonic()
        if began is None:
            began = begun(program, course, now if meter.read()[SOURCE][0] >= idle + STARTED_BYTES else None)
        for host in [host for host in missing if course.final(host).exists()]:
            found[host] = now
            missing.remove(host)
        if began and victim and now > began + (course.case.killed_at or 0) * course.case.ideal_s:
            course.network.kill(victim)
            missing = [host for host in missing if host != victim]
            victim = None
        if now > (began + course.case.limit_s if began else launched + PATIENCE_S):
            break
        if all(process.poll() is not None for process in course.processes):
            missing = [host for host in missing if course.final(host).exists()]
        time.sleep(LOOK_S)
    ended = time.monotonic()
    counters = meter.read()
    return Outcome(
        {host: found[host] - began if began and host in found else None for host in course.receivers},
        ended - launched,
        counters[SOURCE][0],
        sum(down for _, down in counters.values()),
        course.said(),
    )


def begun(program: Program, course: Course, sending: float | None) -> float | None:
    """When it began, as far as is known yet."""
    if not program.says_when:
        return sending
    note = course.folder / "began"
    said = note.read_text() if note.exists() else ""
    return float(said) if said else None


def mean(values: Iterable[float | None]) -> float | None:
    """None if a receiver is missing."""
    known = list(values)
    return statistics.mean(value for value in known if value) if all(known) and known else None
