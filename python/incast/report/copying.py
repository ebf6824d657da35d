"""Hosts of a broadcast over time: what each has of the file, and how each fared."""

from __future__ import annotations

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.parts import Columns, Drawn, Figure, Key, Table, listed
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
        for name, hosts, series in jobs(each.run):
            named = ", ".join([*([each.run.name] if several else []), *([name] if name else [])])
            found += figures(hosts, series, f", {named}" if named else "")
    return found


def receivers(run: Run) -> list[Table]:
    """A table of hosts for each broadcast."""
    return [table(hosts, f" of {name}" if name else "") for name, hosts, _ in jobs(run)]


def jobs(run: Run) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Name, hosts and samples of each broadcast; without a name where there is one only."""
    hosts, series = run.table("broadcasts"), run.table("broadcasts_series")
    names = hosts["job"].unique(maintain_order=True).to_list()
    return [
        (name if len(names) > 1 else "", hosts.filter(job=name), series.filter(job=name)) for name in names
    ]


def figures(hosts: pl.DataFrame, series: pl.DataFrame, suffix: str = "") -> list[Figure]:
    """What receivers have, and how fast it comes."""
    series = series.drop_nulls(["host", "time_ps"]).sort("time_ps")
    came = hosts.filter(pl.col("received_bytes") > 0).sort("complete_ps", "host", nulls_last=True)
    sampled = set(series["host"])
    names = [host for host in came["host"] if host in sampled]
    if not names:
        return []
    shown = spread(names)
    last = series["time_ps"].max()
    end = max(1, last if isinstance(last, int) else 1)
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
    keys = tuple(Key(host, color) for color, host in enumerate(shown))
    return [Figure(f"Receivers of a broadcast{suffix}", panels, keys, note)]


def spread(names: list[str]) -> list[str]:
    """At most so many as are drawn, evenly from the first to the last."""
    if len(names) <= HOSTS_MAX:
        return names
    steps = HOSTS_MAX - 1
    return [names[round(index * (len(names) - 1) / steps)] for index in range(HOSTS_MAX)]


def table(hosts: pl.DataFrame, suffix: str = "") -> Table:
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
    return listed(f"Hosts of a broadcast{suffix}", rows, columns, "host", shown=_ROWS_MAX)
