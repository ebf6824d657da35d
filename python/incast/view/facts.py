"""What the page has to know of a run before it draws: the network with places, jobs, tasks, faults, notes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import polars as pl

from incast import text
from incast.folder import SUMMARY
from incast.lanes import lanes
from incast.report.graph import Graph
from incast.report.scheme import scheme
from incast.report.topology import picture
from incast.view import tables
from incast.view.run import Run

NODES_MAX = 1200
"""Larger networks are drawn in groups."""
_TASKS_MAX = 20_000
_ROWS_MAX = 2_000
_EVENTS_MAX = 2_000
WIDTHS = (360, 640, 960)
"""Widths for which networks are laid out: on a phone, in half a screen, on a whole one."""


def network(run: Run, width: int) -> dict[str, Any]:
    """Nodes with their places, and the halves of links with the positions of their ports."""
    return picture(scheme(run.graph, NODES_MAX), width)


def facts(run: Run) -> dict[str, Any]:
    """Everything else."""
    if run.problem:
        return {"name": run.name, "problem": run.problem, "in_progress": run.in_progress}
    summary = run.summary
    jobs = run.read("jobs", tables.JOBS).drop_nulls(["job", "start_ps"]).sort("start_ps", "job")
    tasks = run.read("tasks", tables.TASKS).drop_nulls(["task", "job", "host", "kind", "start_ps"])
    events = run.read("events", tables.EVENTS).drop_nulls("time_ps").sort("time_ps", maintain_order=True)
    end = max(
        int(summary.get("sim_time_ps") or 0),
        *(
            int(frame.select(pl.max_horizontal("start_ps", "end_ps").max()).item() or 0)
            for frame in (jobs, tasks)
        ),
        1,
    )
    drawn, left = _tasks(tasks, end)
    return {
        "name": run.name,
        "problem": "",
        "in_progress": run.in_progress,
        "title": str(summary.get("name") or run.name),
        "end_ps": end,
        "alerts": run.alerts(),
        "notes": [*_missing(run, tasks), *left, *dict.fromkeys(run.notes)],
        "ports": _ports(run),
        "jobs": _columns(jobs.with_columns(stop_ps=pl.col("end_ps").fill_null(end))),
        "tasks": _columns(drawn),
        "events": _columns(events.head(_EVENTS_MAX)),
    }


def samples(run: Run) -> dict[str, Any]:
    """The levels of the samples, and each port's position among the cells, or -1."""
    pyramid = run.pyramid
    at = {name: position for position, name in enumerate(pyramid.ports)}
    notes = list(pyramid.notes)
    if not pyramid.ports:
        notes.append(
            "The run has no samples of ports: links show their totals. measure.interval takes samples."
        )
    return {
        "levels": [[level.step_ps, level.steps] for level in pyramid.levels] if pyramid.ports else [],
        "ports": [at.get(port.name, -1) for port in run.graph.ports],
        "count": len(pyramid.ports),
        "notes": notes,
    }


def _ports(run: Run) -> dict[str, list[Any]]:
    """The graph's ports in its order, with their totals."""
    table = pl.DataFrame({"port": [port.name for port in run.graph.ports]}, schema={"port": pl.String})
    table = table.join(run.ports, on="port", how="left", maintain_order="left")
    drops = pl.sum_horizontal("in_discards", "out_discards")
    chosen = table.select(
        "port", "node", "peer", "kind", "rate_bps", "utilisation", "queue_max_bytes", drops=drops
    )
    return _columns(chosen)


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


def _missing(run: Run, tasks: pl.DataFrame) -> list[str]:
    """What a reader might look for in vain, and why it is not there."""
    notes = []
    summary = run.summary
    if run.in_progress:
        notes.append(
            f"There is no {SUMMARY}: the run is in progress, or was killed. This is what is on disk by now."
        )
    if summary.get("end") == "interrupted":
        notes.append("The run was interrupted: this is what it had measured by then.")
    if summary.get("error"):
        notes.append(f"The run failed: {summary['error']}")
    if not run.flows:
        notes.append("The run has no flows.")
    if not tasks.height:
        notes.append("No job reported tasks: the timeline shows jobs.")
    net = run.graph
    if not net.ports:
        notes.append("The network is not known: there is neither a table of ports nor a sample of one.")
    elif len(net.tiers) > NODES_MAX:
        notes.append(_grouped(net))
    return notes


def _grouped(net: Graph) -> str:
    return (
        f"The network has {text.count(len(net.tiers))} nodes and {text.count(len(net.ports))} ports: "
        "nodes are drawn in groups. Follow finds each port by its name."
    )


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].to_list() for name in frame.columns}
