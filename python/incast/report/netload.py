"""The topology section: one drawing for all runs that share a topology, each run's load on it."""

from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from incast import text
from incast.report.foreground import DROPS, waiting_by_port
from incast.report.graph import Graph, graph
from incast.report.run import Run
from incast.report.scheme import Edge, Scheme, scheme
from incast.report.topology import draw, layout

WIDE, NARROW = 940, 350
STEPS = (0.01, 0.1, 0.3, 0.6, 0.85)
"""Bounds of the load classes `u0` to `u5`."""


@dataclass(frozen=True)
class Drawing:
    """A topology's two pictures, its links' names, and for each run the load of each link."""

    wide: Markup
    narrow: Markup
    names: list[str]
    loads: dict[int, list[str]]
    """By the run's position: `class;figures`, one a link."""
    hottest: dict[int, tuple[int, str]]
    """By the run's position: the link where data waited longest, else the busiest, and what to say of it."""
    told: str
    """What to say of the hottest link of the run that is drawn at first."""
    title: str
    grouped: bool
    tiled: bool


def drawings(runs: list[tuple[int, Run]]) -> list[Drawing]:
    """One drawing a topology, in the order of `runs`; the first run's load is drawn."""
    shared: dict[tuple[str, ...], tuple[Graph, dict[int, Run]]] = {}
    for position, run in runs:
        net = graph(run)
        if net.ports:
            key = tuple(f"{p.name}\n{p.node}\n{p.peer}" for p in net.ports)
            shared.setdefault(key, (net, {}))[1][position] = run
    return [_drawing(net, members) for net, members in shared.values()]


def _drawing(net: Graph, members: dict[int, Run]) -> Drawing:
    plan = scheme(net)
    loads = {position: _loads(plan, net, run) for position, run in members.items()}
    position, run = next(iter(members.items()))
    hot, said = _hottest(plan, net, run, loads[position])
    first = [f"u{load[0]}{' hot' if i == hot else ''}" for i, load in enumerate(loads[position])]
    hosts = sum(1 for tier in net.tiers.values() if tier == 0)
    title = (
        f"{text.plural(hosts, 'host')}, {text.plural(len(net.tiers) - hosts, 'switch', 'switches')}, "
        f"{text.plural(len(net.ports) / 2, 'link')}"
    )
    label = f"Topology with link load: {title}. The tables of hottest ports have the figures."
    return Drawing(
        draw(plan, WIDE, first, label),
        draw(plan, NARROW, first, label),
        [_name(edge, net, plan) for edge in plan.edges],
        loads,
        {position: _hottest(plan, net, run, loads[position]) for position, run in members.items()},
        said,
        title,
        plan.grouped,
        layout(plan, WIDE).tiled or layout(plan, NARROW).tiled,
    )


def _name(edge: Edge, net: Graph, plan: Scheme) -> str:
    if len(edge.ports) == 1:
        port = net.ports[edge.ports[0]]
        return f"{port.node} → {port.peer}, {text.rate(port.rate_bps)}"
    labels = {n.key: n.label for n in plan.nodes}
    return f"{labels[edge.source]} → {labels[edge.target]}, {len(edge.ports)} × {text.rate(edge.rate_bps)}"


def _hottest(plan: Scheme, net: Graph, run: Run, loads: list[str]) -> tuple[int, str]:
    waiting = {row["port"]: row["share"] for row in waiting_by_port(run).iter_rows(named=True)}
    shares = [sum(waiting.get(net.ports[i].name, 0.0) for i in edge.ports) for edge in plan.edges]
    most = max(range(len(shares)), key=lambda i: (shares[i], int(loads[i].split(";")[0])))
    said = loads[most].split(";", 1)[1]
    if shares[most]:
        said = f"{text.percent(shares[most])} of all waiting, {said}"
    return most, f"{_name(plan.edges[most], net, plan)}: {said}"


def _loads(plan: Scheme, net: Graph, run: Run) -> list[str]:
    ports = run.table("ports").select(
        "port",
        pl.col("utilisation").fill_null(0.0),
        pl.col("queue_max_bytes", "marks").fill_null(0),
        pl.sum_horizontal(list(DROPS)).alias("dropped"),
        "wait_p99_ps",
    )
    rows = {row["port"]: row for row in ports.iter_rows(named=True)}
    return [_load([rows[net.ports[i].name] for i in edge.ports]) for edge in plan.edges]


def _load(rows: list[dict[str, float | None]]) -> str:
    busiest = max(rows, key=lambda r: r["utilisation"] or 0)
    busy = busiest["utilisation"] or 0.0
    step = sum(busy >= bound for bound in STEPS)
    words = [f"{text.percent(busy)} busy"]
    if len(rows) > 1:
        mean = sum(r["utilisation"] or 0 for r in rows) / len(rows)
        words = [f"busiest {text.percent(busy)} ({busiest['port']}), mean {text.percent(mean)}"]
    queue = max(r["queue_max_bytes"] or 0 for r in rows)
    wait = max(r["wait_p99_ps"] or 0 for r in rows)
    words += [f"queue up to {text.size(queue)}"] if queue else []
    words += [f"99 % waited at most {text.time(wait)}"] if wait else []
    for column, word in (("dropped", "dropped"), ("marks", "marked")):
        total = sum(r[column] or 0 for r in rows)
        words += [f"{text.count(total)} {word}"] if total else []
    return f"{step};{', '.join(words)}"
