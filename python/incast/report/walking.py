"""Servers of random walks over time: how many walkers waited, which were dropped where, how fast it went.

What is said of them in words is `walked`'s matter.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.charts import Chart
from incast.report.parts import Columns, Drawn, Figure, Row, Table, listed, numbered, suffix
from incast.report.run import Run

TABLES = ("walks", "walks_series")
SERVERS_MAX = 6
"""Servers that are drawn: those that dropped most."""
_ROWS_MAX = 40
_BUCKETS = 150
_NEAR = 1.5
"""A threshold further above the longest queue than this is not drawn."""
_CAUSES = ("drops_early", "drops_forced", "drops_full", "drops_wait")
_PLACES = (("own", "walkers born there"), ("others", "walkers of other servers"))


def walking(drawn: list[Drawn]) -> list[Figure]:
    """The figures of all runs with random walks."""
    several = len(drawn) > 1
    found = []
    for each in drawn:
        for name, (walks, series) in each.run.by_job(*TABLES):
            levels = thresholds(each.run, str(walks["job"][0]))
            found += figures(walks, series, levels, suffix(each.run.name * several, name))
    return found


def thresholds(run: Run, job: str) -> list[tuple[str, float]]:
    """Lengths from which a job's servers drop walkers."""
    served = run.summary.get("servers")
    if served:
        settings = served.get("settings", {})
    else:
        jobs = run.scenario.get("jobs", [])
        settings = next((each.get("work", {}) for each in jobs if each.get("name") == job), {})
    queue, limit = settings.get("queue", {}), settings.get("limit")
    found = [("limit", limit)] if limit is not None else []
    if queue.get("kind") == "red":
        most = queue["max"] * (2 if queue["gentle"] else 1)
        names = "2 max_th" if queue["gentle"] else "max_th"
        found = [("min_th", queue["min"]), (names, most), *(each for each in found if each[1] < most)]
    return found


def servers(run: Run) -> list[Table]:
    """A table of servers for each job of random walks."""
    found = run.by_job(*TABLES)
    return [table(walks, series, f" of {name}" if name else "") for name, (walks, series) in found]


def figures(
    walks: pl.DataFrame, series: pl.DataFrame, levels: list[tuple[str, float]], of: str = ""
) -> list[Figure]:
    """Queues, drops and speed of a job's servers."""
    series = series.drop_nulls(["host", "time_ps"]).with_columns(
        own=pl.col("drops_own"), others=pl.sum_horizontal(_CAUSES) - pl.col("drops_own")
    )
    if not series.height:
        return []
    worst = walks.sort(pl.sum_horizontal(_CAUSES), "host", descending=[True, False]).head(SERVERS_MAX)
    shown = [host for host in walks["host"] if host in set(worst["host"])]
    of_host = {host: series.filter(host=host) for host in shown}
    end = max(1, points.most(series, "time_ps"))
    note = ""
    if walks.height > len(shown):
        note = f"The {len(shown)} of {text.plural(walks.height, 'server')} that dropped most walkers."
    colors = {host: index for index, host in enumerate(shown)}
    top, inside = _top(of_host, levels)
    queues = _queues(of_host, end, top, inside)
    found = [Figure(f"Queues of servers{of}", queues, note=_queue_note(levels, inside, note))]
    drops = _drops(of_host, end)
    if drops:
        keys = numbered(name for _, name in _PLACES)
        found.append(Figure(f"Drops by server and birthplace{of}", drops, keys, note))
    speeds = _speeds(of_host, colors, end)
    return [*found, Figure(f"Speed of servers{of}", speeds, numbered(colors), note)]


def _top(
    of_host: dict[str, pl.DataFrame], levels: list[tuple[str, float]]
) -> tuple[float, list[tuple[str, float]]]:
    """Where the axis of queues ends, and the levels that are on it: those that queues came near to."""
    longest = max(1, *(points.most(series, "queue_max") for series in of_host.values()))
    inside = [each for each in levels if each[1] <= _NEAR * longest]
    return max([longest, *(level for _, level in inside)]), inside


