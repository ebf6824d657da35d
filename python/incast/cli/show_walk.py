"""Walks, as `incast walk` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import show
from incast.cli.exits import Exit
from incast.walks.board import DROPS, LOST
from incast.walks.result import WalkResult

_TITLES = {
    "ppr": "Personalised PageRank",
    "node2vec": "Most visited",
    "corpus": "Most visited",
    "simrank": "Most alike",
    "communities": "Communities",
    "recommend": "Recommended",
}
_ROWS_MAX = 100


def show_result(result: WalkResult, as_json: bool) -> None:
    """Shows the result, what it lacks, and ends with the exit code of that."""
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
        "network that loses less, fewer servers, or a higher loss.attempts help."
    )


def _show(result: WalkResult, as_json: bool) -> None:
    if as_json:
        show.print_json({"folder": str(result.path), **result.summary})
        return
    graph: dict[str, Any] = result.summary["graph"]
    kind = f"{text.count(graph['nodes'])} nodes, {text.count(graph['edges'])} edges"
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
