"""The topology section: one drawing for all runs that share a topology, each run's load on it."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from incast import text
from incast.report.foreground import DROPS, waiting_by_port
from incast.report.graph import Graph, graph
from incast.report.run import Run
from incast.report.scheme import Edge, Scheme, scheme
from incast.report.topology import picture

WIDTHS = (350, 640, 940)
"""Widths for which a network is laid out: on a phone or next to the choices, on paper, on a whole screen."""
STEPS = (0.01, 0.1, 0.3, 0.6, 0.85)
"""Bounds of the colours `u0` to `u5`: `STEPS` of `network.js`."""

Load = tuple[float, int, str]
"""Share of the time busy, packets dropped, and what to say of a link."""


@dataclass(frozen=True)
class Loads:
    """What a run put on the links of a drawing."""

    loads: list[Load]
    """Of each link."""
    hottest: int
    """The link where data waited longest, else the busiest."""
    told: str
    """What to say of it."""


@dataclass(frozen=True)
class Drawing:
    """A topology's pictures, its links' names, and what each run put on them."""

    pictures: list[dict[str, Any]]
    """One for each of `WIDTHS`; an edge's only subject is its position among the links."""
    links: list[str]
    runs: dict[int, Loads]
    """By the run's position; the first is drawn at first."""
    title: str
    grouped: bool

    @property
    def told(self) -> str:
        """What to say of the hottest link of the run that is drawn at first."""
        return next(iter(self.runs.values())).told

    @property
    def tiled(self) -> bool:
        """Whether hosts are tiles in some picture."""
        return any(each["tiled"] for each in self.pictures)

    @property
    def dropped(self) -> bool:
        """Whether a link of some run dropped packets."""
        return any(dropped for run in self.runs.values() for _, dropped, _ in run.loads)

    def data(self) -> dict[str, Any]:
        """What the page draws from."""
        runs = {number: vars(each) for number, each in self.runs.items()}
        return {"title": self.title, "pictures": self.pictures, "links": self.links, "runs": runs}


def drawings(runs: list[tuple[int, Run]]) -> list[Drawing]:
    """One drawing a topology, in the order of `runs`; the first run's load is drawn."""
    shared: dict[tuple[str, ...], tuple[Graph, dict[int, Run]]] = {}
    for position, run in runs:
        net = graph(run.table("ports"), run.hosts)
        if net.ports:
            key = tuple(f"{p.name}\n{p.node}\n{p.peer}" for p in net.ports)
            shared.setdefault(key, (net, {}))[1][position] = run
    return [_drawing(net, members) for net, members in shared.values()]


def _drawing(net: Graph, members: dict[int, Run]) -> Drawing:
    shown = scheme(net)
    numbered = (replace(edge, ports=(number,)) for number, edge in enumerate(shown.edges))
    drawn = replace(shown, edges=tuple(numbered))
    hosts = sum(1 for tier in net.tiers.values() if tier == 0)
    return Drawing(
        [picture(drawn, width) for width in WIDTHS],
        [_name(edge, net, shown) for edge in shown.edges],
        {position: _of_run(shown, net, run) for position, run in members.items()},
        f"{text.plural(hosts, 'host')}, {text.plural(len(net.tiers) - hosts, 'switch', 'switches')}, "
        f"{text.plural(len(net.ports) / 2, 'link')}",
        shown.grouped,
    )


def _name(edge: Edge, net: Graph, shown: Scheme) -> str:
    if len(edge.ports) == 1:
        port = net.ports[edge.ports[0]]
        return f"{port.node} → {port.peer}, {text.rate(port.rate_bps)}"
    labels = {n.key: n.label for n in shown.nodes}
    return f"{labels[edge.source]} → {labels[edge.target]}, {len(edge.ports)} × {text.rate(edge.rate_bps)}"


def _of_run(shown: Scheme, net: Graph, run: Run) -> Loads:
    loads = _loads(shown, net, run)
    waiting = {row["port"]: row["share"] for row in waiting_by_port(run).iter_rows(named=True)}
    shares = [sum(waiting.get(net.ports[i].name, 0.0) for i in edge.ports) for edge in shown.edges]
    most = max(range(len(shares)), key=lambda i: (shares[i], loads[i][0]))
    said = loads[most][2]
    if shares[most]:
        said = f"{text.percent(shares[most])} of all waiting, {said}"
    return Loads(loads, most, f"{_name(shown.edges[most], net, shown)}: {said}")


def _loads(shown: Scheme, net: Graph, run: Run) -> list[Load]:
    ports = run.table("ports").select(
        "port",
        pl.col("utilisation").fill_null(0.0),
        pl.col("queue_max_bytes", "marks").fill_null(0),
        pl.sum_horizontal(list(DROPS)).alias("dropped"),
        "wait_p99_ps",
    )
    rows = {row["port"]: row for row in ports.iter_rows(named=True)}
    return [_load([rows[net.ports[i].name] for i in edge.ports]) for edge in shown.edges]


def _load(rows: list[dict[str, Any]]) -> Load:
    busiest = max(rows, key=lambda r: r["utilisation"] or 0)
    busy = busiest["utilisation"] or 0.0
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
    return round(busy, 4), sum(r["dropped"] or 0 for r in rows), ", ".join(words)
