"""One receiver on the loopback interface, nothing limited: rates compared with a bare sendfile loop.

The source gives the kernel the file with sendfile(2); the receiver reads into one megabyte and writes a file,
or throws all away. Files lie in memory, so no disk is measured. Ours counts by its own clock, from its start
until the copy is whole and checked.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from testkit.namespaces import Network, star

from benches.broadcast import ours
from benches.broadcast.course import SOURCE
from benches.broadcast.peers import DRIVERS

SIZE = 2**30
REPETITIONS = 5
ADDRESS = "127.0.0.1"
GIGABITS = 8e-9
#: In bit/s; more than a loopback interface carries.
UNLIMITED = 100_000_000_000
#: With the options of each.
OURS: dict[str, list[str]] = {"incast broadcast": [], "incast broadcast --plain": ["--plain"]}
WRITES = "sendfile, receiver writes a file"
SINKS = {WRITES: "sink", "sendfile, receiver discards": "hole"}


def bare(network: Network, role: str, content: Path, folder: Path) -> float:
    """Gb/s from the source's start to its end; the receiver listens already."""
    driver = [*network.enter(SOURCE), sys.executable, str(DRIVERS / "sockets.py")]
    final = folder / "got"
    with subprocess.Popen([*driver, role, str(final)]) as receiver:
        time.sleep(0.5)
        done = subprocess.run(
            [*driver, "flat", str(content), ADDRESS], check=True, capture_output=True, text=True
        )
        receiver.wait()
    final.unlink(missing_ok=True)
    return SIZE * GIGABITS / float(done.stdout)


def own(network: Network, content: Path, folder: Path, options: list[str]) -> float:
    """Gb/s of `incast broadcast` to an agent in the same namespace."""
    home = folder / "own"
    (home / "h1").mkdir(parents=True)
    (home / "file").hardlink_to(content)
    links = ours.topology(home, {SOURCE: 0, "h1": UNLIMITED}, None)
    shell = " ".join([*network.enter(SOURCE), "env", "HOST={host}"])
    command = [*network.enter(SOURCE), *ours.command(home, ["h1"], shell, ADDRESS, links), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    shutil.rmtree(home)
    seconds: float = json.loads(done.stdout)["receivers"][0]["seconds"]
    return SIZE * GIGABITS / seconds


def rates(content: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """Name and Gb/s, the median of some runs in turn."""
    found: dict[str, list[float]] = {name: [] for name in (*OURS, *SINKS)}
    with Network(star({SOURCE: 0})) as network:
        for _ in range(REPETITIONS):
            for name, options in OURS.items():
                found[name].append(own(network, content, folder, options))
            for name, role in SINKS.items():
                found[name].append(bare(network, role, content, folder))
    for name, values in found.items():
        yield name, statistics.median(values)
