"""The benchmarks: the same work in this simulator and in ns-3, on this machine, in one table.

    python -m benches.run [--name NAME] [--only WORD]

Every row of the table is a line of bench/results.jsonl. With a name, the run is kept in
bench/NAME.json, from which `python -m benches.report NAME` writes docs/benchmarks.md.

Cost is CPU time and instructions, never wall time: the machine may be busy. Instructions are counted by
callgrind on two sizes of the same case, and the difference is divided by the difference in
packet-hops, so that start-up and set-up do not count. A packet-hop is a packet put on a link.
ns-3 carries less data where a case would take it minutes: what is compared is the cost a hop.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from testkit import cases, ours
from testkit.cases import Scenario
from testkit.ns3 import build, case_file

from benches import measure

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
COMMAND = "make bench"
MEGABYTE = 1_000_000
KILOBYTE = 1_000

INSTRUCTIONS_A_HOP = 400.0
TIMES_NS3 = 100.0
SCALING = 1.5
#: How much faster two threads are to be, by fat tree.
SPEED_UPS = (1.2, 1.7, 1.7)
REPETITIONS = 3


@dataclass(frozen=True)
class Bench:
    """A case in the sizes that each measurement takes."""

    name: str
    make: Callable[[int], Scenario]
    #: What is timed, ours and ns-3's.
    size: int
    peer_size: int
    #: The two sizes that callgrind counts, ours and ns-3's.
    counted: tuple[int, int]
    peer_counted: tuple[int, int]
    #: Peak memory of htsim on this work in MB, measured once on a machine of two cores.
    htsim_mb: float
    #: The case so many times, one after the other; ours is counted by the last of them too.
    rounds: Callable[[int], Scenario] | None = None


BENCHES = (
    Bench(
        "incast-32, 1500 B, 10 MB",
        cases.bench_incast,
        *(10 * MEGABYTE, 2 * MEGABYTE),
        (250 * KILOBYTE, 500 * KILOBYTE),
        (50 * KILOBYTE, 100 * KILOBYTE),
        4,
    ),
    Bench(
        "incast-32, 9000 B, 10 MB",
        lambda size: cases.bench_incast(size, cases.JUMBO_HOST),
        *(10 * MEGABYTE, 10 * MEGABYTE),
        (1500 * KILOBYTE, 3 * MEGABYTE),
        (300 * KILOBYTE, 600 * KILOBYTE),
        4,
    ),
    Bench(
        "permutation, leaf-spine of 16 hosts, 10 MB",
        lambda size: cases.bench_leaf_spine(16, size),
        *(10 * MEGABYTE, 2 * MEGABYTE),
        (250 * KILOBYTE, 500 * KILOBYTE),
        (50 * KILOBYTE, 100 * KILOBYTE),
        4,
    ),
    Bench(
        "permutation, leaf-spine of 128 hosts, 10 MB",
        lambda size: cases.bench_leaf_spine(128, size),
        *(10 * MEGABYTE, MEGABYTE // 2),
        (50 * KILOBYTE, 100 * KILOBYTE),
        (10 * KILOBYTE, 20 * KILOBYTE),
        7,
    ),
    Bench(
        "1000 flows of 64 KiB into one host",
        cases.bench_fan_in,
        *(1000, 1000),
        (500, 1000),
        (50, 100),
        5,
        lambda rounds: cases.bench_fan_in(1000, rounds),
    ),
)


@dataclass(frozen=True)
class Tree:
    """A fat tree, and the two flow sizes from whose difference the cost per hop is computed."""

    k: int
    timed: tuple[int, int]
    counted: tuple[int, int]

    @property
    def hosts(self) -> int:
        """Al-Fares et al. 2008."""
        return self.k**3 // 4

    def make(self, size: int) -> Scenario:
        """The permutation."""
        return cases.bench_fat_tree(self.k, size)


FAT_TREES = (
    Tree(8, (500 * KILOBYTE, 16 * MEGABYTE), (50 * KILOBYTE, 100 * KILOBYTE)),
    Tree(16, (250 * KILOBYTE, 4 * MEGABYTE), (50 * KILOBYTE, 100 * KILOBYTE)),
    Tree(32, (50 * KILOBYTE, 200 * KILOBYTE), (50 * KILOBYTE, 100 * KILOBYTE)),
)


@dataclass(frozen=True)
class Target:
    """What is to be reached: a figure or a ratio, as the metric says."""

    value: float | None = None
    met: bool | None = None


NONE = Target()


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    bench: str
    case: str
    metric: str
    unit: str
    ours: float
    peer: float | None = None
    peer_name: str | None = None
    target: Target = NONE

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        return self.ours / self.peer if self.peer else None

    def record(self) -> dict[str, Any]:
        """As a line of bench/results.jsonl."""
        flat = asdict(self) | {"target": self.target.value, "met": self.target.met}
        return flat | {"ratio": self.ratio, "command": COMMAND}

    def text(self) -> str:
        """For the terminal."""
        peer = "–" if self.peer is None else number(self.peer)
        ratio = "–" if self.ratio is None else number(self.ratio)
        target = "" if self.target.value is None else number(self.target.value)
        verdict = {None: "", True: "met", False: "MISSED"}[self.target.met]
        return f"{line(self.case, self.metric, number(self.ours), peer, ratio, target)} {verdict}"


def line(case: str, metric: str, mine: str, peer: str, ratio: str, target: str) -> str:
    """One line of the table."""
    return f"{case:44} {metric:28} {mine:>12} {peer:>12} {ratio:>9} {target:>8}"


def megabytes(kib: int) -> float:
    """Of kibibytes, as the kernel counts them."""
    return kib * 1024 / 1e6


def number(value: float) -> str:
    """Three significant digits, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Programs:
    """The two programs, and the files that they read."""

    def __init__(self, folder: Path) -> None:
        self.ours = ours.binary("measure")
        self.ns3 = build.best()
        self.folder = folder

    def our_command(self, scenario: Scenario) -> list[str]:
        """The simulation alone: a program that writes no tables."""
        file = self.folder / "scenario.json"
        file.write_text(json.dumps(scenario))
        return [str(self.ours), str(file)]

    def ns3_command(self, scenario: Scenario) -> list[str]:
        """ns-3 as it comes."""
        file = self.folder / "case"
        file.write_text(case_file.write(scenario, case_file.STOCK))
        return [str(self.ns3.driver), str(file)]


