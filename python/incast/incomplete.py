"""Jobs of a run that did not do their work: which, and why.

A job is incomplete when it gave up a part of its work (`failed`) or the run ended before it did
(`unfinished`). Background traffic never is, and a load whose arrivals `until` cuts off is not either. An
incomplete job has no duration. Its flows that did not finish count as longer than any: the mean and the
percentiles that they fall into are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

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


def find(
    jobs: pl.DataFrame, tables: Mapping[str, pl.LazyFrame], end: str, end_ps: int
) -> list[dict[str, str]]:
    """The incomplete jobs of the table `jobs`: name, outcome, and what is missing of their work.

    `tables` are `flows`, `broadcasts`, `programs` and `walks`; `end` is how the run ended, at `end_ps`.
    """
    cut = pl.lit(end == "until") & (pl.col("kind") == "load") & (pl.col("outcome") == "unfinished")
    listed = jobs.filter(pl.col("outcome").is_in(["failed", "unfinished"]) & ~cut)
    if not listed.height:
        return []
    parts = {
        what: _parts(tables[table], what, good, listed["job"].to_list())
        for table, what, good in (
            ("flows", "flows", "finished"),
            ("broadcasts", "hosts", "complete"),
            ("programs", "programs", "finished"),
        )
    }
    parts["walks"] = _given_up(tables["walks"]) if (listed["kind"] == "walk").any() else {}
    found = []
    for job, kind, outcome in listed.select("job", "kind", "outcome").iter_rows():
        what = {"broadcast": "hosts", "farmem": "programs", "walk": "walks"}.get(kind, "flows")
        why = parts[what].get(job, "")
        if outcome == "unfinished":
            when = f"the run ended {_ENDS.get(end, end)}, at {text.time(end_ps)}"
            why = f"{when}: {why}" if why else when
        found.append({"job": job, "outcome": outcome, "why": why})
    return found


def _parts(table: pl.LazyFrame, what: str, good: str, jobs: Sequence[str]) -> dict[str, str]:
    """Of each job how many rows of the table did not end well, by how they ended."""
    counted = (
        table.select(pl.col("job", "outcome").cast(pl.String))
        .filter(pl.col("job").is_in(jobs))
        .group_by("job", "outcome")
        .len()
        .sort("job", "outcome")
        .collect()
    )
    found = {}
    for (job,), rows in counted.group_by("job", maintain_order=True):
        of = f"of {text.plural(int(rows['len'].sum()), what.removesuffix('s'))}"
        bad = rows.filter(pl.col("outcome") != good).select("outcome", "len").iter_rows()
        found[str(job)] = ", ".join(f"{text.count(n)} {of} {_WORDS.get(how, how)}" for how, n in bad)
    return found


def _given_up(walks: pl.LazyFrame) -> dict[str, str]:
    """Of each job how many walks were given up."""
    counted = (
        walks.group_by(pl.col("job").cast(pl.String)).agg(pl.col("given_up", "finished", "required").sum())
    ).collect()
    found = {}
    for job, given_up, finished, required in counted.iter_rows():
        of = f"of {text.plural(required, 'walk')}"
        found[job] = f"{text.count(finished)} {of} finished" + (
            f", {text.count(given_up)} given up: all their attempts timed out" if given_up else ""
        )
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
