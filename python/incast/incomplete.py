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

import polars as pl

from incast.folder import scan
from incast.kinds import KINDS
from incast.report import text

__all__ = ["STUCK", "completion", "find", "lines"]

STUCK = "stuck"
"""How a run ended in which nothing was left to happen."""

_ENDS = {
    "until": "when the time was over",
    STUCK: "when nothing was left to happen",
    "deadlock": "in a deadlock of PFC",
    "interrupted": "when it was interrupted",
}
_WORDS = {"timed-out": "timed out", "gone": "gone", "unfinished": "not done"}


def find(jobs: pl.DataFrame, folder: Path, end: str, end_ps: int) -> list[dict[str, str]]:
    """The incomplete jobs of the table `jobs`: name, outcome, and what is missing of their work.

    `folder` is the run's, which ended at `end_ps`; `end` is how.
    """
    listed = [
        (job, kind, outcome)
        for job, kind, outcome in jobs.select("job", "kind", "outcome").iter_rows()
        if outcome == "failed"
        or (outcome == "unfinished" and not (end == "until" and KINDS[kind].traits.cut))
    ]
    missing: dict[str, str] = {}
    for each in {kind for _, kind, _ in listed}:
        missing |= KINDS[each].missing(folder, [job for job, kind, _ in listed if kind == each])
    found = []
    for job, _, outcome in listed:
        why = missing.get(job, "")
        if outcome == "unfinished":
            when = f"the run ended {_ENDS.get(end, end)}, at {text.time(end_ps)}"
            why = f"{when}: {why}" if why else when
        found.append({"job": job, "outcome": outcome, "why": why})
    return found


def by_outcome(
    folder: Path, table: str, what: str, good: Sequence[str], jobs: Sequence[str]
) -> dict[str, str]:
    """Of each job how many rows of the table did not end well, by how they ended; `what` is a row."""
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


def completion(jobs: Sequence[str]) -> pl.Expr:
    """`fct`, where flows of these incomplete jobs that did not finish count as endless."""
    endless = pl.col("job").is_in(jobs) & pl.col("fct").is_null()
    return pl.when(endless).then(float("inf")).otherwise(pl.col("fct").cast(pl.Float64)).alias("fct")


def lines(summary: Mapping[str, Any]) -> list[str]:
    """What is said of a run's incomplete jobs, one line each."""
    words = {"failed": "failed", "unfinished": "did not end"}
    return [
        f"{each['job']} {words[each['outcome']]}" + (f": {each['why']}" if each["why"] else "")
        for each in summary.get("incomplete", [])
    ]
