"""Programs on remote memory: how long their faults wait, when, and how each program fared."""

from __future__ import annotations

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.curves import Part, by_choice, cdfs, over_seeds, times
from incast.report.parts import Columns, Drawn, Figure, Table, legend, listed
from incast.report.run import Run

_BUCKETS = 120
_ROWS_MAX = 40


def paging(drawn: list[Drawn]) -> list[Figure]:
    """The latency of faults as a distribution, and the share of time that programs wait."""
    return [*_latencies(drawn), *_stall(drawn)]


def _latencies(drawn: list[Drawn]) -> list[Figure]:
    """How long faults wait that fetch pages: one run by program, several over all of each."""

    def fetches(run: Run) -> pl.DataFrame:
        return run.table("faults").filter(pl.col("fetched") > 0).rename({"latency_ps": "fct_ps"})

    title = "Page fault latency"
    if len(drawn) > 1:
        return by_choice(drawn, fetches, times, {title: pl.lit(True)})
    programs = fetches(drawn[0].run).select("job", "host").unique(maintain_order=True).rows()
    shown = programs[: charts.SHAPES_MAX]
    parts: list[Part] = [
        (f"{job} on {host}", i, (pl.col("job") == job) & (pl.col("host") == host))
        for i, (job, host) in enumerate(shown)
    ]
    return cdfs(title, over_seeds(drawn[0], fetches, times, parts), "program")


def _stall(drawn: list[Drawn]) -> list[Figure]:
    """Of all programs' threads together: the part of their time that they spend in faults."""
    curves, end = [], 1
    for each in drawn:
        faults = each.run.table("faults").drop_nulls(["start_ps", "latency_ps"])
        programs = each.run.table("programs").drop_nulls(["start_ps"])
        if not faults.height or not programs.height:
            continue
        last = max(points.most(programs, "end_ps"), points.most(faults, "start_ps"))
        end = max(end, last)
        told = faults.with_columns(time_ps=pl.col("start_ps") + pl.col("latency_ps"))
        # Results of earlier versions do not say it: programs had one thread.
        threads = int(programs["threads"].fill_null(1).sum())
        waits = points.rates(told, "time_ps", ["latency_ps"], last, _BUCKETS)
        part = pl.col("latency_ps") / 1e12 / threads * 100
        curves.append((each.run.name, each.color, waits.select("time_ps", y=part.clip(0, 100))))
    if not curves:
        return []
    chart = charts.lines(curves, ("time in faults", "%"), "choice", end, steps=True, top=100)
    return [Figure("Part of the time that programs wait for pages", (("", chart),), legend(curves))]


def programs(run: Run) -> list[Table]:
    """A row a program, those that were lost and the slowest first; no table without programs."""
    took = (pl.col("end_ps") - pl.col("start_ps")).cast(pl.Float64)
    slower = took / pl.when(pl.col("all_local_ps") > 0).then("all_local_ps") - 1
    rows = run.table("programs").with_columns(slower=slower, took=took)
    rows = rows.sort("slower", "host", descending=[True, False], nulls_last=False)
    columns: Columns = {
        "Program on": lambda row: str(row["host"]),
        "job": lambda row: str(row["job"]),
        "memory at": lambda row: str(row["memory"]),
        "fared": lambda row: str(row["outcome"]),
        "took": lambda row: text.time(row["took"]),
        "all local": lambda row: text.time(row["all_local_ps"]),
        "slower by": lambda row: text.percent(row["slower"]),
        "in faults": lambda row: text.time(row["stall_ps"]),
        "faults": lambda row: text.count(row["faults"]),
        "hits": lambda row: text.percent(_part(row["hits"], row["accesses"])),
        "pages fetched": lambda row: text.count(row["fetched"]),
        "written back": lambda row: text.count(row["written_back"]),
        "local": lambda row: text.percent(_part(row["local_pages"], row["pages"])),
    }
    left = frozenset({"job", "memory at", "fared"})
    found = listed("Programs on remote memory", rows, columns, "row", left, shown=_ROWS_MAX)
    return [found] if found.rows else []


def _part(some: int | None, whole: int | None) -> float | None:
    return None if some is None or not whole else some / whole
