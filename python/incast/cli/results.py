"""`incast report`, `trace` and `compare`: what was measured, once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from incast import report
from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.folder import TRACE, WALKS_MARKER, free

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")]


def write_report(
    run: RunFolder,
    as_json: Json = False,
) -> None:
    """Rewrite report.html of a result."""
    from incast.result import Result  # It takes a while, and help needs none.

    with told(as_json):
        if not (run / WALKS_MARKER).is_file():
            Result.open(run)
        written = report.write(run)
    show.written("report", written, as_json)


def write_trace(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The trace; default: trace.pftrace in the result."),
    ] = None,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Write a run as a Perfetto trace: tasks, flows and queues on one time axis, for ui.perfetto.dev."""
    from incast import perfetto  # Polars takes a while.
    from incast.result import Result

    with told(as_json):
        result = Result.open(run)
        if out:
            free(out, force)
        written = perfetto.write(result, out or result.path / TRACE)
    show.written("trace", written, as_json)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result folder, or that of a variant.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another result folder.")],
    page: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write a page that compares them, as FILE."),
    ] = None,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Show what differs between two results; with several seeds, with intervals of 95 %."""
    from incast import comparison, skipping
    from incast.cli import show_run
    from incast.result import Result
    from incast.samples import ways

    with told(as_json):
        if page:
            free(page, force)
        left, right = Result.open(a), Result.open(b)
        found = comparison.compare(left, right)
        names = (a.name, b.name) if a.name != b.name else (str(a), str(b))
        approximate = skipping.sentences({names[0]: left.runs, names[1]: right.runs})
        if page:
            report.write_comparison(dict(zip(names, (left.path, right.path), strict=True)), page)
    if as_json:
        missing = {"a": left.incomplete, "b": right.incomplete}
        approximately = {"approximate": approximate} if approximate else {}
        said = {"differences": [each.json() for each in found], **({"report": str(page)} if page else {})}
        show.print_json({"a": str(a), "b": str(b), "incomplete": missing, **approximately, **said})
        return
    for result in (left, right):
        show_run.incomplete(result.runs, str(result.path))
        show_run.late(result.runs, str(result.path))
    for each in approximate:
        show.out.print(escape(each), highlight=False)
    known = {".".join(way): metric for way, metric in ways(run.summary for run in (*left.runs, *right.runs))}
    show.out.print(show_run.differences(found, known, names))
    if page:
        show.place("Report", page)
