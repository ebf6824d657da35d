"""`incast walk`: random walks on a graph that people bring."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from incast.cli import show
from incast.cli.common import Json, told
from incast.report import text
from incast.walks.plan import APPS
from incast.walks.result import WalkResult
from incast.walks.run import Watch, run

_PATIENCE_S = 2.0
"""A bar is shown when it takes longer."""
_TITLES = {
    "ppr": "Personalised PageRank",
    "node2vec": "Most visited",
    "corpus": "Most visited",
    "simrank": "Most alike",
    "communities": "Communities",
    "recommend": "Recommended",
}


def walk(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH",
            help="An edge list (.txt, .txt.gz), a table with the columns source and target (.csv, .csv.gz, "
            ".parquet), compressed rows (.npz), or sbm:PARTITIONS,NODES,INSIDE,BETWEEN.",
        ),
    ],
    app: Annotated[
        str, typer.Option(metavar="NAME", help=f"What to make of walks: {', '.join(APPS)}.")
    ] = "ppr",
    start: Annotated[
        list[str],
        typer.Option(metavar="NODE", help="Begin at this node; may be repeated. Default: at every node."),
    ] = [],  # noqa: B006 - typer's way
    walks: Annotated[
        int | None, typer.Option(help="Walks from each start; default: what the application's paper says.")
    ] = None,
    restart: Annotated[
        float | None, typer.Option(metavar="P", help="Walks stop with this probability before each step.")
    ] = None,
    length: Annotated[int | None, typer.Option(help="Walks have so many steps.")] = None,
    p: Annotated[
        float | None, typer.Option("-p", metavar="P", help="node2vec's return parameter; default: 1.")
    ] = None,
    q: Annotated[
        float | None, typer.Option("-q", metavar="Q", help="node2vec's in-out parameter; default: 1.")
    ] = None,
    weighted: Annotated[bool, typer.Option("--weighted", help="Choose edges by weight.")] = False,
    directed: Annotated[bool, typer.Option("--directed", help="Edges go one way.")] = False,
    top: Annotated[int, typer.Option(help="So many nodes in tables of the best.")] = 10,
    seed: Annotated[int, typer.Option(help="All randomness derives from it.")] = 1,
    servers: Annotated[
        int | None, typer.Option(help="Walk on so many servers, a process each; default: in memory.")
    ] = None,
    partition: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A server's number for each node, a line each, as METIS writes it."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder; default: results/walk-<application>.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a result of walks.")] = False,
    as_json: Json = False,
) -> None:
    """Walk on a graph: PageRank, corpora, SimRank, communities, recommendations."""
    place = out or Path("results") / f"walk-{app}"
    with told(as_json), Bar(show.err) as bar:
        result = run(
            graph,
            place,
            app=app,
            starts=start,
            walks=walks,
            restart=restart,
            length=length,
            p=p,
            q=q,
            weighted=weighted,
            directed=directed,
            top=top,
            seed=seed,
            threads=threads,
            servers=servers,
            partition=partition,
            force=force,
            watch=Watch(bar.begin, bar.more),
        )
    _show(result, as_json)


def _show(result: WalkResult, as_json: bool) -> None:
    if as_json:
        show.print_json({"folder": str(result.path), **result.summary})
        return
    graph: dict[str, Any] = result.summary["graph"]
    edges = graph["arcs"] if graph["directed"] else graph["arcs"] / 2
    kind = f"{text.count(graph['nodes'])} nodes, {text.count(edges)} edges"
    total = result.summary["starts"] * result.summary["walks_per_start"]
    table = Table(box=box.SIMPLE_HEAD, title=_TITLES[result.summary["app"]], title_justify="left")
    for name, kinds in result.top.schema.items():
        table.add_column(name, justify="right" if kinds.is_numeric() else "left", overflow="fold")
    for row in result.top.head(_ROWS_MAX).iter_rows():
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else escape(str(cell)) for cell in row))
    show.out.print(table)
    show.out.print(f"{kind}; {text.count(total)} walks", highlight=False)
    show.place("Result", result.path)


_ROWS_MAX = 100


class Bar:
    """How many walks are finished, how fast, and how long the rest will take; nothing where it is quick."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("walks"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("walks", total=None, note="")
        self._began = 0.0
        self._done = 0

    def begin(self, total: int) -> None:
        """So many walks will be walked."""
        self._began = time.monotonic()
        self._progress.update(self._task, total=total)

    def more(self, walks: int) -> None:
        """So many more are finished."""
        self._done += walks
        seconds = time.monotonic() - self._began
        if seconds < _PATIENCE_S:
            return
        self._progress.start()
        self._progress.update(
            self._task, completed=self._done, note=f"{text.count(self._done / seconds)} walks/s"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
