"""Flows and hosts over time: which of them are drawn, and what of them. A figure a run."""

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.charts import Chart
from incast.report.foreground import foreground_flows, slowest
from incast.report.parts import Drawn, Figure, numbered
from incast.report.run import Run

_FLOWS_MAX = 5
_HOSTS_MAX = 5
_BUCKETS = 120  # a line's spans of time
_FLOW_COLUMNS = (("cwnd_bytes", ("window", "size")), ("srtt_ps", ("smoothed RTT", "time")))
_HOST_COLUMNS = (
    ("received_bytes", 8.0, ("received", "rate")),
    ("sent_bytes", 8.0, ("sent", "rate")),
    ("core_busy_ps", 1e-12, ("cores computing", "")),
    ("disk_busy_ps", 1e-10, ("disk busy", "%")),
)


def flows(drawn: list[Drawn]) -> list[Figure]:
    """Congestion window and round-trip time of the slowest sampled flows."""
    return [figure for d in drawn for figure in _flows(d.run, _suffix(d, drawn))]


def hosts(drawn: list[Drawn]) -> list[Figure]:
    """What the hosts with the most traffic received, sent, computed and read."""
    return [figure for d in drawn for figure in _hosts(d.run, _suffix(d, drawn))]


def _suffix(d: Drawn, drawn: list[Drawn]) -> str:
    return f", {d.run.name}" if len(drawn) > 1 else ""


def _flows(run: Run, suffix: str) -> list[Figure]:
    series = run.table("flows_series").drop_nulls(["flow", "time_ps"])
    sampled = series["flow"].unique()
    known = foreground_flows(run).filter(pl.col("flow").is_in(sampled.implode()))
    names = {row["flow"]: _flow_name(row) for row in slowest(known, _FLOWS_MAX).iter_rows(named=True)}
    if not names:
        return []
    end = max(1, points.most(series, "time_ps"))
    panels = []
    for column, title in _FLOW_COLUMNS:
        curves = []
        for index, (flow, name) in enumerate(names.items()):
            line = points.extremes(series.filter(pl.col("flow") == flow), "time_ps", column, _BUCKETS)
            curves.append((name, index, line.select("time_ps", y=column)))
        panels += _panel(curves, title, "flow", end)
    note = f"The {len(names)} slowest of {text.plural(sampled.len(), 'sampled flow')}." * (
        sampled.len() > len(names)
    )
    head = f"Congestion window and round-trip time{suffix}"
    return [Figure(head, tuple(panels), numbered(names.values()), note)]


def _flow_name(row: dict[str, object]) -> str:
    return f"{row['flow']}: {row['from']} → {row['to']}"


def _hosts(run: Run, suffix: str) -> list[Figure]:
    series = run.table("hosts_series").drop_nulls(["host", "time_ps"])
    columns = [column for column, _, _ in _HOST_COLUMNS]
    totals = series.group_by("host").agg(pl.col(columns).sum())
    busy = totals.filter(pl.sum_horizontal(columns) > 0)
    if not busy.height:
        return []
    traffic = pl.col("received_bytes") + pl.col("sent_bytes")
    shown = busy.sort(traffic, "host", descending=[True, False])["host"].head(_HOSTS_MAX).to_list()
    end = max(1, points.most(series, "time_ps"))
    of_host = {
        host: points.rates(series.filter(pl.col("host") == host), "time_ps", columns, end, _BUCKETS)
        for host in shown
    }
    panels = []
    for column, factor, title in _HOST_COLUMNS:
        if totals[column].sum():
            curves = [
                (host, i, of_host[host].select("time_ps", y=pl.col(column) * factor))
                for i, host in enumerate(shown)
            ]
            panels += _panel(curves, title, "host", end, steps=True)
    note = f"The {len(shown)} of {text.plural(totals.height, 'host')} with the most traffic."
    figure = Figure(f"Hosts{suffix}", tuple(panels), numbered(shown), note * (totals.height > len(shown)))
    return [figure]


def _panel(
    curves: list[tuple[str, int, pl.DataFrame]],
    title: tuple[str, str],
    legend: str,
    end: int,
    steps: bool = False,
) -> list[tuple[str, Chart]]:
    """The chart, unless there is nothing to draw."""
    known = [(name, color, line.drop_nulls()) for name, color, line in curves]
    known = [each for each in known if each[2].height]
    return [("", charts.lines(known, title, legend, end, steps))] if known else []
