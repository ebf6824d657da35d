"""Runs the study's programs: all memory local, once traced, and cells that the prediction is held against.

    python studies/remote-memory/measure.py results/remote-memory [--only NAME…] [-n RUNS]

Each program has a folder of `incast farmem grid` there; what has ended is not run again. All run on one
processor, so that nothing else of a program goes on while it waits, and are judged by the processor's time,
so that other work on the machine matters little. A program of which more than a tenth could not be remote is
measured all the same: `runs.csv` in its folder says how much that was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from programs import MORE, commands

from incast.cli.exits import Exit

_TRACE = ["--local", "200MB,25%", "-n", "0"]
_CORNERS = ["--local", "200MB,50%", "--latency", "1us,20us", "--bandwidth", "10Gbps,100Gbps"]


def main() -> None:
    """Goes through the programs."""
    parser = argparse.ArgumentParser(description="Runs the study's programs.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[""], help="only programs whose names begin so")
    parser.add_argument("-n", "--runs", type=int, default=2, help="of each cell; 0: traces only")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name, command in commands(asked.out / "models").items():
        if not name.startswith(tuple(asked.only)):
            continue
        grid = [sys.executable, "-m", "incast", "farmem", "grid", "--clock", "processor"]
        grid += ["--out", str(asked.out / name)]
        with_trace_only = asked.runs == 0 or name.endswith(f"-{MORE}")
        cells = _TRACE if with_trace_only else [*_CORNERS, "-n", str(asked.runs)]
        print(name, flush=True)
        done = subprocess.run([*grid, *cells, "--", sys.executable, *command], check=False)
        if done.returncode not in (Exit.OK, Exit.UNCOVERED):
            raise SystemExit(f"{name}: incast farmem grid ended with exit code {done.returncode}")


if __name__ == "__main__":
    main()
