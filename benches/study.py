"""How much a study costs beyond its runs, and whether it keeps all cores busy: `python -m benches.study`.

A thousand small cells: an incast of two hosts, with a thousand sizes. A run's own time is the core's: reading
the scenario, starting a process, tables and notes are on top.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from testkit.study import NO_TESTS

from incast.study import load as read
from incast.study.run import run_study, seeds_of

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


def main() -> None:
    """Prints a line of JSON."""
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        found = read(study(Path(folder) / "study"))
        began, used = time.perf_counter(), sum(os.times()[:4])
        done = run_study(
            found, Path(folder) / "out", cells=found.cells, seeds=seeds_of(found, None), jobs=cores
        )
        wall, cpu = time.perf_counter() - began, sum(os.times()[:4]) - used
    own = sum(each.cost.wall_s for each in done)
    print(
        json.dumps(
            {
                "cells": len(done),
                "wall_s": round(wall, 2),
                "busy": round(cpu / wall / cores, 3),
                "beyond_the_run_ms": round((wall * cores - own) / len(done) * 1000, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
