"""How much a study costs beyond its runs, and how busy it keeps all processors: `python -m benches.study`.

A thousand small cells: an incast of two hosts, with a thousand sizes. A run's own time is the core's: reading
the scenario, starting a process, tables and notes are on top. With one run at a time for each processor, and
with two.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from testkit.study import NO_TESTS

from benches.mine.rows import Row, keep, record
from incast.study import load as read
from incast.study.run import run_study, seeds_of

COMMAND = "python -m benches.study"
CELLS = 1_000
BASE: dict[str, Any] = {
    "name": "small",
    "topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "10Gbps", "delay": "1us"}},
    "jobs": [{"name": "answers", "kind": "incast", "receiver": "host0", "size": "20kB"}],
}


def study(folder: Path) -> Path:
    """Writes it."""
    sizes = {f"s{size}": {"set": {"jobs.answers.size": f"{size}kB"}} for size in range(1, CELLS + 1)}
    text = {
        "name": "cells",
        "base": BASE,
        "axes": {"size": sizes},
        "seeds": 1,
        "metrics": {"time": "jobs.answers.duration"},
    }
    folder.mkdir()
    (folder / "study.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    (folder / "claims.toml").write_text(NO_TESTS)
    return folder


def rows() -> Iterator[Row]:
    """What it takes with so many runs at a time."""
    cores = os.cpu_count() or 1
    for jobs in (cores, 2 * cores):
        with tempfile.TemporaryDirectory() as folder:
            found = read(study(Path(folder) / "study"))
            began, used = time.perf_counter(), sum(os.times()[:4])
            done = run_study(
                found, Path(folder) / "out", cells=found.cells, seeds=seeds_of(found, None), jobs=jobs
            )
            wall, cpu = time.perf_counter() - began, sum(os.times()[:4]) - used
        own = sum(each.cost.wall_s for each in done) * cores / jobs
        case = f"{CELLS:,} small cells, {jobs} at a time"
        targets = (0.05, 20) if jobs == cores else (None, None)
        for metric, unit, value, target in (
            ("time", "s", wall, None),
            ("idle part of the processors", "1", 1 - cpu / wall / cores, targets[0]),
            ("beyond the run, per cell", "ms", (wall * cores - own) / len(done) * 1000, targets[1]),
        ):
            yield record(case, metric, unit, value, (None, None), target, "study")


def main() -> None:
    """Measures, prints, and adds to bench/results.jsonl."""
    keep(rows(), COMMAND)


if __name__ == "__main__":
    main()
