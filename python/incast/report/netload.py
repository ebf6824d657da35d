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
    shared: dict[tuple[tuple[str, ...], ...], tuple[Graph, dict[int, Run]]] = {}
    for position, run in runs:
        net = graph(run.table("ports"), run.hosts)
        if net.ports:
            key = tuple(port[:3] for port in net.ports)
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
    edges = _by_edge(shown, net, run)
    loads = [_load(edge) for edge in edges.iter_rows(named=True)]
    most = max(range(len(loads)), key=lambda i: (edges["waiting"][i], loads[i][0]))
    said = loads[most][2]
    if edges["waiting"][most]:
        said = f"{text.percent(edges['waiting'][most])} of all waiting, {said}"
    return Loads(loads, most, f"{_name(shown.edges[most], net, shown)}: {said}")


def _by_edge(shown: Scheme, net: Graph, run: Run) -> pl.DataFrame:
    """What the ports of each edge have together, in the order of the edges."""
    edges = [number for number, edge in enumerate(shown.edges) for _ in edge.ports]
    names = [net.ports[i].name for edge in shown.edges for i in edge.ports]
    ports = pl.DataFrame({"edge": edges, "port": names})
    for known in (run.table("ports"), waiting_by_port(run).select("port", "share")):
        ports = ports.cast({"port": known.schema["port"]}).join(
            known, on="port", how="left", maintain_order="left"
        )
    busy = pl.col("utilisation").fill_null(0.0)
    return ports.group_by("edge", maintain_order=True).agg(
        ports=pl.len(),
        busiest=pl.col("port").get(busy.arg_max()),
        busy=busy.max(),
        mean=busy.mean(),
        queue=pl.col("queue_max_bytes").max().fill_null(0),
        wait=pl.col("wait_p99_ps").max().fill_null(0),
        dropped=pl.sum_horizontal(list(DROPS)).sum(),
        marks=pl.col("marks").sum(),
        waiting=pl.col("share").sum(),
    )


def _load(edge: dict[str, Any]) -> Load:
    words = [f"{text.percent(edge['busy'])} busy"]
    if edge["ports"] > 1:
        busiest = f"busiest {text.percent(edge['busy'])} ({edge['busiest']})"
        words = [f"{busiest}, mean {text.percent(edge['mean'])}"]
    words += [f"queue up to {text.size(edge['queue'])}"] if edge["queue"] else []
    words += [f"99 % waited at most {text.time(edge['wait'])}"] if edge["wait"] else []
    for column, word in (("dropped", "dropped"), ("marks", "marked")):
        words += [f"{text.count(edge[column])} {word}"] if edge[column] else []
    return round(edge["busy"], 4), edge["dropped"], ", ".join(words)
