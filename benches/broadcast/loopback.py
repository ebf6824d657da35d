"""One receiver on the loopback interface, nothing limited: rates beside a bare sendfile loop.

The source gives the kernel the file with sendfile(2); the receiver reads into one megabyte and writes a file,
or throws all away. Files lie in memory, so no disk is measured.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benches.broadcast.peers import DRIVERS
from benches.namespaces import Network, star

SIZE = 2**30
REPETITIONS = 5
HOST = "h0"
ADDRESS = "127.0.0.1"
GIGABITS = 8e-9
SINKS = {"sendfile, receiver writes a file": "sink", "sendfile, receiver discards": "hole"}


def bare(network: Network, role: str, content: Path, folder: Path) -> float:
    """Gb/s from the source's start to its end; the receiver listens already."""
    driver = [*network.enter(HOST), sys.executable, str(DRIVERS / "sockets.py")]
    final = folder / "got"
    with subprocess.Popen([*driver, role, str(final)]) as receiver:
        time.sleep(0.5)
        done = subprocess.run(
            [*driver, "flat", str(content), ADDRESS], check=True, capture_output=True, text=True
        )
        receiver.wait()
    final.unlink(missing_ok=True)
    return SIZE * GIGABITS / float(done.stdout)


def rates(content: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """Name and Gb/s, the median of some runs in turn."""
    found: dict[str, list[float]] = {name: [] for name in SINKS}
    with Network(star({HOST: 0})) as network:
        for _ in range(REPETITIONS):
            for name, role in SINKS.items():
                found[name].append(bare(network, role, content, folder))
    for name, values in found.items():
        yield name, statistics.median(values)
