"""`incast farmem grid`: a program over latencies, bandwidths and local memory, measured and predicted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import exits, show
from incast.cli import farmem_options as shared
from incast.cli.common import Json, told
from incast.cli.farmem_progress import GridBar
from incast.extras import need
from incast.farmem import chart, options
from incast.farmem.coverage import SHARE_MAX
from incast.farmem.grid import TRACE, MeasuredGrid, Request
from incast.farmem.measured import CLOCKS, Clock, Measured, cells
from incast.farmem.program import find
from incast.farmem.run import LEAST_PAGES, Memory, check
from incast.farmem.traced import Traced
from incast.folder import write_table, write_text
from incast.stop import Interrupted

_MANY = 10.0
"""Ten times as long and more: no tenths of a percent are shown."""
_CLOSE = 3
"""Percentage points that a good prediction is off at most."""


def grid(
    program: shared.Program,
    local: Annotated[
        str,
        shared.of("Local memory: sizes, or shares of the peak in use; default: 25%,50%,75%.", "SIZES"),
    ] = "25%,50%,75%",
    latency: Annotated[
        str, shared.of("Wait of a request; default: 1us,10us,20us.", "TIMES")
    ] = "1us,10us,20us",
    bandwidth: Annotated[
        str, shared.of("Rate of each direction; default: 10Gbps,40Gbps,100Gbps.", "RATES")
    ] = "10Gbps,40Gbps,100Gbps",
    page: shared.Page = "4KiB",
    read_ahead: shared.ReadAhead = 0,
    pages_a_request: shared.PagesARequest = 1,
    policy: shared.Policy = "fifo",
    compress: shared.Compress = None,
    server: shared.ServerAt = None,
    key_file: shared.KeyFile = None,
    timeout: shared.Timeout = "10s",
    runs: Annotated[
        int, typer.Option("--runs", "-n", min=0, max=1000, help="Runs per cell; 0: predict only.")
    ] = 3,
    clock: Annotated[
        str,
        shared.of(
            "wall, or processor: processor time of the program and its waits, for shared machines.",
            "NAME",
        ),
    ] = "wall",
    out: Annotated[Path | None, shared.of("Result folder; default: results/farmem-PROGRAM.", "DIR")] = None,
    as_json: Json = False,
) -> None:
    """Measure a program's degradation over a grid of remote memories, and compare a prediction.

    Runs it once traced, and then in rounds: four times to learn what faults cost here, and once in each cell,
    each time after a run with all memory local. Finished runs are kept: after Ctrl-C, the same command
    continues, and a larger -n or more cells add to what is there. Exits with code 8 if more than a tenth of
    the program's memory could not be remote: the slowdown is then not the full cost of distance.
    """
    with told(as_json):
        need("farmem", "vl_convert", "scipy.optimize")
        there = shared.server_at(server, key_file, timeout)
        memory = shared.memory(page, read_ahead, pages_a_request, policy, compress, there)
        request = _request(program, local, latency, bandwidth, memory, runs)
        by = _clock(clock)
        place = out or Path("results") / f"farmem-{Path(program[0]).name}"
        grid = MeasuredGrid.open(request, place)
        try:
            with GridBar(show.err) as bar:
                grid.tell = bar.tell
                grid.measure()
        except KeyboardInterrupt:
            _write(grid, by)
            raise Interrupted("what has ended is kept, the same command goes on.") from None
        found = _write(grid, by)
        assert found
    if as_json:
        show.print_json(_plain(request, found, place))
    else:
        if not found.covers:
            show.err.print(_uncovered(found), style="bold red", soft_wrap=True)
        _show(grid, found, by)
        show.place("Result", place)
        show.place("Picture", place / chart.FILE)
    if not found.covers:
        raise typer.Exit(exits.Exit.UNCOVERED)


def _uncovered(found: Measured) -> str:
    return (
        f"This does not cover the program: {text.percent(found.not_governed)} of its resident memory could "
        f"not be remote, more than {SHARE_MAX:.0%} (incast farmem run says what that is)."
    )


def _request(
    program: list[str], local: str, latency: str, bandwidth: str, memory: Memory, runs: int
) -> Request:
    sizes = options.local(local, "--local")
    for size in sizes:
        if size.bytes is not None and size.bytes < LEAST_PAGES * memory.page:
            least = text.size(LEAST_PAGES * memory.page)
            options.refuse(f"at least {LEAST_PAGES} pages are needed: {least}", f"--local {size.said}")
    find(program[0])
    check()
    return Request(
        command=tuple(program),
        local=tuple(sizes),
        latencies=tuple(options.times(latency, "--latency")),
        rates=tuple(options.rates(bandwidth, "--bandwidth")),
        memory=memory,
        runs=runs,
    )


def _clock(said: str) -> Clock:
    found = next((clock for clock in CLOCKS if clock == said), None)
    if found is None:
        options.refuse(f"unknown clock. Allowed: {', '.join(CLOCKS)}", f"--clock {said}")
    return found


def _write(grid: MeasuredGrid, clock: Clock) -> Measured | None:
    """The tables and the picture of what is there; nothing before the traced run."""
    if not grid.done(TRACE):
        return None
    found = cells(grid.request, grid.rows, Traced.read(grid.trace), clock)
    write_table(grid.out / "cells.parquet", found.cells)
    write_text(grid.out / "cells.csv", found.cells.write_csv())
    write_text(grid.out / chart.FILE, chart.heat(found.cells, Path(grid.request.command[0]).name))
    return found


def _show(grid: MeasuredGrid, found: Measured, clock: Clock) -> None:
    """A table for each size of local memory: latencies down, bandwidths across."""
    rows = found.cells
    footprint = Traced.read(grid.trace).footprint()
    of = "wall time" if clock == "wall" else "processor time"
    show.out.print(
        f"{escape(' '.join(grid.request.command))}: {text.size(footprint)} in use, "
        f"{text.time(found.all_local_s * 1e12)} of {of} with all of it local. "
        "Slower by, measured (predicted; how far the predicted time is off):",
        soft_wrap=True,
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("local", "faults", "latency"):
        table.add_column(head, justify="right", no_wrap=True)
    for rate in grid.request.rates:
        table.add_column(text.rate(rate), justify="right", no_wrap=True)
    for (local,), group in rows.group_by("local_bytes", maintain_order=True):
        assert isinstance(local, int)
        said = [text.size(local), text.count(group["faults"][0])]
        for (latency,), across in group.group_by("latency_ps", maintain_order=True):
            assert isinstance(latency, int)
            table.add_row(*said, text.time(latency), *(_said(cell) for cell in across.to_dicts()))
            said = ["", ""]
        table.add_section()
    show.out.print(table)
    overhead = found.overhead
    show.out.print(
        f"Without a network a fault costs {text.time(overhead.fault_ps)}, a first touch "
        f"{text.time(overhead.touch_ps)}, a page that leaves for it {text.time(overhead.leave_ps)}.",
        soft_wrap=True,
        highlight=False,
    )
    if found.errors.cells.is_empty():
        return
    ratio = sorted(rows["injected_over_nominal"].drop_nulls().to_list())
    injected = f"Injected over nominal: {ratio[0]:.3f} to {ratio[-1]:.3f}. " if ratio else ""
    show.out.print(
        f"{injected}Runs of a cell lie {found.spread:.1f} points apart (median).",
        soft_wrap=True,
        highlight=False,
    )
    errors, (low, high) = found.errors, found.errors.interval()
    show.out.print(
        f"Prediction: the time of a run is off by {errors.median_share:.1%} (median), "
        f"at most {errors.largest_share:.1%}; nine in ten of {text.plural(errors.cells.height, 'cell')} "
        f"lie from {low:+.1%} to {high:+.1%}. Of the time with all memory local that is "
        f"{errors.median:.1f} points (median), at most {errors.largest:.1f}.",
        soft_wrap=True,
        highlight=False,
    )


def _said(cell: dict[str, Any]) -> str:
    predicted = _percent(cell["degradation"])
    if cell["measured"] is None:
        return f"({predicted})"
    return f"{_percent(cell['measured'])} ({predicted}; {cell['error_share']:+.1%})"


def _percent(share: float) -> str:
    """With as many digits as anybody reads."""
    return f"{share:.1%}" if share < _MANY else f"{share:,.0%}"


def _plain(request: Request, found: Measured, place: Path) -> dict[str, Any]:
    return {
        "command": list(request.command),
        "result": str(place),
        "all_local_s": found.all_local_s,
        "covers": found.covers,
        "not_governed": found.not_governed,
        "overhead": asdict(found.overhead),
        "cells": found.cells.to_dicts(),
        "errors": {
            "cells": found.errors.cells.height,
            "median_share": found.errors.median_share,
            "largest_share": found.errors.largest_share,
            "interval_90_share": found.errors.interval(),
            "median_points": found.errors.median,
            "largest_points": found.errors.largest,
            "within_3_points": found.errors.within(_CLOSE),
        },
    }
