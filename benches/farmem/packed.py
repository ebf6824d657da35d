"""How exactly faults wait for pages that travel compressed."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator

from benches.mine.rows import Row, record
from incast.farmem.run import Memory, run

DELAYS_US = (2, 10, 20)
RATE_BPS = 40 * 10**9
LOCAL = 8_000_000
MOST_OFF = 0.02
WORK = """
import random
page, noise = 4096, random.Random(1)
blocks = bytearray(b"".join(noise.randbytes(1500) + bytes(page - 1500) for _ in range(8000)))
for turn in range(4):
    for at in range(0, len(blocks), page):
        blocks[at] = turn
"""
"""Four times as much as is local, of which a third is noise; all of it is written."""


def rows(rounds: int) -> Iterator[Row]:
    """A row an algorithm and delay."""
    for algorithm in ("lz4", "zstd"):
        for us in DELAYS_US:
            off = statistics.median(_off(algorithm, us) for _ in range(rounds))
            case = f"{algorithm}, delay {us} µs a page"
            yield record(case, "waits off what was asked for", "1", off, (None, None), MOST_OFF, "farmem")


def _off(algorithm: str, us: int) -> float:
    memory = Memory(LOCAL, us * 1_000_000, RATE_BPS, compress=algorithm)
    with tempfile.TemporaryFile() as said:
        outcome = run([sys.executable, "-c", WORK], memory, log=said)
    return abs(outcome.injected_s / outcome.nominal_s - 1)
