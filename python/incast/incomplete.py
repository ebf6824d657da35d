"""Jobs of a run that did not do their work: which, and why.

A job is incomplete when it gave up a part of its work (`failed`) or the run ended before it did
(`unfinished`). Background traffic never is, and a load whose arrivals `until` cuts off is not either. An
incomplete job has no duration. Its flows that did not finish count as longer than any: the mean and the
percentiles that they fall into are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incast import text
from incast.folder import scan

STUCK = "stuck"
"""How a run ended in which nothing was left to happen."""

_WORDS = {"timed-out": "timed out", "gone": "gone", "unfinished": "not done"}


def by_outcome(
    folder: Path, table: str, what: str, good: Sequence[str], jobs: Sequence[str]
) -> dict[str, str]:
    """Of each job how many rows of the table did not end well, by how they ended; `what` is a row."""
    import polars as pl  # It takes a while.

    counted = (
        scan(folder, table)
        .select(pl.col("job", "outcome").cast(pl.String))
        .filter(pl.col("job").is_in(jobs))
        .group_by("job", "outcome")
        .len()
        .sort("job", "outcome")
        .collect()
    )
    found = {}
    for (job,), rows in counted.group_by("job", maintain_order=True):
        of = f"of {text.plural(int(rows['len'].sum()), what)}"
        bad = rows.filter(~pl.col("outcome").is_in(good)).select("outcome", "len").iter_rows()
        found[str(job)] = ", ".join(f"{text.count(n)} {of} {_WORDS.get(how, how)}" for how, n in bad)
    return found


def lines(summary: Mapping[str, Any]) -> list[str]:
    """What is said of a run's incomplete jobs, one line each."""
    words = {"failed": "failed", "unfinished": "did not end"}
    return [
        f"{each['job']} {words[each['outcome']]}" + (f": {each['why']}" if each["why"] else "")
        for each in summary.get("incomplete", [])
    ]
