"""What a run costs beyond its packets: `python -m benches.start`.

Each scenario runs as people run it, with its report and without. Time is that of processors, and memory is
the peak, start-up included.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from benches import measure
from benches.mine.rows import Row, keep, record
from benches.run import REPETITIONS, megabytes

COMMAND = "python -m benches.start"
FAST = {"rate": "100Gbps"}
RACKS = {
    "kind": "leaf-spine",
    "leaves": [16] * 4,
    "spines": 4,
    "host_link": FAST,
    "uplink": {"rate": "400Gbps"},
}
SWITCH = {"kind": "single-switch", "hosts": 2, "host_link": FAST}
#: Of 8,192 hosts.
TREE = {"kind": "fat-tree", "k": 32, "host_link": FAST, "fabric_link": FAST}
PAIR = {"kind": "bulk", "pairs": [["host0", "host1"]], "size": "1kB"}


@dataclass(frozen=True)
class Case:
    """A scenario, and what its run may take at most."""

    topology: dict[str, Any]
    job: dict[str, Any]
    cpu_s: float | None = None
    memory_mb: float | None = None
    flows: int = 0
    """Flows in the file that the job replays."""


def replay(flows: int, **most: float) -> Case:
    """So many short flows from a file."""
    return Case(RACKS, {"kind": "replay", "trace": "flows.csv"}, flows=flows, **most)


CASES = {
    "two hosts": Case(SWITCH, PAIR, cpu_s=0.5, memory_mb=80),
    "8,192 hosts, two of which send": Case(TREE, PAIR, cpu_s=1.5),
    "a CSV file of 100,000 flows": replay(100_000, cpu_s=1.5),
    "a CSV file of a million flows": replay(1_000_000, memory_mb=250),
}


def write_flows(file: Path, count: int) -> None:
    """Flows of one or two packets between random hosts, one each 200 ns."""
    chance = random.Random(1)
    with file.open("w") as out:
        out.write("at_us,from,to,bytes\n")
        for number in range(count):
            sender = chance.randrange(64)
            receiver = (sender + 1 + chance.randrange(63)) % 64
            out.write(f"{number / 5:.1f},{sender},{receiver},{chance.choice((1000, 1500, 3000))}\n")


def costs(case: Case, report: bool) -> list[measure.Cost]:
    """What each of several runs took, with its report or without."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_flows(folder / "flows.csv", case.flows)
        file = folder / "scenario.yaml"
        scenario = {"name": "start", "topology": case.topology, "jobs": [{"name": "job", **case.job}]}
        file.write_text(yaml.safe_dump(scenario))
        command = [sys.executable, "-m", "incast", "run", str(file), "--out", str(folder / "out")]
        command += ["--force", "--json", *([] if report else ["--no-report"])]
        return [measure.run(command) for _ in range(REPETITIONS)]


def rows() -> Iterator[Row]:
    """Processor time and memory of each case."""
    for (name, case), report in product(CASES.items(), (False, True)):
        found = costs(case, report)
        of = f"{name}, with the report" if report else name
        cpu = statistics.median(cost.cpu_s for cost in found)
        memory = statistics.median(megabytes(cost.rss_kib) for cost in found)
        yield record(of, "processor time", "s", cpu, (None, None), case.cpu_s, "start")
        yield record(of, "peak memory", "MB", memory, (None, None), case.memory_mb, "start")


def main() -> None:
    """Measures, prints, and adds to bench/results.jsonl."""
    keep(rows(), COMMAND)


if __name__ == "__main__":
    main()
