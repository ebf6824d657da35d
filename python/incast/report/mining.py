"""Passes of mining: what each found, what it took, and which node was last."""

from __future__ import annotations

import polars as pl

from incast import text
from incast.report.parts import Columns, Table, listed
from incast.report.run import Run

_ROWS_MAX = 40


def passes(run: Run) -> list[Table]:
    """A table of passes for each job that mines."""
    return [table(passes, f" of {name}" if name else "") for name, (passes,) in run.by_job("passes")]


def table(passes: pl.DataFrame, suffix: str = "") -> Table:
    """A row a pass: bytes of all nodes together, from the first node's beginning to the last one's end."""
    ended = pl.col("end_ps").is_not_null().all()
    rows = (
        passes.group_by("pass")
        .agg(
            pl.col("candidates", "large", "scans").max(),
            pl.col("sent_bytes").sum(),
            pl.col("begin_ps").min(),
            end_ps=pl.when(ended).then(pl.col("end_ps").max()),
            last=pl.when(ended).then(pl.col("host").sort_by("end_ps", "host").last()),
        )
        .sort("pass")
    )
    columns: Columns = {
        "Pass": lambda row: str(row["pass"]),
        "candidates": lambda row: text.count(row["candidates"]),
        "large": lambda row: text.count(row["large"]),
        "scans": lambda row: text.count(row["scans"]),
        "sent": lambda row: text.size(row["sent_bytes"]),
        "begins": lambda row: text.time(row["begin_ps"]),
        "takes": lambda row: text.time(None if row["end_ps"] is None else row["end_ps"] - row["begin_ps"]),
        "last node": lambda row: row["last"] or text.NONE,
    }
    return listed(f"Passes of mining{suffix}", rows, columns, "row", shown=_ROWS_MAX)
