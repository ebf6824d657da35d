"""`incast mine` on one node compared with pyfim and mlxtend (both in the test extra); then on several nodes.

`python -m benches.mine [WORD …]`: only cases that hold one of the words. Each row is a line of
bench/results.jsonl. What is measured is the whole process: start-up, reading the text, mining; ours also
writes its result, in the default form. One thread. Targets are a part of the best peer's processor time, and
no more memory than twice the file or a quarter of pyfim's.
"""

from __future__ import annotations

import compileall
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from testkit.transactions import DENSE_23, DENSE_37, DENSE_74, Attributes, Retail

from benches import measure
from benches.mine import nodes
from benches.mine.rows import Row, record, text
from incast.mining.quest import Quest, generate, like

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).resolve().parent / "peers.py"
REPETITIONS = 3
SPARK = "spark fpgrowth local[2]"
PYFIM = ("pyfim eclat", "pyfim apriori", "pyfim fpgrowth")


@dataclass(frozen=True)
class Case:
    """Transactions, a minimum support, and the peers that mine them too."""

    name: str
    data: Quest | Attributes | Retail
    support: float
    peers: tuple[str, ...] = ()
    #: Of the best peer's processor time.
    part: float | None = None
    options: tuple[str, ...] = ()


SMALL = like("t10i4d100k")
TABLE_2 = like("hpa-table2")
CASES = (
    Case("T10I4D100K, 1 %", SMALL, 0.01, (*PYFIM, "mlxtend fpgrowth", SPARK), 0.5),
    Case("T10I4D100K, 0.1 %", SMALL, 0.001, (*PYFIM, "mlxtend fpgrowth", SPARK), 0.5),
    Case("Table 2, 100 k, 0.7 %", like("hpa-table2", transactions=100_000), 0.007),
    Case("Table 2, 1 M, 0.7 %", TABLE_2, 0.007, (*PYFIM, "mlxtend fpgrowth"), 0.1),
    Case("retail, 0.01 %", Retail(), 0.0001, PYFIM, 1.0),
    Case("retail, 0.005 %", Retail(), 0.00005, ("pyfim eclat", "pyfim fpgrowth"), 1.0),
    Case("dense, 37 attributes, 50 %", DENSE_37, 0.5, ("pyfim eclat", "pyfim fpgrowth"), 1.0),
    Case("dense, 23 attributes, 5 %", DENSE_23, 0.05, ("pyfim eclat", "pyfim fpgrowth"), 1.0),
    Case("dense, 74 attributes, 40 %", DENSE_74, 0.4, ("pyfim eclat", "pyfim fpgrowth"), 1.0),
    Case("Table 2, 10 M, 0.7 %", like("hpa-table2", transactions=10_000_000), 0.007),
    Case(
        "21 k large items, 228 M candidates",
        nodes.LARGE_L1,
        0.0001,
        ("pyfim eclat",),
        None,
        ("--memory", "1GB"),
    ),
    Case("21 k large items, in 256 MiB", nodes.LARGE_L1, 0.0001),
)


@dataclass(frozen=True)
class Figures:
    """Of a process."""

    cpu_s: float
    wall_s: float
    memory_mb: float
    itemsets: int


def spark() -> str:
    """The Python of an environment with Spark; made on the first call."""
    requirements = PEERS.with_name("requirements.txt")
    home = ROOT / "bench" / "mine-peers"
    python, done = home / "bin" / "python", home / "installed"
    if not done.exists() or done.read_text() != requirements.read_text():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(requirements)], check=True)
        done.write_text(requirements.read_text())
    return str(python)


def measured(command: list[str], repetitions: int = 1, *, below: bool = False) -> Figures:
    """The run of median processor time; `below`: its memory is that of the largest process."""
    found = []
    for _ in range(repetitions):
        began = time.monotonic()
        cost = measure.run(command, below=below)
        wall = time.monotonic() - began
        found.append(
            Figures(
                cost.cpu_s, wall, max(cost.rss_kib, *cost.below_kib, 0) * 1024 / 1e6, cost.output["itemsets"]
            )
        )
    return sorted(found, key=lambda each: each.cpu_s)[len(found) // 2]


def rows(case: Case, folder: Path) -> Iterator[Row]:
    """Our figures compared with each peer's."""
    file = folder / "transactions.dat"
    if isinstance(case.data, Quest):
        generate(case.data, file, force=True)
    else:
        case.data.write(file)
    with file.open("rb") as lines:
        transactions = sum(1 for _ in lines)
    mine = [sys.executable, "-m", "incast", "mine", str(file), "--support", repr(case.support)]
    mine += ["--out", str(folder / "result"), "--force", "--json", *case.options]
    ours = measured(mine, REPETITIONS)
    peers = {}
    for name in case.peers:
        if name == SPARK and shutil.which("java") is None:
            continue
        python = spark() if name == SPARK else sys.executable
        command = [python, str(PEERS), name, str(file), repr(case.support)]
        peers[name] = measured(command, REPETITIONS if name in PYFIM else 1, below=name == SPARK)
        if peers[name].itemsets != ours.itemsets:
            raise RuntimeError(f"{case.name}: {ours.itemsets} itemsets, {name}: {peers[name].itemsets}")
    best = min((each.cpu_s for each in peers.values()), default=None)
    cpu = case.part * best if case.part and best else None
    size = file.stat().st_size / 1e6
    lean = min((each.memory_mb / 4 for name, each in peers.items() if name in PYFIM), default=2 * size)
    # A small file's memory is Python's and the core's.
    memory = min(2 * size, lean) if size > 50 else None
    for metric, unit, field, target in (
        ("processor time", "s", "cpu_s", cpu),
        ("wall time", "s", "wall_s", None),
        ("peak memory", "MB", "memory_mb", memory),
    ):
        value: float = getattr(ours, field)
        rivals: list[tuple[str | None, Figures | None]] = [*peers.items()] or [(None, None)]
        for rival, peer in rivals:
            theirs = getattr(peer, field) if peer else None
            yield record(case.name, metric, unit, value, (rival, theirs), target)
    yield record(case.name, "peak memory over the file", "1", ours.memory_mb / size, (None, None), None)
    per = ours.cpu_s / transactions * 1e6
    yield record(case.name, "processor time a transaction", "us", per, (None, None), None)


def main() -> None:
    """Measures, prints and keeps."""
    wanted = sys.argv[1:]
    # As pip does when it installs a package.
    compileall.compile_dir(ROOT / "python" / "incast", quiet=1)
    (ROOT / "bench").mkdir(exist_ok=True)
    with (ROOT / "bench" / "results.jsonl").open("a") as results:
        for case in CASES:
            if wanted and not any(word in case.name for word in wanted):
                continue
            with tempfile.TemporaryDirectory() as folder:
                keep(rows(case, Path(folder)), results)
        for group in nodes.GROUPS:
            if wanted and not any(word in f"{group.name} nodes" for word in wanted):
                continue
            with tempfile.TemporaryDirectory() as folder:
                keep(nodes.rows(group, Path(folder)), results)


def keep(found: Iterator[Row], results: TextIO) -> None:
    """Prints and writes."""
    for row in found:
        print(text(row), flush=True)
        results.write(json.dumps(row) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
