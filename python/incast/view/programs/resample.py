"""Rows of several subjects, each at its own times, as cells of equal steps.

A program samples each host by that host's clock, late when the host is busy. A flow is spread over the time
since the sample before; a level holds until the next sample; drops count where the sample is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from incast.view.pyramid import CELLS_MAX, MEASURES, Cells

STEPS_MAX = 20_000
ROWS = pl.Schema(
    {
        "subject": pl.Int64(),
        "since_ps": pl.Int64(),
        "time_ps": pl.Int64(),
        "level": pl.Float64(),
        "flow": pl.Float64(),
        "drops": pl.Float64(),
    }
)
"""The columns: the position of a subject, its level at a time, and what was counted since another time, which
is null where it is that of the subject's row before. Null levels and counts say nothing."""
_LOWEST, _LEVEL, _FLOW, _DROPS = (MEASURES.index(each) for each in ("queue_min", "queue", "sent", "drops"))


def position(column: str, of: Mapping[str, int]) -> pl.Expr:
    """The position of a subject by its name; null for one that is not drawn."""
    return pl.col(column).replace_strict(of, default=None, return_dtype=pl.Int64)


def as_rows(samples: pl.DataFrame, subject: pl.Expr, **columns: pl.Expr | str) -> pl.DataFrame:
    """Samples as `ROWS`, without those of no subject; columns that are not given say nothing."""
    told: dict[str, pl.Expr | str] = {name: pl.lit(None) for name in ROWS}
    told |= {"subject": subject, "time_ps": "time_ps", **columns}
    return samples.select(**told).cast(ROWS).drop_nulls("subject")


def step_of(end_ps: int, gap_ps: int, subjects: int) -> int:
    """The length of a step: the time between two samples, unless that gives too many cells."""
    steps = max(1, min(STEPS_MAX, CELLS_MAX // max(subjects, 1)))
    return max(gap_ps, -(-end_ps // steps), 1)


def gap_of(rows: pl.DataFrame) -> int:
    """The usual time between two samples of a subject, in picoseconds; 0 where there is none."""
    gaps = rows.sort("time_ps").select(pl.col("time_ps").diff().over("subject")).drop_nulls()
    usual = gaps.filter(pl.col("time_ps") > 0)["time_ps"].median()
    return int(usual) if isinstance(usual, int | float) else 0


def resample(rows: pl.DataFrame, subjects: int, step_ps: int, end_ps: int) -> Cells:
    """Cells of all subjects from time 0 to the end."""
    steps = max(1, -(-end_ps // step_ps))
    cells = np.zeros((len(MEASURES), steps, subjects), np.float32)
    cells[: _LEVEL + 1] = np.nan
    for subject, own in _each(rows, "level"):
        _level(cells[:, :, subject], _steps(own, step_ps, steps), own["level"].to_numpy())
    for subject, own in _each(rows, "flow"):
        cells[_FLOW, :, subject] = _spread(own, step_ps, steps)
    for subject, own in _each(rows, "drops"):
        np.add.at(cells[_DROPS, :, subject], _steps(own, step_ps, steps), own["drops"].to_numpy())
    return cells


def _each(rows: pl.DataFrame, column: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each subject that say something of this, by time."""
    parts = rows.drop_nulls(column).sort("time_ps").partition_by("subject", as_dict=True)
    for (subject,), own in parts.items():
        yield int(subject), own


def _steps(rows: pl.DataFrame, step_ps: int, steps: int) -> npt.NDArray[np.int64]:
    """The step of each row."""
    times = rows["time_ps"].to_numpy()
    found: npt.NDArray[np.int64] = np.clip(-(-times // step_ps) - 1, 0, steps - 1)
    return found


def _spread(rows: pl.DataFrame, step_ps: int, steps: int) -> npt.NDArray[np.float64]:
    """What rows have counted, in each step its part."""
    times = rows["time_ps"].to_numpy().astype(np.float64)
    before = np.concatenate([[max(0.0, times[0] - step_ps)], times[:-1]])
    since = rows["since_ps"].fill_null(-1).to_numpy().astype(np.float64)
    spans = np.stack([np.maximum(before, since), times], axis=1).ravel()
    counted = np.concatenate([[0.0], np.cumsum(rows["flow"].to_numpy())])
    return np.diff(np.interp(np.arange(steps + 1) * float(step_ps), spans, np.repeat(counted, 2)[1:-1]))


def _level(place: npt.NDArray[np.float32], at: npt.NDArray[np.int64], level: npt.NDArray[np.float64]) -> None:
    """The least and highest level of each step; in steps without a sample, that of the sample before.

    The first sample may be a little late: it holds for the step before it too.
    """
    last = np.full(place.shape[1], np.nan, np.float32)
    np.fmin.at(place[_LOWEST], at, level)
    np.fmax.at(place[_LEVEL], at, level)
    last[at] = level
    known = np.flatnonzero(~np.isnan(last))
    if not known.size:
        return
    steps = np.arange(len(last))
    before = known[np.clip(np.searchsorted(known, steps, "right") - 1, 0, None)]
    held = np.isnan(last) & (steps >= known[0] - 1)
    for measure in (_LOWEST, _LEVEL):
        place[measure, held] = last[before[held]]