def _queue_note(levels: list[tuple[str, float]], inside: list[tuple[str, float]], note: str) -> str:
    above = [f"{name} is {text.count(level)}" for name, level in levels if (name, level) not in inside]
    said = f"Far above what is drawn: {text.listed(above)}." if above else ""
    line = "The line is the mean, the area reaches from the shortest to the longest queue."
    dashes = f"Dashed: {text.listed([name for name, _ in inside])}." if inside else ""
    return " ".join(part for part in (line, dashes, said, note) if part)


def _queues(
    of_host: dict[str, pl.DataFrame], end: int, top: float, levels: list[tuple[str, float]]
) -> tuple[tuple[str, Chart], ...]:
    panels = []
    for host, series in of_host.items():
        spans = _spans(series, end)
        curve = [(host, 0, spans.select("time_ps", y="queue"))]
        band = spans.select("time_ps", "low", "high")
        what = ("queue", "walkers")
        drawn = charts.lines(curve, what, "server", end, top=top, band=band, levels=levels)
        panels.append((host, drawn))
    return tuple(panels)


def _spans(series: pl.DataFrame, end: int) -> pl.DataFrame:
    """Mean, least and greatest queue in each span of time."""
    width = max(1, -(-(end + 1) // _BUCKETS))
    return (
        series.sort("time_ps")
        .group_by(pl.col("time_ps") // width, maintain_order=True)
        .agg(
            pl.col("time_ps").last().alias("at"),
            pl.col("queue").mean(),
            pl.col("queue").min().alias("low"),
            pl.max_horizontal(pl.col("queue").max(), pl.col("queue_max").max()).alias("high"),
        )
        .select(pl.col("at").alias("time_ps"), "queue", "low", "high")
    )


def _drops(of_host: dict[str, pl.DataFrame], end: int) -> tuple[tuple[str, Chart], ...]:
    """Walkers dropped a second, by where they were born."""
    columns = [column for column, _ in _PLACES]
    panels = []
    for host, series in of_host.items():
        if not series.select(columns).sum().sum_horizontal()[0]:
            continue
        rates = points.rates(series, "time_ps", columns, end, _BUCKETS)
        curves = [
            (name, index, rates.select("time_ps", y=column)) for index, (column, name) in enumerate(_PLACES)
        ]
        panels.append((host, charts.lines(curves, ("drops", "walkers/s"), "born", end, steps=True)))
    return tuple(panels)


def _speeds(
    of_host: dict[str, pl.DataFrame], colors: dict[str, int], end: int
) -> tuple[tuple[str, Chart], ...]:
    panels = []
    for column, title in (("finished", "finished walks a second"), ("served", "served walkers a second")):
        curves = [
            (
                host,
                colors[host],
                points.rates(series, "time_ps", [column], end, _BUCKETS).select("time_ps", y=column),
            )
            for host, series in of_host.items()
        ]
        known = [curve for curve in curves if curve[2].height]
        unit = ("walks" if column == "finished" else "walkers", "1/s")
        if known:
            panels.append((title, charts.lines(known, unit, "server", end, steps=True)))
    return tuple(panels)


def table(walks: pl.DataFrame, series: pl.DataFrame, of: str = "") -> Table:
    """A row a server: what it walked, what it dropped and why, how long its queue was."""
    queues = series.group_by("host").agg(
        pl.col("queue").mean().alias("mean"), pl.col("queue_max").max().alias("longest")
    )
    rows = walks.join(queues, on="host", how="left", maintain_order="left")
    columns: Columns = {
        "Server": lambda row: str(row["host"]),
        "nodes": _count("nodes"),
        "finished walks": _count("finished"),
        "generated again": _count("additional"),
        "steps": _count("steps"),
        "drops by chance": _count("drops_early"),
        "at the threshold": _count("drops_forced"),
        "full": _count("drops_full"),
        "waited too long": _count("drops_wait"),
        "of its own": _count("drops_own"),
        "mean queue": lambda row: text.NONE if row["mean"] is None else text.digits(row["mean"]),
        "longest": _count("longest"),
        "finished after": lambda row: text.time(row["finished_ps"]),
    }
    return listed(f"Servers of random walks{of}", rows, columns, "server", shown=_ROWS_MAX)


def _count(name: str) -> Any:
    def shown(row: Row) -> str:
        return text.count(row[name])

    return shown
