"""What the page shows of a port, a node, a flow or a task of a simulated run that somebody follows."""

from __future__ import annotations

from typing import Any

import polars as pl

from incast import text
from incast.frames import rows
from incast.report import points
from incast.view import tables
from incast.view.chart import STEPS_MAX, Chart, chart
from incast.view.pyramid import MEASURES
from incast.view.run import UnknownError
from incast.view.simulated import Simulated as Run

_FLOWS_MAX = 40


def follow(run: Run, kind: str, name: str) -> dict[str, Any]:
    """Its facts, flows, charts, and the ports and nodes to emphasise; raises `UnknownError`."""
    return {"port": _port, "node": _node, "flow": _flow, "task": _task}[kind](run, name)


def _port(run: Run, name: str) -> dict[str, Any]:
    row = _only(run.ports.filter(pl.col("port") == name), "port", name)
    said = [
        ("From", row["node"]),
        ("To", row["peer"]),
        ("Rate", text.rate(row["rate_bps"])),
        ("Busy", text.percent(row["utilisation"])),
        ("Longest queue", text.size(row["queue_max_bytes"])),
        ("Wait, 99th percentile", text.time(row["wait_p99_ps"])),
        ("Drops", text.count((row["in_discards"] or 0) + (row["out_discards"] or 0))),
        ("ECN marks", text.count(row["marks"])),
        ("Paused", text.time(row["paused_ps"])),
    ]
    through = pl.format(" {} ", "path").str.contains(f" {name} ", literal=True)
    return {
        "title": f"Port {name}",
        "facts": said,
        "ports": [name],
        "nodes": [row["node"]],
        **_flows(run, through),
        "charts": _port_charts(run, name, row["rate_bps"]),
    }


def _node(run: Run, name: str) -> dict[str, Any]:
    own = run.ports.filter((pl.col("node") == name) | (pl.col("peer") == name))
    if name not in run.graph.tiers:
        raise UnknownError(f"This run has no node {name}.")
    sent = own.filter(pl.col("node") == name)
    is_host = run.graph.tiers[name] == 0
    drops = pl.sum_horizontal("in_discards", "out_discards").sum()
    (totals,) = rows(sent.lazy().select(pl.sum("sent_bytes"), pl.max("queue_max_bytes"), drops=drops))
    said = [
        ("Links", text.count(sent.height)),
        ("Sent", text.size(totals["sent_bytes"])),
        ("Longest queue", text.size(totals["queue_max_bytes"])),
        ("Drops", text.count(totals["drops"])),
    ]
    return {
        "title": f"{'Host' if is_host else 'Switch'} {name}",
        "facts": said,
        "ports": own["port"].to_list(),
        "nodes": [name],
        **(_flows(run, (pl.col("from") == name) | (pl.col("to") == name)) if is_host else {}),
        "charts": _node_charts(run, name) if is_host else [],
    }


def _flow(run: Run, name: str) -> dict[str, Any]:
    row = _only(run.read("flows", tables.FLOWS, pl.col("flow") == _number(name)), "flow", name)
    path = (row["path"] or "").split()
    said = [
        ("Job", row["job"] or text.NONE),
        ("From", row["from"]),
        ("To", row["to"]),
        ("Size", text.size(row["bytes"])),
        ("Started at", text.time(row["start_ps"])),
        ("Took", _took(row)),
        ("Retransmitted segments", text.count(row["retransmits"])),
        ("Timeouts", text.count(row["timeouts"])),
        ("Smoothed RTT at the end", text.time(row["srtt_ps"])),
        ("Path", " → ".join(path) or "not known"),
    ]
    return {
        "title": f"Flow {row['flow']}: {row['from']} → {row['to']}",
        "facts": said,
        "ports": path,
        "nodes": [row["from"], row["to"]],
        "span": [row["start_ps"], row["end_ps"]],
        "charts": _flow_charts(run, row["flow"]),
    }


def _task(run: Run, name: str) -> dict[str, Any]:
    row = _only(run.read("tasks", tables.TASKS, pl.col("task") == _number(name)), "task", name)
    end = row["end_ps"]
    said = [
        ("Job", row["job"]),
        ("Host", row["host"]),
        ("Started at", text.time(row["start_ps"])),
        ("Took", text.time(end - row["start_ps"]) if end is not None else "did not end"),
        ("Bytes", text.size(row["bytes"])),
        ("Outcome", row["outcome"] or text.NONE),
    ]
    opened = run.ports.filter((pl.col("node") == row["host"]) | (pl.col("peer") == row["host"]))
    return {
        "title": f"Task {row['kind']} {row['number']} on {row['host']}",
        "facts": said,
        "ports": opened["port"].to_list(),
        "nodes": [row["host"]],
        "span": [row["start_ps"], end],
        **_flows(run, (pl.col("group") == row["task"]) & (pl.col("job") == row["job"])),
        "charts": [],
    }


