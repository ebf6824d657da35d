"""`incast farmem predict`: what any distance, bandwidth and local memory cost a traced program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import table_files, text
from incast.cli import farmem_options as shared
from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.damage import damaged
from incast.errors import why
from incast.farmem import options
from incast.farmem.overhead import Overhead
from incast.farmem.predict import Errors, Grid, Packing, errors
from incast.farmem.predict import predict as predict_grid
from incast.farmem.traced import Traced
from incast.folder import free, write_table, write_text
from incast.walks.problem import refuse_twice

_CLOSE = 3
"""Percentage points that a good prediction is off at most."""


def _of(help_: str, metavar: str) -> Any:
    return typer.Option(metavar=metavar, help=help_)


def predict(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE…", help="Traces of page faults, one per program.")
    ],
    local: Annotated[
        str, _of("Local memory: sizes, or shares of the peak in use; default: 25%,50%,75%.", "SIZES")
    ] = "25%,50%,75%",
    latency: Annotated[str, _of("Wait of a request; default: 1us,10us,20us.", "TIMES")] = "1us,10us,20us",
    bandwidth: Annotated[
        str, _of("Rate of each direction; default: 10Gbps,40Gbps,100Gbps.", "RATES")
    ] = "10Gbps,40Gbps,100Gbps",
    page: Annotated[str | None, _of("Page sizes, to 2MiB; default: the trace's.", "SIZES")] = None,
    policy: Annotated[
        str | None, _of("Eviction policies: fifo, clock, lru; default: as in the trace.", "NAMES")
    ] = None,
    read_ahead: shared.ReadAhead = 0,
    pages_a_request: shared.PagesARequest = 1,
    no_write_back: Annotated[
        bool, typer.Option("--no-write-back", help="No fault waits for the page that leaves.")
    ] = False,
    compression_ratio: Annotated[
        float,
        typer.Option(
            min=1,
            max=1000,
            help="Compression ratio, from a run with --compress; default: 1.",
        ),
    ] = 1,
    compress: Annotated[str, _of("Time to compress 4 KiB, in addition to the wait.", "TIME")] = "0us",
    decompress: Annotated[str, _of("Time to decompress 4 KiB.", "TIME")] = "0us",
    handler: Annotated[str, _of("Cost of a fault without a network.", "TIME")] = "0us",
    time: Annotated[
        str | None,
        _of(
            "Its time with all memory local; default: the time between the faults, which is longer.",
            "TIME",
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        _of("Measured cells (.parquet, .csv): prints the error of the prediction.", "FILE"),
    ] = None,
    out: Annotated[Path | None, _of("Write all cells: *.parquet or *.csv.", "FILE")] = None,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Predict a traced program's degradation over latency, bandwidth, local memory and page size."""
    with told(as_json):
        read = [Traced.read(path) for path in traces]
        cost = options.one_time(handler, "--handler")
        grid = Grid(
            local=options.local(local, "--local"),
            latencies=options.times(latency, "--latency"),
            rates=options.rates(bandwidth, "--bandwidth"),
            pages=options.pages(page, "--page", max(each.page for each in read)) if page else (),
            policies=options.policies(policy, "--policy") if policy else (),
            read_ahead=read_ahead,
            pages_a_request=pages_a_request,
            write_back=not no_write_back,
            packing=Packing(
                compression_ratio,
                options.one_time(compress, "--compress"),
                options.one_time(decompress, "--decompress"),
            ),
            overhead=Overhead(cost, cost),
        )
        base = options.one_time(time, "--time", least=1) if time else None
        _check(read, grid, base)
        _check_out(out, force)
        cells = pl.concat([predict_grid(each, grid, base) for each in read])
        beside = _beside(cells, measured) if measured else None
        if out:
            _write(cells, out)
    cut = [each.name for each in read if not each.trace.has_end()]
    if as_json:
        errors = beside and _plain(beside)
        show.print_json({"cells": cells.to_dicts(), "errors": errors, "cut_short": cut})
        return
    for name in cut:
        show.err.print(f"[yellow]{escape(name)} has no end: it was cut short, and says too little.[/]")
    _show_all(read, cells, beside, base is not None)
    if out:
        show.place("Cells", out)


def _show_all(read: list[Traced], cells: pl.DataFrame, beside: Errors | None, measured: bool) -> None:
    for each in read:
        _show(each, cells.filter(program=each.name), measured=measured)
    if beside:
        _tell(beside)


