"""Hosts of a broadcast over time: what each has of the file, and how each fared."""

from __future__ import annotations

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.parts import Columns, Drawn, Figure, Table, listed, numbered, suffix
from incast.report.run import Run

HOSTS_MAX = 8
"""Receivers that are drawn: the first and the last to have everything, and some between them."""
_ROWS_MAX = 40
_BUCKETS = 120


def copying(drawn: list[Drawn]) -> list[Figure]:
    """The figures of all runs with broadcasts."""
    several = len(drawn) > 1
    found = []
    for each in drawn:
        for name, (hosts, series) in each.run.by_job("broadcasts", "broadcasts_series"):
            found += figures(hosts, series, suffix(each.run.name * several, name))
    return found


def receivers(run: Run) -> list[Table]:
    """A table of hosts for each broadcast."""
    return [table(hosts, f" of {name}" if name else "") for name, (hosts,) in run.by_job("broadcasts")]


def figures(hosts: pl.DataFrame, series: pl.DataFrame, of: str = "") -> list[Figure]:
    """What receivers have, and how fast it comes."""
    series = series.drop_nulls(["host", "time_ps"]).sort("time_ps")
    came = hosts.filter(pl.col("received_bytes") > 0).sort("complete_ps", "host", nulls_last=True)
    sampled = set(series["host"])
    names = [host for host in came["host"] if host in sampled]
    if not names:
        return []
    shown = spread(names)
    end = max(1, points.most(series, "time_ps"))
    has, rates = [], []
    for color, host in enumerate(shown):
        own = series.filter(host=host)
        line = points.extremes(own, "time_ps", "bytes", _BUCKETS)
        has.append((host, color, line.select("time_ps", y="bytes")))
        speed = points.rates(own, "time_ps", ["received_bytes"], end, _BUCKETS)
        rates.append((host, color, speed.select("time_ps", y=pl.col("received_bytes") * 8.0)))
    note = ""
    if len(shown) < len(names):
        note = f"{len(shown)} of {text.plural(len(names), 'receiver')}, from the first to the last to end."
    panels = (
        ("", charts.lines(has, ("has", "size"), "receiver", end)),
        ("", charts.lines(rates, ("receives", "rate"), "receiver", end, steps=True)),
    )
    return [Figure(f"Receivers of a broadcast{of}", panels, numbered(shown), note)]


def spread(names: list[str]) -> list[str]:
    """At most so many as are drawn, evenly from the first to the last."""
    if len(names) <= HOSTS_MAX:
        return names
    steps = HOSTS_MAX - 1
    return [names[round(index * (len(names) - 1) / steps)] for index in range(HOSTS_MAX)]


def table(hosts: pl.DataFrame, of: str = "") -> Table:
    """A row a host: how it fared, what came and what it passed on. Those that failed come first."""
    fared = pl.col("outcome") == "complete"
    rows = hosts.sort(fared, "complete_ps", "host", descending=[False, True, False], nulls_last=True)
    columns: Columns = {
        "Host": lambda row: str(row["host"]),
        "fared": lambda row: str(row["outcome"]),
        "why": lambda row: row["reason"] or text.NONE,
        "has everything after": lambda row: text.time(row["complete_ps"]),
        "has": lambda row: text.size(row["bytes"]),
        "had before": lambda row: text.size(row["resumed_bytes"]),
        "received": lambda row: text.size(row["received_bytes"]),
        "passed on": lambda row: text.size(row["sent_bytes"]),
        "damaged chunks": lambda row: text.count(row["damaged"]),
        "plans": lambda row: text.count(row["plans"]),
    }
    return listed(f"Hosts of a broadcast{of}", rows, columns, "host", shown=_ROWS_MAX)