def _number(name: str) -> int:
    return int(name) if name.isdecimal() and len(name) < 19 else -1


def _only(frame: pl.DataFrame, what: str, name: str) -> dict[str, Any]:
    if not frame.height:
        raise UnknownError(f"This run has no {what} {name}.")
    return rows(frame.head(1).lazy())[0]


def _took(row: dict[str, Any]) -> str:
    if row["end_ps"] is None or row["start_ps"] is None:
        return row["outcome"] or "did not finish"
    return text.time(row["end_ps"] - row["start_ps"])


def _flows(run: Run, where: pl.Expr) -> dict[str, Any]:
    """The flows that took longest, as rows of a table, and how many there are."""
    found = run.read("flows", tables.FLOWS, where)
    took = pl.col("end_ps") - pl.col("start_ps")
    longest = found.sort(took, "flow", descending=[True, False], nulls_last=False).head(_FLOWS_MAX)
    listed = [
        [
            row["flow"],
            row["job"] or text.NONE,
            f"{row['from']} → {row['to']}",
            text.size(row["bytes"]),
            text.time(row["start_ps"]),
            _took(row),
        ]
        for row in rows(longest.lazy())
    ]
    left = found.height - len(listed)
    return {"flows": listed, "flows_left": text.count(left) if left else ""}


def _port_charts(run: Run, name: str, rate_bps: int | None) -> list[Chart]:
    if name not in run.pyramid.ports:
        return []
    level = run.pyramid.levels[0]
    first, step, cells = run.pyramid.of_port(name, 0, level.step_ps * level.steps, STEPS_MAX)
    of = dict(zip(MEASURES, cells, strict=True))
    times = [(first + n + 1) * step for n in range(cells.shape[1])]
    most = (rate_bps or 0) * step / 8e12  # bytes
    busy = [("sending", of["sent"] / most if most else of["sent"] * 0), ("paused", of["paused"] / step)]
    charts = [
        chart("Queue", "size", times, [("queue", of["queue"], of["queue_min"])]),
        chart("Share of the time", "share", times, [(line, part, None) for line, part in busy]),
        chart("Packets", "count", times, [("drops", of["drops"], None), ("ECN marks", of["marks"], None)]),
    ]
    return [each for each in charts if each["lines"]]


def _flow_charts(run: Run, flow: int) -> list[Chart]:
    series = run.read("flows_series", tables.FLOWS_SERIES, pl.col("flow") == flow)
    if not series.height:
        return []

    def line(column: str) -> pl.DataFrame:
        return points.extremes(series, "time_ps", column, STEPS_MAX // 4)

    charts = []
    for title, unit, columns in (
        ("Congestion window", "size", {"cwnd_bytes": "window"}),
        ("In flight", "size", {"in_flight_bytes": "in flight"}),
        ("Smoothed round-trip time", "time", {"srtt_ps": "round trip"}),
    ):
        for column, said in columns.items():
            drawn = line(column)
            if drawn.height:
                charts.append(chart(title, unit, drawn["time_ps"].to_list(), [(said, drawn[column], None)]))
    return charts


def _node_charts(run: Run, name: str) -> list[Chart]:
    series = run.read("hosts_series", tables.HOSTS_SERIES, pl.col("host") == name)
    columns = ["sent_bytes", "received_bytes", "core_busy_ps", "disk_busy_ps"]
    last = series["time_ps"].max()
    if not isinstance(last, int):
        return []
    drawn = points.rates(series, "time_ps", columns, last, STEPS_MAX)
    times = drawn["time_ps"].to_list()
    charts = [
        chart(
            "Traffic",
            "rate",
            times,
            [("sent", drawn["sent_bytes"] * 8, None), ("received", drawn["received_bytes"] * 8, None)],
        ),
        chart("Cores computing", "count", times, [("cores", drawn["core_busy_ps"] / 1e12, None)]),
        chart("Disk busy", "share", times, [("disk", drawn["disk_busy_ps"] / 1e12, None)]),
    ]
    return [each for each in charts if each["lines"]]
