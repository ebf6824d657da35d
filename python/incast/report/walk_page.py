"""The report of `incast walk`: what came of walks, and how servers did. No new figures are computed here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from incast import text
from incast.report import html, walked, walking
from incast.report.load import load_tables
from incast.report.parts import Cell, Table, cells, more_than
from incast.report.run import Run

_TOP_MAX = 20
TITLES = {
    "ppr": "Personalised PageRank",
    "node2vec": "Walks for node2vec",
    "corpus": "A corpus of walks",
    "simrank": "SimRank",
    "communities": "Communities",
    "recommend": "Recommendations",
}


def render(folder: Path) -> str:
    """The whole page."""
    run = load_tables(folder, walking.TABLES)
    book = html.Book()
    figures = [
        book.add(figure)
        for _, (walks, series) in run.by_job(*walking.TABLES)
        for figure in walking.figures(walks, series, walking.thresholds(run, "walk"))
    ]
    notes = list(run.notes)
    if error := run.summary.get("error"):
        notes.append(f"Walks failed: {error}. What follows is of those that had finished.")
    elif run.summary.get("interrupted"):
        notes.append("Walks were interrupted: what follows is of those that had finished.")
    context = {
        "title": TITLES.get(run.summary["app"], run.summary["app"]),
        "headline": _headline(run.summary),
        "sentences": walked.sentences(run),
        "notes": notes,
        "figures": figures,
        "tables": [*walking.servers(run), _top(run), *_facts(run.summary)],
    }
    return html.page("walk_page.html.j2", context, {"charts": book.charts})


def _headline(summary: dict[str, Any]) -> str:
    graph, served = summary["graph"], summary.get("servers")
    # Results of earlier versions have no edges: what they have is wrong with loops.
    edges = graph.get("edges", graph["arcs"] if graph["directed"] else graph["arcs"] / 2)
    where = f"{text.plural(graph['nodes'], 'node')} and {text.plural(edges, 'edge')}"
    if not served:
        walks = summary["starts"] * summary["walks_per_start"]
        return f"{text.plural(walks, 'walk')} on {where}, in memory."
    took = text.time(served["seconds"] * 1e12)
    servers = text.plural(served["servers"], "server")
    return (
        f"{text.plural(served['finished'], 'walk')} on {where}, on {servers}, finished in {took}: "
        f"{text.count(served['walks_per_s'])} walks a second."
    )


def _top(run: Run) -> Table:
    """What the command shows."""
    rows = run.summary["top"]
    columns = tuple(rows[0]) if rows else ()
    shown = tuple(cells(*(_cell(value) for value in row.values())) for row in rows[:_TOP_MAX])
    more = more_than(len(rows), "row", _TOP_MAX)
    return Table("The best", columns, shown, frozenset({"start", "node", "first"}), more)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _facts(summary: dict[str, Any]) -> list[Table]:
    """What was asked for, and how servers were set."""
    served = dict(summary.get("servers") or {})
    settings = served.pop("settings", {})
    left_out = ("top", "servers", "graph")
    asked = {name: value for name, value in summary.items() if name not in left_out and value is not None}
    tables = [_pairs("What was walked", {**{f"graph.{k}": v for k, v in summary["graph"].items()}, **asked})]
    if served:
        tables += [_pairs("How servers did", served), _pairs("Settings of servers", dict(_flat(settings)))]
    return tables


def _flat(said: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in said.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _pairs(caption: str, said: dict[str, Any]) -> Table:
    rows = tuple((Cell(name.replace("_", " ")), Cell(_said(value))) for name, value in said.items())
    return Table(caption, ("Name", "Value"), rows)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return text.count(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
