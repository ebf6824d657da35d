"""The parts of a run's samples of ports, each with its levels.

The core writes these next to a part. Where they are missing, it computes the same ones from the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from incast import _core, table_files
from incast.damage import damaged
from incast.folder import LEVELS
from incast.view import tables

FINEST = 16
"""How many times between samples make a step of the finest level: the core's `levels::FINEST`."""
COUNTED = ("sent_bytes", "drops", "marks", "paused_ps")
MEASURED = ("queue_min_bytes", "queue_max_bytes", *COUNTED)
_COMPUTED_MAX = 64  # parts whose computed levels stay in memory, a megabyte each


@dataclass(frozen=True)
class Part:
    """A file of samples, taken in (`begin_ps`, `end_ps`], and its levels."""

    samples: Path
    levels: Path | bytes
    steps: tuple[int, ...]
    """Lengths of the steps of its levels, ascending."""
    begin_ps: int
    end_ps: int

    def rows(self, step_ps: int) -> pl.LazyFrame:
        """Rows as in `ports_levels`, with the longest steps that are not longer than this; else the samples.

        Raises what `damaged` lists, or `OSError`.
        """
        fits = [each for each in self.steps if each <= step_ps]
        if fits:
            return table_files.scan_parquet(self.levels).filter(pl.col("step_ps") == fits[-1])
        queue = pl.col("queue_bytes")
        return _scanned(self.samples).with_columns(queue_min_bytes=queue, queue_max_bytes=queue)


def parts(folder: Path, notes: list[str]) -> tuple[list[Part], int]:
    """The parts that have samples, and the time between these in picoseconds; notes what can't be read."""
    files = tables.parts(folder, "ports_series")
    known = {file: _part(file, folder / LEVELS / file.name) for file in files}
    steps = [each.steps[0] for each in known.values() if each]
    interval = min(steps) // FINEST if steps else _interval(files)
    found = (part or _computed(file, interval, notes) for file, part in known.items())
    return [each for each in found if each], interval


def names(found: Sequence[Part], notes: list[str]) -> tuple[str, ...]:
    """The sampled ports; all parts have the same ones."""
    for rows in readable(found, max((part.steps[-1] for part in found), default=0), notes):
        return tuple(rows["port"].cast(pl.String).unique(maintain_order=True))
    return ()


def readable(
    found: Sequence[Part], step_ps: int, notes: list[str], *where: pl.Expr
) -> Iterator[pl.DataFrame]:
    """The rows of each part with steps of at most this length that meet the conditions."""
    for part in found:
        try:
            yield part.rows(step_ps).filter(*where).collect()
        except (*damaged(), OSError):
            tables.note(part.samples, notes)


def _part(samples: Path, levels: Path | bytes) -> Part | None:
    """The part with these levels; none where they can't be read, or say nothing."""
    time, step = pl.col("time_ps").cast(pl.Int64), pl.col("step_ps").cast(pl.Int64)
    try:
        rows = table_files.scan_parquet(levels).select("port", "time_ps", "step_ps", *MEASURED)
        said = rows.group_by(step).agg(begin=(time - step).min(), end=time.max()).sort("step_ps").collect()
    except (*damaged(), OSError):
        return None
    if not said.height or said["step_ps"][0] < FINEST:
        return None
    return Part(samples, levels, tuple(said["step_ps"]), min(said["begin"]), max(said["end"]))


def _computed(file: Path, interval_ps: int, notes: list[str]) -> Part | None:
    try:
        stat = file.stat()
        return _part(file, levels(file, (stat.st_size, stat.st_mtime_ns), interval_ps))
    except (*damaged(), OSError):
        tables.note(file, notes)
        return None


@lru_cache(_COMPUTED_MAX)
def levels(file: Path, _: tuple[int, int], interval_ps: int) -> bytes:
    """The levels of a part as the core writes them; the same for the same size and time of change.

    Raises what `damaged` lists, or `OSError`.
    """
    rows = _scanned(file).filter(pl.col("time_ps") >= 0).collect()
    ports = rows["port"].unique(maintain_order=True)
    numbers = rows["port"].cast(pl.Enum(ports)).to_physical().cast(pl.UInt32).to_numpy()
    times, *measured = (
        rows[name].clip(0).cast(pl.UInt64).to_numpy() for name in ("time_ps", "queue_bytes", *COUNTED)
    )
    return _core.port_levels(interval_ps, ports.to_list(), numbers, times, measured)


def _scanned(file: Path) -> pl.LazyFrame:
    """The samples of all classes together; what a file does not count is 0."""
    known = pl.col("port", "time_ps", "queue_bytes").is_not_null().all()
    return (
        tables.scanned(file, tables.PORTS_SERIES)
        .filter(pl.col("class").is_null(), pl.all_horizontal(known))
        .with_columns(pl.col(COUNTED).fill_null(0))
    )


def _interval(files: Sequence[Path]) -> int:
    """The usual time between samples; that of the only one if there are no two."""
    notes: list[str] = []
    times = tables.collect(files[:1], {"time_ps": pl.Int64()}, notes)["time_ps"].drop_nulls().unique().sort()
    gaps: list[int] = times.diff().drop_nulls().to_list() or times.to_list() or [1]
    return max(1, sorted(gaps)[len(gaps) // 2])
