"""What `incast broadcast --dry-run` shows."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.broadcast.foresee import Foreseen
from incast.cli import show


def show_foreseen(foreseen: Foreseen, measures: bool, as_json: bool) -> None:
    """Prints it; `measures`: bandwidths would be measured first."""
    if as_json:
        show.print_json({**foreseen.json(), "measures": measures})
        return
    show.out.print(_table(foreseen))
    parts = [
        text.plural(count, what)
        for count, what in (
            (foreseen.files, "file"),
            (foreseen.folders, "folder"),
            (foreseen.links, "link"),
        )
        if count
    ]
    show.out.print(f"{', '.join(parts)}; chunks of {text.size(foreseen.chunk)}", highlight=False)
    show.out.print(_plan(foreseen, measures), highlight=False, soft_wrap=True)
    show.out.print("No host was asked, and nothing was moved.", highlight=False)


def _plan(foreseen: Foreseen, measures: bool) -> str:
    if foreseen.algorithm:
        trees = text.plural(len(foreseen.trees), "tree")
        return f"Plan: {foreseen.algorithm}, {trees}; times are those of links that do nothing else"
    if measures:
        return "Bandwidths would be measured first: times are not known before (`incast broadcast measure`)"
    return "The first chunks would tell rates: times are not known before (--topology says them)"


def _table(foreseen: Foreseen) -> Table:
    title = f"Would send {text.size(foreseen.bytes)} to {text.plural(len(foreseen.receivers), 'host')}"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for column in ("", "to", "from", "rate", "time"):
        right = column in {"rate", "time"}
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for each in foreseen.receivers:
        took = text.NONE if each.seconds is None else text.time(each.seconds * 1e12)
        parents = escape(", ".join(each.parents)) or text.NONE
        table.add_row(escape(each.host), escape(each.path), parents, text.rate(each.rate_bps), took)
    return table
