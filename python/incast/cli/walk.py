"""`incast walk`: random walks on a graph that people bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import show
from incast.cli.common import Json, told
from incast.cli.exits import Exit
from incast.cli.walk_view import View
from incast.errors import Problem, ScenarioError
from incast.walks.board import DROPS, LOST
from incast.walks.plan import APPS
from incast.walks.result import WalkResult
from incast.walks.run import run

_TITLES = {
    "ppr": "Personalised PageRank",
    "node2vec": "Most visited",
    "corpus": "Most visited",
    "simrank": "Most alike",
    "communities": "Communities",
    "recommend": "Recommended",
}
_WALKS, _SERVERS, _RQ, _RG, _DATAGRAMS, _RESULT = (
    "Walks",
    "Servers",
    "Queues of servers (RQ)",
    "Loss and generation on servers (RG)",
    "Datagrams between servers",
    "Result",
)

SETTINGS = {
    "queue": "queue.kind",
    "limit": "limit",
    "min_th": "queue.min",
    "max_th": "queue.max",
    "max_p": "queue.max_p",
    "w_q": "queue.weight",
    "gentle": "queue.gentle",
    "count": "queue.count",
    "target": "queue.target",
    "interval": "queue.interval",
    "timeout": "loss.initial",
    "timeout_floor": "loss.floor",
    "window": "loss.window",
    "every_check": "loss.repeated",
    "direct": "loss.direct",
    "remote": "loss.remote",
    "attempts": "loss.attempts",
    "sleep": "generation.sleep",
    "checks": "generation.checks",
    "sleep_time": "generation.time",
    "sleep_max": "generation.max",
    "batch": "generation.batch",
    "under_way": "generation.under_way",
    "walkers": "datagrams.walkers",
    "linger": "datagrams.linger",
    "sample": "sample",
}
"""Options, and the fields of settings that they stand for."""
_OF_QUEUE = {
    "min_th": "red", "max_th": "red", "max_p": "red", "w_q": "red", "gentle": "red", "count": "red",
    "target": "codel", "interval": "codel",
}  # fmt: skip
"""Options that only one discipline has."""


def _of(panel: str, help_: str, *flags: str, metavar: str | None = None) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help_, rich_help_panel=panel)


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
        str, _of(_WALKS, f"What to compute from walks: {', '.join(APPS)}.", metavar="NAME")
    ] = "ppr",
    start: Annotated[
        list[str],
        _of(_WALKS, "Begin at this node; may be repeated. Default: at every node.", metavar="NODE"),
    ] = [],  # noqa: B006 - typer's way
    walks: Annotated[
        int | None, _of(_WALKS, "Walks from each start; default: what the application's paper says.")
    ] = None,
    restart: Annotated[
        float | None, _of(_WALKS, "Walks stop with this probability before each step.", metavar="P")
    ] = None,
    length: Annotated[int | None, _of(_WALKS, "Walks have this many steps.")] = None,
    p: Annotated[
        float | None, _of(_WALKS, "node2vec's return parameter; default: 1.", "-p", metavar="P")
    ] = None,
    q: Annotated[
        float | None, _of(_WALKS, "node2vec's in-out parameter; default: 1.", "-q", metavar="Q")
    ] = None,
    weighted: Annotated[bool, _of(_WALKS, "Choose edges by weight.", "--weighted")] = False,
    directed: Annotated[bool, _of(_WALKS, "Edges go one way.", "--directed")] = False,
    changes: Annotated[
        str | None,
        _of(
            _WALKS,
            "Edges to change while walks run: a CSV file with the columns at, change (add or remove), "
            "source, target[, weight]; - for standard input. at is a time, like 500ms, or a number of "
            "finished walks.",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, _of(_WALKS, "All randomness derives from it.")] = 1,
    threads: Annotated[int | None, _of(_WALKS, "Threads in memory; default: all cores.")] = None,
    servers: Annotated[
        int | None, _of(_SERVERS, "Walk on this many servers, one process each; default: in memory.")
    ] = None,
    cluster: Annotated[
        str | None,
        _of(
            _SERVERS,
            "Walk on a Ray cluster, with one server per node: ray://HOST:PORT, auto or local (extra: ray).",
            metavar="ADDRESS",
        ),
    ] = None,
    partition: Annotated[
        str | None,
        _of(
            _SERVERS,
            "Owners of the nodes: one server number per line, as METIS writes it; or how many "
            "nodes each server owns, like 100,100,50. Default: as many each.",
            metavar="FILE|N,N,…",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        _of(_SERVERS, "Export metrics to Prometheus there, while walks run.", metavar="HOST:PORT"),
    ] = None,
    sample: Annotated[
        str | None,
        _of(_SERVERS, "Sampling interval of queues, for the report; default: 50ms.", metavar="TIME"),
    ] = None,
    queue: Annotated[
        str | None,
        _of(_RQ, "Queue discipline: red, tail-drop or codel; default: red.", metavar="KIND"),
    ] = None,
    limit: Annotated[int | None, _of(_RQ, "Most walkers waiting at a server; default: 20000.")] = None,
    min_th: Annotated[
        float | None, _of(_RQ, "red: no drops below this many walkers; default: 4000.", metavar="N")
    ] = None,
    max_th: Annotated[
        float | None, _of(_RQ, "red: all walkers are dropped from this many on; default: 20000.", metavar="N")
    ] = None,
    max_p: Annotated[
        float | None, _of(_RQ, "red: the probability of a drop at --max-th; default: 0.1.", metavar="P")
    ] = None,
    w_q: Annotated[
        float | None,
        _of(
            _RQ,
            "red: weight of a new length in the average; 1 is the current length, 0.002 the RED paper's; "
            "default: 1.",
            metavar="W",
        ),
    ] = None,
    gentle: Annotated[
        bool | None,
        _of(_RQ, "red: the probability rises from --max-p to 1 between --max-th and twice that.", "--gentle"),
    ] = None,
    count: Annotated[
        bool | None, _of(_RQ, "red: space drops by a count, as in the RED paper.", "--count")
    ] = None,
    target: Annotated[
        str | None, _of(_RQ, "codel: acceptable standing wait; default: 1ms.", metavar="TIME")
    ] = None,
    interval: Annotated[
        str | None,
        _of(
            _RQ,
            "codel: longer waits for this long are a standing queue; default: 20ms.",
            metavar="TIME",
        ),
    ] = None,
    sleep: Annotated[
        str | None,
        _of(
            _RG,
            "When a source sleeps between walkers, and how long: never, always, or after a loss fixed, "
            "additive or aimd; default: fixed.",
            metavar="POLICY",
        ),
    ] = None,
    checks: Annotated[
        int | None, _of(_RG, "A source stops sleeping after this many checks without a loss (x); default: 3.")
    ] = None,
    sleep_time: Annotated[
        str | None,
        _of(_RG, "Length of a sleep, or the step by which it varies; default: 69us.", metavar="TIME"),
    ] = None,
    sleep_max: Annotated[
        str | None, _of(_RG, "Longest sleep, if it varies; default: 10ms.", metavar="TIME")
    ] = None,
    batch: Annotated[int | None, _of(_RG, "Walkers generated between two checks; default: 1.")] = None,
    under_way: Annotated[
        int | None, _of(_RG, "Most walkers of one source in progress; default: 4096.")
    ] = None,
    direct: Annotated[
        bool | None,
        _of(
            _RG,
            "The source learns at once of drops on its own server; default: yes.",
            "--direct/--no-direct",
        ),
    ] = None,
    remote: Annotated[bool | None, _of(_RG, "Servers report drops to each other.", "--remote")] = None,
    attempts: Annotated[
        int | None, _of(_RG, "A walk is given up after this many attempts timed out; default: 100.")
    ] = None,
    timeout: Annotated[
        str | None,
        _of(
            _RG,
            "T before a walk is confirmed: walkers of an age from T to 2T count as lost; default: 1s.",
            metavar="TIME",
        ),
    ] = None,
    timeout_floor: Annotated[str | None, _of(_RG, "Minimum of T; default: 200ms.", metavar="TIME")] = None,
    window: Annotated[
        str | None,
        _of(
            _RG,
            "Instead of T to 2T: ages of walkers that count as lost, like 2ms,15ms.",
            metavar="FROM,TO",
        ),
    ] = None,
    every_check: Annotated[
        bool | None,
        _of(_RG, "A walker in the window counts at every check, and is given up after it.", "--every-check"),
    ] = None,
    walkers: Annotated[int | None, _of(_DATAGRAMS, "Most walkers per datagram; default: 1.")] = None,
    linger: Annotated[
        str | None,
        _of(
            _DATAGRAMS,
            "How long a walker waits for others while the server is busy; default: 0s.",
            metavar="TIME",
        ),
    ] = None,
    top: Annotated[int, _of(_RESULT, "Number of nodes in tables of the best.")] = 10,
    out: Annotated[Path | None, _of(_RESULT, "Result folder; default: results/walk-<application>.")] = None,
    force: Annotated[bool, _of(_RESULT, "Overwrite a result of walks.", "--force")] = False,
    as_json: Json = False,
) -> None:
    """Random walks on a graph: PageRank, corpora, SimRank, communities, recommendations."""
    said = {name: value for name, value in locals().items() if name in SETTINGS and value is not None}
    place = out or Path("results") / f"walk-{app}"
    with told(as_json), _flags(), View(show.err) as view:
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
            directed=directed or None,
            top=top,
            seed=seed,
            threads=threads,
            servers=servers,
            cluster=cluster,
            partition=partition,
            settings=_settings(said, servers is not None or cluster is not None),
            changes=changes,
            metrics=metrics,
            force=force,
            watch=view,
        )
    if result.given_up and not as_json:
        show.err.print(_lost(result), soft_wrap=True, highlight=False)
    _show(result, as_json)
    for each in [] if as_json else result.unwritten:
        show.err.print(f"[red]{escape(each)}[/]: the walks went on", soft_wrap=True, highlight=False)
    if result.interrupted:
        show.err.print("[yellow]Interrupted: the result holds the walks that were finished by then.[/]")
        raise typer.Exit(Exit.INTERRUPTED)
    if result.given_up:
        raise typer.Exit(Exit.INCOMPLETE)
    if result.unwritten:
        raise typer.Exit(Exit.FAILED)


def _lost(result: WalkResult) -> str:
    """What is not in a result."""
    total = result.summary["starts"] * result.summary["walks_per_start"]
    servers = result.summary["servers"]
    attempts = servers["settings"]["loss"]["attempts"]
    lost = sum(servers[name] for name in LOST) / (total + servers["additional"])
    return (
        f"[red]Incomplete:[/] {text.count(result.given_up)} of {text.count(total)} walks were given up after "
        f"{text.count(attempts)} timeouts and are not in the result. They are those that cross servers "
        f"often: what the result says of long walks is too little. {lost:.0%} of all walkers were lost: a "
        "network that loses less, fewer servers, or more --attempts help."
    )


def _settings(said: Mapping[str, Any], servers: bool) -> dict[str, Any] | None:
    """The settings that options say; nothing where they say none."""
    if not said:
        return None
    if not servers:
        first = next(iter(said))
        raise ScenarioError([Problem("it says how servers behave: it needs --servers", _flag(first))])
    kind = said.get("queue", "red")
    foreign = [name for name in said if _OF_QUEUE.get(name, kind) != kind]
    if foreign:
        raise ScenarioError(
            [Problem(f"only --queue {_OF_QUEUE[name]} has it, not {kind}", _flag(name)) for name in foreign]
        )
    settings: dict[str, Any] = {}
    for name, value in said.items():
        group, _, field = SETTINGS[name].rpartition(".")
        part = settings.setdefault(group, {}) if group else settings
        part[field] = value.split(",") if name == "window" else value
    if "queue" in settings:
        settings["queue"]["kind"] = kind
    return settings


@contextmanager
def _flags() -> Iterator[None]:
    """Problems of settings are told with the options that said them."""
    try:
        yield
    except ScenarioError as error:
        flags = {f"settings.{path}": _flag(name) for name, path in SETTINGS.items()}
        flags["settings.queue"] = "--queue"
        problems = [replace(each, path=flags.get(each.path, each.path)) for each in error.problems]
        raise ScenarioError(problems) from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
    if "servers" in result.summary:
        show.out.print(_servers(result))
        show.out.print(_network(result.summary["servers"]), highlight=False)
    done = f"{text.count(result.summary['finished'])} of " if result.interrupted or result.given_up else ""
    show.out.print(f"{kind}; {done}{text.count(total)} walks", highlight=False)
    show.place("Result", result.path)


_ROWS_MAX = 100


def _servers(result: WalkResult) -> Table:
    """A row a server: what it walked, and what it dropped."""
    # Close together, and nothing cut: figures of many millions fit 80 columns.
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title="Servers", title_justify="left")
    table.add_column("", no_wrap=True)
    for column in ("nodes", "walks", "additional", "drops", "of its own", "queue", "longest"):
        table.add_column(column, justify="right", no_wrap=" " not in column)
    queues = result.queues()
    for row in result.table("walks").head(_ROWS_MAX).iter_rows(named=True):
        drops = sum(row[name] for name in DROPS)
        figures = (row["nodes"], row["finished"], row["additional"], drops, row["drops_own"])
        mean, longest = queues.get(row["host"], (None, None))
        queue = text.NONE if mean is None else text.digits(mean)
        table.add_row(row["host"], *(text.count(figure) for figure in figures), queue, text.count(longest))
    return table


def _network(found: Mapping[str, Any]) -> str:
    parts = [
        text.time(found["seconds"] * 1e12),
        f"{text.count(found['walks_per_s'])} walks/s",
        f"{text.count(found['steps_per_cpu_s'])} steps per CPU second",
        f"datagrams {found['datagrams'] or text.NONE}",
    ]
    parts += [text.plural(found["restarts"], "restart")] if found["restarts"] else []
    return "Servers: " + ", ".join(parts)
