"""Pauses of PFC by port and class over time, and why there were any."""

import polars as pl

from incast import text
from incast.network.pauses import causes, why
from incast.report import charts, points
from incast.report.parts import Columns, Drawn, Figure, Table, legend, listed, suffix
from incast.report.run import Run

_LINES_MAX = 5
_BUCKETS = 100


def pausing(drawn: list[Drawn]) -> list[Figure]:
    """A figure for each run that had pauses."""
    return [figure for d in drawn for figure in _pausing(d.run, suffix(d.run.name * (len(drawn) > 1)))]


def _pausing(run: Run, of: str) -> list[Figure]:
    series = run.table("pauses_series")
    end = series["time_ps"].max()
    longest = series.group_by("port", "class").agg(pl.col("paused_ps").sum()).filter(pl.col("paused_ps") > 0)
    if not longest.height or not isinstance(end, int):
        return []
    order = longest.sort("paused_ps", "port", "class", descending=[True, False, False])
    curves = []
    for color, (port, number) in enumerate(order.head(_LINES_MAX).select("port", "class").iter_rows()):
        of_class = series.filter((pl.col("port") == port) & (pl.col("class") == number))
        paused = points.rates(of_class, "time_ps", ["paused_ps"], end, _BUCKETS)
        curves.append(
            (f"{port} class {number}", color, paused.select("time_ps", y=pl.col("paused_ps") / 1e10))
        )
    chart = charts.lines(curves, ("time paused", "%"), "port and class", end, steps=True)
    left = f"The {len(curves)} longest of {order.height}." if order.height > len(curves) else ""
    alone = f"Of {curves[0][0]}." if len(curves) == 1 else ""
    title = f"Pauses by port and class{of}"
    return [Figure(title, (("", chart),), legend(curves), left or alone, _causes(run))]


def _causes(run: Run) -> Table:
    columns: Columns = {
        "Asked by": lambda row: row["port"],
        "Class": lambda row: str(row["class"]),
        "Because": why,
        "Paused": lambda row: row["paused"],
        "Pauses": lambda row: text.count(row["pauses"]),
        "Time in all": lambda row: text.time(row["asked_ps"]),
        "Longest": lambda row: text.time(row["asked_max_ps"]),
    }
    found = causes(run.table)
    return listed("Pauses by cause", found, columns, "cause", frozenset({"Because", "Paused"}))
