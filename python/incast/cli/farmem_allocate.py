"""`incast farmem allocate`: which program gets the memory of which node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import show
from incast.cli.common import Json, in_seconds, told
from incast.farmem.allocate import Allocation
from incast.farmem.allocate import allocate as find
from incast.farmem.distance import format_length, reach
from incast.farmem.instance import Instance
from incast.farmem.problem import read


def allocate(
    problem: Annotated[
        Path, typer.Argument(metavar="PROBLEM", help="Programs and memory nodes at distances: YAML.")
    ],
    seconds: Annotated[str, typer.Option(metavar="TIME", help="Search time; default: 20s.")] = "20s",
    as_json: Json = False,
) -> None:
    """Allocate remote memory: assign each program to a node with the least total loss."""
    with told(as_json):
        search_s = in_seconds(seconds, "--seconds", "0.1s", "24h")
        instance = read(problem)
        found = find(instance, search_s)
    if as_json:
        show.print_json(_plain(instance, found))
        return
    show.out.print(_programs(instance, found[0]))
    show.out.print(_nodes(instance, found[0]))
    show.out.print(_methods(found))


def _row(instance: Instance, i: int, j: int) -> dict[str, Any]:
    """A program at its node, in base units."""
    task, place = instance.tasks[i], instance.places[j]
    within = None if task.latency is None else reach(task.latency, instance.fixed)
    return {
        "program": task.name,
        "node": place.name,
        "memory_bytes": task.memory,
        "distance_m": place.distances[task.at] / 1e3,
        "latency_ps": place.latencies[task.at],
        "latency_limit_ps": task.latency,
        "reach_m": None if within is None else within / 1e3,
        "degradation": float(instance.degradation[i, j]),
        "degradation_limit": task.degradation,
        "load_bps": float(instance.load[i, j]),
        "sensitivity": float(instance.sensitivity[i]),
    }


def _chosen(instance: Instance, best: Allocation) -> list[dict[str, Any]]:
    return [_row(instance, i, j) for i, j in enumerate(best.places) if j is not None]


def _table(title: str, *heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left", no_wrap=number > 0)
    return table


def _programs(instance: Instance, best: Allocation) -> Table:
    """A row a program."""
    table = _table("Programs", "program", "a µs costs", "node", "distance", "latency", "at most", "slower by")
    for row in _chosen(instance, best):
        table.add_row(
            escape(row["program"]),
            text.percent(row["sensitivity"]),
            escape(row["node"]),
            format_length(round(row["distance_m"] * 1e3)),
            text.time(row["latency_ps"]),
            _limit(row),
            text.percent(row["degradation"]),
        )
    if any(row["reach_m"] is not None for row in _chosen(instance, best)):
        table.caption = "at most: a request's latency, and how far that reaches without switches"
        table.caption_justify = "left"
    return table


def _limit(row: dict[str, Any]) -> str:
    if row["reach_m"] is None:
        return ""
    return f"{text.time(row['latency_limit_ps'])}, {format_length(round(row['reach_m'] * 1e3))}"


def _nodes(instance: Instance, best: Allocation) -> Table:
    """A row a node: how full it is."""
    table = _table("Nodes", "node", "programs", "memory", "of it used", "link for them", "of it used")
    for j, place in enumerate(instance.places):
        here = [i for i, chosen in enumerate(best.places) if chosen == j]
        table.add_row(
            escape(place.name),
            text.count(len(here)),
            text.size(place.memory),
            text.percent(sum(instance.tasks[i].memory for i in here) / place.memory),
            text.rate(place.rate),
            text.percent(sum(float(instance.load[i, j]) for i in here) / place.rate),
        )
    return table


def _methods(found: list[Allocation]) -> Table:
    """A row a method: what all lose together."""
    best = found[0]
    table = _table("Methods", "method", "all lose", "above the best", "at other nodes")
    for each in found:
        above = each.total / best.total - 1 if each.total is not None and best.total else None
        others = sum(here != there for here, there in zip(each.places, best.places, strict=True))
        table.add_row(
            each.method,
            "not all have a node" if each.total is None else text.percent(each.total),
            "" if above is None or each is best else text.percent(above),
            "" if each is best else text.plural(others, "program"),
        )
    if best.bound is not None and best.gap is not None:
        table.caption = (
            f"proved: no way loses less than {text.percent(best.bound)} (gap {text.percent(best.gap)})"
        )
        table.caption_justify = "left"
    return table


def _plain(instance: Instance, found: list[Allocation]) -> dict[str, Any]:
    methods = [
        {
            "method": each.method,
            "sum": each.total,
            "bound": each.bound,
            "gap": each.gap,
            "nodes": [None if j is None else instance.places[j].name for j in each.places],
        }
        for each in found
    ]
    return {"programs": _chosen(instance, found[0]), "methods": methods}