def _check(read: list[Traced], grid: Grid, base: int | None) -> None:
    """Refuses what can't be said of these programs."""
    names = [each.name for each in read]
    for name in names:
        if names.count(name) > 1:
            options.refuse("several traces have this name: they have to differ", name)
    for each in read:
        if not each.footprint():
            options.refuse("the trace has no accesses: nothing to predict", each.name)
        if not base and not each.computed_ps:
            options.refuse(f"the trace of {each.name} has no times: say how long it takes", "--time")
        for size, local, _ in grid.caches(each):
            if local.of(each.footprint()) < size:
                options.refuse(f"at least a page ({size} bytes) is needed", f"--local {local.said}")


def _check_out(out: Path | None, force: bool) -> None:
    if out and out.suffix not in (".parquet", ".csv"):
        options.refuse("unknown kind of table. Allowed: *.parquet, *.csv", f"--out {out}")
    if out:
        free(out, force)


def _write(cells: pl.DataFrame, out: Path) -> None:
    if out.suffix == ".csv":
        write_text(out, cells.write_csv())
    else:
        write_table(out, cells)


def _beside(cells: pl.DataFrame, measured: Path) -> Errors:
    option = f"--measured {measured}"
    try:
        read = table_files.read_csv if measured.suffix == ".csv" else table_files.read_parquet
        table = read(measured)
    except (*damaged(), OSError) as error:
        options.refuse(f"can't read it: {why(error)}", option)
    refuse_twice(table.columns, measured)
    if "degradation" not in table.columns:
        options.refuse("it has no column degradation", option)
    found = errors(cells, table)
    if found.cells.is_empty():
        options.refuse("none of its cells is among those predicted", option)
    return found


def _show(traced: Traced, cells: pl.DataFrame, measured: bool) -> None:
    """A table for each page size and policy: local memory and latencies down, bandwidths across."""
    footprint = traced.footprint()
    for (page, policy), group in cells.group_by("page_bytes", "policy", maintain_order=True):
        assert isinstance(page, int)
        title = (
            f"{escape(traced.name)}: {text.size(footprint)} in use, {text.time(group['all_local_ps'][0])} "
            f"{'with all of it local' if measured else 'between faults'}; pages of {page >> 10} KiB, {policy}"
        )
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
        for head in ("local", "faults", "in", "out", "latency"):
            table.add_column(head, justify="right", no_wrap=True)
        for rate in group["bandwidth_bps"].unique(maintain_order=True):
            table.add_column(text.rate(rate), justify="right", no_wrap=True)
        for _, local in group.group_by("local_bytes", maintain_order=True):
            _rows(table, page, local)
            table.add_section()
        show.out.print(table)
    smallest = int(cells["local_bytes"].min() or 0)  # type: ignore[arg-type]
    if smallest < traced.cache_bytes:
        had = text.size(traced.cache_bytes)
        show.out.print(
            f"The trace was taken with {had} local: less than that comes out too good.", highlight=False
        )
    if not measured:
        show.out.print(
            "Between faults are the ways to their handler and back too, so this comes out too good: "
            "say how long it takes with all memory local (--time).",
            highlight=False,
        )
    if traced.threads > 1:
        show.out.print(
            f"{text.plural(traced.threads, 'thread')}, whose waits overlap. Where threads wait for each "
            "other, as for a lock, it costs more than this.",
            highlight=False,
        )


def _rows(table: Table, page: int, local: pl.DataFrame) -> None:
    first = local.row(0, named=True)
    exchanged = [
        f"{text.size(first['local_bytes'])}",
        text.count(first["faults"]),
        text.size(first["fetched"] * page),
        text.size(first["written_back"] * page),
    ]
    for number, ((latency,), group) in enumerate(local.group_by("latency_ps", maintain_order=True)):
        assert isinstance(latency, int)
        said = exchanged if number == 0 else [""] * len(exchanged)
        table.add_row(
            *said, text.time(latency), *(f"{each:.1%}".replace("%", " %") for each in group["degradation"])
        )


def _tell(found: Errors) -> None:
    low, high = found.interval()
    show.out.print(
        f"Beside {text.plural(found.cells.height, 'cell')} measured: the time is off by "
        f"{found.median_share:.1%} (median), at most {found.largest_share:.1%}; "
        f"nine in ten lie from {low:+.1%} to {high:+.1%}. "
        f"Off by {found.median:.1f} points (median), at most {found.largest:.1f}; "
        f"{found.within(_CLOSE):.0%} within {_CLOSE}.",
        soft_wrap=True,
        highlight=False,
    )


def _plain(found: Errors) -> dict[str, Any]:
    return {
        "cells": found.cells.height,
        "median_points": found.median,
        "median_share": found.median_share,
        "largest_share": found.largest_share,
        "interval_90_share": found.interval(),
        "largest_points": found.largest,
        "within_3_points": found.within(_CLOSE),
    }