Command = Callable[[Scenario], list[str]]


def timed(command: list[str]) -> measure.Cost:
    """The run of median CPU time."""
    runs = [measure.run(command) for _ in range(REPETITIONS)]
    return sorted(runs, key=lambda cost: cost.cpu_s)[REPETITIONS // 2]


def instructions_a_hop(command: Command, make: Callable[[int], Scenario], sizes: tuple[int, int]) -> float:
    """The slope between two sizes."""
    small, large = (measure.instructions(command(make(size))) for size in sizes)
    hops: int = large[1]["packet_hops"] - small[1]["packet_hops"]
    return (large[0] - small[0]) / hops


def against_ns3(programs: Programs, bench: Bench) -> Iterator[Row]:
    """The rows of one case."""
    mine = timed(programs.our_command(bench.make(bench.size)))
    peer = measure.run(programs.ns3_command(bench.make(bench.peer_size)))

    def row(metric: str, unit: str, value: float, peer: float | None, target: Target = NONE) -> Row:
        return Row("ns-3", bench.name, metric, unit, value, peer, programs.ns3.name, target)

    rate = mine.output["packet_hops"] / mine.cpu_s
    # Only Simulator::Run, without the set-up of the case: to ns-3's advantage.
    peer_rate = peer.output["packet_hops"] / peer.output["cpu_s"]
    target = Target(TIMES_NS3, met=rate >= TIMES_NS3 * peer_rate)
    yield row("packet-hops per CPU second", "1/s", rate, peer_rate, target)
    if measure.have_callgrind():
        slope = instructions_a_hop(programs.our_command, bench.make, bench.counted)
        peer_slope = instructions_a_hop(programs.ns3_command, bench.make, bench.peer_counted)
        target = Target(INSTRUCTIONS_A_HOP, met=slope <= INSTRUCTIONS_A_HOP)
        yield row("instructions per packet-hop", "1", slope, peer_slope, target)
        if bench.rounds:
            slope = instructions_a_hop(programs.our_command, bench.rounds, (1, 2))
            target = Target(INSTRUCTIONS_A_HOP, met=slope <= INSTRUCTIONS_A_HOP)
            yield row("instructions per packet-hop, one more round", "1", slope, None, target)
    events = mine.output["events"] / mine.output["packet_hops"]
    yield row("events per packet-hop", "1", events, peer.output["events"] / peer.output["packet_hops"])
    memory = megabytes(mine.rss_kib)
    peer_memory = megabytes(peer.rss_kib) if bench.size == bench.peer_size else None
    target = Target(bench.htsim_mb, met=memory <= bench.htsim_mb)
    yield row("peak memory", "MB", memory, peer_memory, target)


def scaling(programs: Programs) -> Iterator[Row]:
    """Cost per packet-hop of a permutation over larger and larger fat trees; ours alone."""
    base: dict[str, float] = {}
    for tree in FAT_TREES:
        name = f"permutation, fat tree of {tree.hosts} hosts"
        small, large = (timed(programs.our_command(tree.make(size))) for size in tree.timed)
        hops = large.output["packet_hops"] - small.output["packet_hops"]
        costs = {"CPU time per packet-hop": ((large.cpu_s - small.cpu_s) / hops * 1e9, "ns")}
        if measure.have_callgrind():
            slope = instructions_a_hop(programs.our_command, tree.make, tree.counted)
            costs["instructions per packet-hop"] = (slope, "1")
        for metric, (value, unit) in costs.items():
            first = base.setdefault(metric, value)
            target = Target(SCALING, met=value <= SCALING * first)
            yield Row("scaling", name, metric, unit, value, first, "128 hosts", target)
        yield Row("scaling", name, "peak memory", "MB", megabytes(large.rss_kib))


def threads(programs: Programs) -> Iterator[Row]:
    """Time per packet-hop of the same permutations on two threads, beside one."""
    for tree, speed_up in zip(FAT_TREES, SPEED_UPS, strict=True):
        small, large = (walls(programs.our_command(tree.make(size))) for size in tree.timed)
        one, two = (min(many) - min(few) for few, many in zip(small.seconds, large.seconds, strict=True))
        hops = large.hops - small.hops
        name = f"permutation, fat tree of {tree.hosts} hosts"
        target = Target(1 / speed_up, met=two <= one / speed_up)
        values = (two / hops * 1e9, one / hops * 1e9)
        yield Row("threads", name, "time per packet-hop, two threads", "ns", *values, "one thread", target)


@dataclass(frozen=True)
class Walls:
    """Runs of a scenario on one thread and on two, by turns."""

    hops: int
    seconds: tuple[list[float], list[float]]


def walls(command: list[str]) -> Walls:
    """Seconds of each."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPETITIONS):
        for number_of_threads, found in zip(("1", "2"), seconds, strict=True):
            begin = time.perf_counter()
            hops = measure.run([*command, number_of_threads]).output["packet_hops"]
            found.append(time.perf_counter() - begin)
    return Walls(hops, seconds)


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [text for text in info.read_text().splitlines() if text.startswith("model name")]
        names = [text.split(":", 1)[1].strip() for text in lines]
        model = f"{len(names)} × {names[0]}" if names else model
    return {"processor": model, "system": f"{platform.system()} {platform.release()}"}


def keep(rows: list[Row], name: str | None, ns3: str) -> None:
    """Writes results.jsonl and, for a named run, its file."""
    BENCH.mkdir(exist_ok=True)
    with (BENCH / "results.jsonl").open("a") as results:
        results.writelines(json.dumps(row.record()) + "\n" for row in rows)
    if name:
        when = datetime.now(UTC).date().isoformat()
        text = {
            "name": name,
            "date": when,
            "machine": machine(),
            "ns3": ns3,
            "rows": [row.record() for row in rows],
        }
        (BENCH / f"{name}.json").write_text(json.dumps(text, indent=1) + "\n")


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description="Side by side with ns-3.")
    parser.add_argument("--name", help="keep the run as bench/NAME.json")
    parser.add_argument("--only", default="", help="only cases whose name holds this word")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder))
        print(f"peer: {programs.ns3.name}\n")
        print(line("case", "metric", "ours", "peer", "ratio", "target"))
        sources = [against_ns3(programs, bench) for bench in BENCHES if options.only in bench.name]
        if options.only in "scaling":
            sources.append(scaling(programs))
        if options.only in "threads":
            sources.append(threads(programs))
        for source in sources:
            for row in source:
                print(row.text(), flush=True)
                rows.append(row)
    keep(rows, options.name, programs.ns3.name)


if __name__ == "__main__":
    main()
