"""What a grid's runs come to: cells with their degradation, and next to each what one traced run predicts.

A cell's degradation is the median of its runs: how much longer each took than the runs with all memory local
before and after it in the same invocation, as a share of the median with all memory local (document 004,
slide 8). The prediction knows the trace, the time with all memory local, and what a fault costs on this
machine, measured without a network; nothing of the cells.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

import polars as pl

from incast.farmem.coverage import SHARE_MAX
from incast.farmem.grid import CELL, FAR, LOCAL, NEAR, Request, Row, Sized
from incast.farmem.overhead import Beyond, Overhead, Ran, calibrate
from incast.farmem.predict import Errors, Grid, Packing, error_share, errors, predict
from incast.farmem.size import Size
from incast.farmem.traced import Cache, Traced

__all__ = ["CLOCKS", "Measured", "cells"]

Clock = Literal["wall", "processor"]
CLOCKS: tuple[Clock, ...] = ("wall", "processor")


@dataclass(frozen=True)
class Measured:
    """A grid so far."""

    cells: pl.DataFrame
    """A row a cell: what is predicted, and where it was run `measured`, `error_points`, `runs`, …"""
    errors: Errors
    overhead: Overhead
    all_local_s: float
    not_governed: float
    """The share of the program's memory that could not be remote: median over runs."""

    @property
    def covers(self) -> bool:
        """Whether that is small."""
        return self.not_governed <= SHARE_MAX

    @property
    def spread(self) -> float:
        """Median over cells of how far their runs lie apart, as degradations, in percentage points."""
        return float(self.cells["spread_points"].median() or 0.0)  # type: ignore[arg-type]


def cells(request: Request, rows: Sequence[Row], traced: Traced, clock: Clock) -> Measured:
    """All cells of the request; there has to be a run with all memory local."""
    base = median(_time(row, clock) for row in rows if row.kind == LOCAL)
    beyond = list(_beyond(rows, clock))
    overhead = _overhead(request, beyond, traced)
    footprint = traced.footprint()
    grid = Grid(
        local=[
            Size(each.said, bytes=each.of(footprint) // request.page * request.page) for each in request.local
        ],
        latencies=request.latencies,
        rates=request.rates,
        policies=(request.memory.policy,),
        read_ahead=request.memory.read_ahead,
        pages_a_request=request.memory.pages_a_request,
        overhead=overhead,
        packing=Packing(_ratio(request, rows)),
    )
    predicted = predict(traced, grid, round(base * 1e12))
    measured = [
        _cell(Sized(*cell), [each for each in beyond if each[0].kind == CELL], base)
        for cell in predicted.select("local_bytes", "latency_ps", "bandwidth_bps").iter_rows()
    ]
    beside = pl.DataFrame(measured, schema=_SCHEMA)
    found = errors(predicted, beside.filter(pl.col("degradation").is_not_null()))
    both = predicted.join(
        beside.rename({"degradation": "measured"}), on=["local_bytes", "latency_ps", "bandwidth_bps"]
    )
    apart = (pl.col("degradation") - pl.col("measured")) * 100
    both = both.with_columns(error_share(), apart.alias("error_points"))
    return Measured(both, found, overhead, base, median(row.not_governed for row in rows))


_SCHEMA = {
    "local_bytes": pl.Int64,
    "latency_ps": pl.Int64,
    "bandwidth_bps": pl.Int64,
    "degradation": pl.Float64,
    "fastest": pl.Float64,
    "slowest": pl.Float64,
    "spread_points": pl.Float64,
    "runs": pl.Int64,
    "faults_measured": pl.Float64,
    "first_touches_measured": pl.Float64,
    "pages_out_measured": pl.Float64,
    "injected_over_nominal": pl.Float64,
}


def _beyond(rows: Sequence[Row], clock: Clock) -> Iterator[tuple[Row, float]]:
    """How many seconds longer each run took than those next to it with all memory local."""
    ats = [at for at, row in enumerate(rows) if row.kind == LOCAL]
    for at, row in enumerate(rows):
        next_one = bisect(ats, at)
        beside = [rows[there] for there in ats[max(0, next_one - 1) : next_one + 1]]
        locals_s = [_time(each, clock) for each in beside if each.invocation == row.invocation]
        if row.kind in (NEAR, FAR, CELL) and locals_s:
            yield row, _time(row, clock) - fmean(locals_s)


def _cell(cell: Sized, beyond: Sequence[tuple[Row, float]], base: float) -> dict[str, float | None]:
    found = [(row, longer / base) for row, longer in beyond if row.cell == cell]
    runs, slower = [row for row, _ in found], [each for _, each in found]
    nominal = sum(row.nominal_s for row in runs)

    def middle(name: str) -> float | None:
        return median(getattr(row, name) for row in runs) if runs else None

    return {
        "local_bytes": cell.local_bytes,
        "latency_ps": cell.latency_ps,
        "bandwidth_bps": cell.bandwidth_bps,
        "degradation": median(slower) if slower else None,
        "fastest": min(slower, default=None),
        "slowest": max(slower, default=None),
        "spread_points": (max(slower) - min(slower)) * 100 if slower else None,
        "runs": len(runs),
        "faults_measured": middle("faults"),
        "first_touches_measured": middle("first_touches"),
        "pages_out_measured": middle("pages_out"),
        "injected_over_nominal": sum(row.injected_s for row in runs) / nominal if nominal else None,
    }


def _overhead(request: Request, beyond: Sequence[tuple[Row, float]], traced: Traced) -> Overhead:
    """From the runs that are there for it; nothing is known of faults before there are any."""
    found: dict[str, list[Beyond]] = {NEAR: [], FAR: []}
    memory = request.memory
    for kind, cell in dict.fromkeys((row.kind, row.cell) for row, _ in beyond if row.kind in found):
        runs = [(row, longer) for row, longer in beyond if (row.kind, row.cell) == (kind, cell)]
        pages = cell.local_bytes // request.page
        cache = Cache(pages, memory.policy, memory.read_ahead, memory.pages_a_request)
        faults, touched = (
            median(getattr(row, name) for row, _ in runs) for name in ("faults", "first_touches")
        )
        ran = Ran.predicted(traced.handled(request.page, cache)).counted(round(faults), round(touched))
        found[kind].append(
            Beyond(
                ran,
                cell.local_bytes,
                beyond_s=median(longer for _, longer in runs),
                waits_s=median(row.nominal_s for row, _ in runs),
                hides=_hides([row for row, _ in runs]),
            )
        )
    return calibrate(found[NEAR], found[FAR])


def _hides(runs: Sequence[Row]) -> dict[int, float]:
    """Seconds that waits of so many ns would hide of the handler's work."""
    said = [dict(each.split(":") for each in row.hides_ns.split()) for row in runs]
    return {int(wait): median(int(each[wait]) for each in said) / 1e9 for wait in said[0]}


def _ratio(request: Request, rows: Sequence[Row]) -> float:
    """What compression saves, of the runs that tell what faults cost; its time is in these costs."""
    told = [row for row in rows if row.kind in (NEAR, FAR)]
    travelled = sum(row.bytes_in + row.bytes_out for row in told)
    plain = sum(row.pages_in + row.pages_out for row in told) * request.page
    return plain / travelled if request.memory.compress and travelled else 1.0


def _time(row: Row, clock: Clock) -> float:
    return row.wall_s if clock == "wall" else row.processor_s
