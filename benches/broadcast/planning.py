"""How long plans take: rows for `python -m benches.broadcast`.

Processor seconds of one thread for everybody as a destination, on topologies of
crates/broadcast/tests/support: clusters of 40 hosts, random trees, random graphs with three links a host; any
rates from 100 to 1000 Mb/s, or 100 and 1000 mixed with a different one each way.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASE = "planning"
TOPOLOGIES = ("clusters", "clusters-asymmetric", "tree", "graph-mixed", "graph")
#: Algorithm and hosts: seconds, of the issue that asked for broadcasts; the near plan has none.
TARGETS = {("stable", 1_000): 1.0, ("stable", 10_000): 30.0, ("near", 100): None}


def program() -> Path:
    """A release build."""
    command = ["cargo", "build", "-q", "--release", "-p", "incast-broadcast", "--example", "planning"]
    subprocess.run(command, cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "planning"


def seconds() -> Iterator[tuple[str, float, float | None]]:
    """What was planned, how long it took, and how long it may take."""
    planning = program()
    for (algorithm, hosts), target in TARGETS.items():
        for topology in TOPOLOGIES:
            command = [str(planning), str(hosts), topology, algorithm]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            yield f"{CASE}: {algorithm}, {topology}, {hosts} hosts", float(done.stdout.split()[0]), target
