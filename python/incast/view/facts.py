"""What the page has to know of a run before it draws: what has a colour, jobs, tasks, faults, notes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import polars as pl

from incast import text
from incast.folder import SUMMARY
from incast.lanes import lanes
from incast.view.run import Run

_TASKS_MAX = 20_000
_ROWS_MAX = 2_000
_EVENTS_MAX = 2_000


def facts(run: Run) -> dict[str, Any]:
    """All but the picture and the samples."""
    if run.problem:
        return {"name": run.name, "problem": run.problem, "in_progress": run.in_progress}
    end = run.end_ps
    drawn, left = _tasks(run.tasks, end)
    return {
        "name": run.name,
        "problem": "",
        "in_progress": run.in_progress,
        "end_ps": end,
        "words": run.words.json(),
        "alerts": run.alerts,
        "notes": [*_unfinished(run), *run.missing(), *left, *dict.fromkeys(run.notes)],
        "subjects": run.subjects,
        "jobs": _columns(run.jobs.with_columns(stop_ps=pl.col("end_ps").fill_null(end))),
        "tasks": _columns(drawn),
        "events": _columns(run.events.head(_EVENTS_MAX)),
    }


def samples(run: Run) -> dict[str, Any]:
    """The levels of the samples, and each subject's position among the cells, or -1."""
    pyramid = run.pyramid
    notes = list(pyramid.notes)
    if not pyramid.ports:
        notes.append(run.words.unsampled)
    return {
        "levels": [[level.step_ps, level.steps] for level in pyramid.levels] if pyramid.ports else [],
        "subjects": run.sampled,
        "count": len(pyramid.ports),
        "notes": notes,
    }


def _tasks(tasks: pl.DataFrame, end: int) -> tuple[pl.DataFrame, list[str]]:
    """Tasks with a row of their own (`row`), and what is said of those that are left out."""
    took = pl.col("end_ps").fill_null(end) - pl.col("start_ps")
    longest = tasks.sort(took, "task", descending=[True, False]).head(_TASKS_MAX)
    placed = lanes(longest, end)
    keys = placed.select("host", "lane").unique().rows()
    order = sorted(keys, key=lambda key: (text.natural_key(key[0]), key[1]))
    rows = pl.DataFrame(
        [(host, lane, row) for row, (host, lane) in enumerate(islice(order, _ROWS_MAX))],
        schema={"host": pl.String, "lane": pl.Int64, "row": pl.Int64},
        orient="row",
    )
    drawn = placed.join(rows, on=["host", "lane"]).sort("row", "start_ps", "depth", "task")
    left = tasks.height - drawn.height
    notes = (
        [f"{text.plural(left, 'task')} of {text.count(tasks.height)} left out of the timeline."]
        if left
        else []
    )
    return drawn.select(
        "task", "job", "host", "kind", "number", "start_ps", "stop_ps", "end_ps", "depth", "row"
    ), notes


def _unfinished(run: Run) -> list[str]:
    if not run.in_progress:
        return []
    return [f"There is no {SUMMARY}: the run is in progress, or was killed. This is what is on disk by now."]


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].to_list() for name in frame.columns}
