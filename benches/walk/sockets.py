"""Walks over sockets compared with the bare system calls: rows for `python -m benches.walk sockets`.

Three servers on the loopback interface, a process each; the processor time of all of them counts. After each
run the same program sends as many bytes per datagram to itself with nothing but the system calls, and then
three processes send them to each other. What the columns mean stands in crates/live/examples/walks.rs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPETITIONS = 5
#: Cases that get rows, and what they are.
CASES = {
    "gso": "one walker a datagram, GSO",
    "mmsg": "one walker a datagram, no GSO",
    "mmsg one-cpu": "one walker a datagram, no GSO, servers on one CPU",
    "syscall": "one walker a datagram and system call",
    "8": "8 walkers a datagram, GSO",
    "64": "64 walkers a datagram, GSO",
    "gso-document": "one walker a datagram, GSO, the document's queue",
}
#: Where each datagram is one for the kernel: the bare calls are the limit.
WITHOUT_GSO = ("mmsg", "mmsg one-cpu", "syscall")
#: Of the issue that asked for walks; 64 walkers per datagram must give more walks than one.
TARGETS = {
    ("gso", "walks"): 4.0,
    ("gso", "steps"): 27.0,
    ("mmsg", "share"): 0.9,
    ("mmsg", "share of three"): 0.9,
    ("mmsg one-cpu", "share"): 0.9,
    ("mmsg one-cpu", "share of three"): 0.9,
}

Row = dict[str, object]


def rows(program: Path, command: str) -> Iterator[Row]:
    """Runs the cases one after the other."""
    one = None
    for case, what in CASES.items():
        name, *alone = case.split()
        # As the bare calls are, which one process makes.
        pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if alone else []
        ran = [*pinned, str(program), str(REPETITIONS), name]
        done = subprocess.run(ran, check=True, capture_output=True, text=True)
        columns = map(float, done.stdout.splitlines()[-1].split()[1:])
        walks, steps, datagrams, bare, share, three, of_three, again, train = columns
        one = one or walks
        figures: dict[str, tuple[float, str, float | None]] = {
            "walks": (walks, "M/CPU s", None),
            "steps": (steps, "M/CPU s", None),
            "datagrams": (datagrams, "M/CPU s", bare),
            "share": (share, "of bare", None),
            "again": (again, "% of walks", None),
            "train": (train, "datagrams/call", None),
        }
        if case in WITHOUT_GSO:
            figures["bare, three processes"] = (three, "M/CPU s", None)
            figures["share of three"] = (of_three, "of bare", None)
        for metric, (ours, unit, peer) in figures.items():
            target = one if (case, metric) == ("64", "walks") else TARGETS.get((case, metric))
            yield {
                "bench": "walk",
                "case": f"sockets, {what}: {metric}",
                "metric": metric,
                "unit": unit,
                "ours": ours,
                "peer": peer,
                "peer_name": None if peer is None else "bare calls",
                "ratio": None if peer is None else ours / peer,
                "target": target,
                "met": None if target is None else ours >= target,
                "command": command,
            }
