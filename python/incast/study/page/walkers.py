"""What pictures show of servers of random walks: queues of walkers, drops by reason, sleeps of sources.

Not here: how a picture is put together, in `pictures`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from incast.folder import scan
from incast.study.figures import matches

QUEUE = ("queue of walkers", "walkers")
"""What lengths are, and their unit."""
SLEEPS = ("sleeps", "sleeps/s")
DROPS = ("drops", "walkers/s")
_REASONS = {
    "drops_early": "early, by RED's chance",
    "drops_forced": "at RED's upper threshold",
    "drops_full": "queue full",
    "drops_wait": "waited too long",
}


def samples(folder: Path, servers: list[str]) -> pl.DataFrame:
    """The samples of these servers; `part` is the server's name."""
    series = scan(folder, "walks_series").filter(matches("host", servers))
    return series.with_columns(part=pl.col("host"), longest=pl.col("queue_max")).collect()


def reasons(frames: list[pl.DataFrame]) -> dict[str, str]:
    """Columns of the reasons for which walkers were dropped in any of the cells, and their names."""
    return {column: name for column, name in _REASONS.items() if any(frame[column].sum() for frame in frames)}
