"""`incast mine --nodes` on one machine: what several nodes cost, what they send, the memory a node needs.

The itemsets must be those of one node, byte for byte, or no row is written. Processor time is that of all
processes together: the launcher, which reads the text and hands out parts, and the nodes. Peak memory is the
largest node's; the launcher's stands beside it, as it holds the transactions until the nodes have theirs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches import measure
from benches.mine.rows import Row, record
from incast.mining.quest import Quest, generate, like

BENCH = "mine nodes"
PROCESSOR, WALL, MEMORY = "processor time", "wall time", "peak memory a node"
LAUNCHER, SCANS, SENT, FACTOR = (
    "peak memory of the launcher",
    "scans in pass 2",
    "sent in pass 2",
    "times fewer",
)
COLUMNS = (PROCESSOR, WALL, MEMORY, LAUNCHER, SCANS, SENT, FACTOR)
#: Of the bytes that plain exchange sends in pass 2.
FEWER = 10.0


@dataclass(frozen=True)
class Group:
    """Transactions, a minimum support, and how nodes mine them."""

    name: str
    quest: Quest
    support: float
    nodes: tuple[int, ...]
    exchanges: tuple[str, ...]
    memory: str = "256MiB"
    #: Whether plain exchange is what the others are held against.
    bytes_matter: bool = True


LARGE_L1 = like("t10i4d100k", transactions=200_000, length=20.0, patterns=40_000, items=30_000)
GROUPS = (
    Group("Table 2, 1 M", like("hpa-table2"), 0.007, (2, 8), ("plain", "combined", "frequent")),
    Group(
        "228 M candidates, 128 MiB",
        LARGE_L1,
        0.0001,
        (2, 4, 8),
        ("plain", "frequent"),
        "128MiB",
        False,
    ),
)


@dataclass(frozen=True)
class Figures:
    """Of a run."""

    cpu_s: float
    wall_s: float
    memory_mb: float
    """The largest node's."""
    launcher_mb: float
    passes: list[dict[str, Any]]
    itemsets: bytes

    @property
    def scans(self) -> int:
        """In pass 2."""
        return int(self.passes[1]["scans"])


def run(file: Path, group: Group, *options: str) -> Figures:
    """A run of `incast mine`."""
    folder = file.parent / "result"
    command = [sys.executable, "-m", "incast", "mine", str(file), "--support", repr(group.support)]
    command += [
        "--memory",
        group.memory,
        "--out",
        str(folder),
        "--force",
        "--format",
        "csv",
        "--json",
        *options,
    ]
    began = time.monotonic()
    cost = measure.run(command, below=True)
    wall = time.monotonic() - began
    own = cost.rss_kib * 1024 / 1e6
    largest = max(cost.below_kib, default=cost.rss_kib) * 1024 / 1e6
    found = (folder / "itemsets.csv").read_bytes()
    return Figures(cost.cpu_s, wall, largest, own, cost.output["passes"], found)


def rows(group: Group, folder: Path) -> Iterator[Row]:
    """One node, then each number of nodes and exchange."""
    file = folder / "transactions.dat"
    generate(group.quest, file, force=True)
    alone = run(file, group)
    yield from costs(f"{group.name}: one node", alone, None)
    for nodes in group.nodes:
        plain: float | None = None
        for exchange in group.exchanges:
            found = run(file, group, "--nodes", str(nodes), "--exchange", exchange)
            case = f"{group.name}: {nodes} nodes, {exchange}"
            if found.itemsets != alone.itemsets:
                raise RuntimeError(f"{case}: other itemsets than one node's")
            yield from costs(case, found, alone)
            sent = float(found.passes[1]["sent_bytes"])
            plain = sent if exchange == "plain" else plain
            yield from traffic(case, sent, None if exchange == "plain" else plain, group.bytes_matter)


def costs(case: str, found: Figures, alone: Figures | None) -> Iterator[Row]:
    """Beside those of one node."""
    for metric, unit, field in (
        (PROCESSOR, "s", "cpu_s"),
        (WALL, "s", "wall_s"),
        (MEMORY, "MB", "memory_mb"),
        (LAUNCHER, "MB", "launcher_mb"),
        (SCANS, "1", "scans"),
    ):
        if field != "launcher_mb" or alone:
            value: float = getattr(found, field)
            peer = ("one node", getattr(alone, field)) if alone and field != "launcher_mb" else (None, None)
            yield record(case, metric, unit, value, peer, bench=BENCH)


def traffic(case: str, sent: float, plain: float | None, matters: bool) -> Iterator[Row]:
    """Bytes that all nodes together send in pass 2."""
    target = plain / FEWER if plain and matters else None
    peer = ("plain exchange", plain) if plain else (None, None)
    yield record(case, SENT, "B", sent, peer, target, BENCH)
    if plain:
        yield record(case, FACTOR, "1", plain / sent, (None, None), bench=BENCH)
