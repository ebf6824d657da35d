"""What is drawn of a topology: every node and port of a small one, groups of them of a large one."""

from collections import Counter
from dataclasses import dataclass

from incast import text
from incast.report.graph import Graph

NODES_MAX = 200
"""Larger topologies are drawn in groups."""


@dataclass(frozen=True)
class Node:
    """A node, or a group of nodes of one tier."""

    key: str
    label: str
    tier: int
    count: int


@dataclass(frozen=True)
class Edge:
    """One direction of a link, or of all links between two groups."""

    source: str
    target: str
    ports: tuple[int, ...]
    """Positions in the graph's ports."""
    rate_bps: int
    lane: int
    """Which of several parallel links, from 0."""
    lanes: int


@dataclass(frozen=True)
class Scheme:
    """Nodes and edges to draw."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    grouped: bool


def scheme(graph: Graph, nodes_max: int = NODES_MAX) -> Scheme:
    """All nodes if they are at most `nodes_max`; else a group a tier and pod; else a group a tier."""
    if len(graph.tiers) <= nodes_max:
        nodes = tuple(Node(name, name, tier, 1) for name, tier in graph.tiers.items())
        return Scheme(nodes, _links(graph), grouped=False)
    pods = _pods(graph)
    groups = {node: f"{tier}/{pods[node]}" for node, tier in graph.tiers.items()}
    if len(set(groups.values())) > nodes_max:
        groups = {node: str(tier) for node, tier in graph.tiers.items()}
    return Scheme(_group_nodes(graph, groups), _group_links(graph, groups), grouped=True)


def _links(graph: Graph) -> tuple[Edge, ...]:
    lanes = Counter((p.node, p.peer) for p in graph.ports)
    used: Counter[tuple[str, str]] = Counter()
    edges = []
    for index, port in enumerate(graph.ports):
        ends = (port.node, port.peer)
        edges.append(Edge(*ends, (index,), port.rate_bps, used[ends], lanes[ends]))
        used[ends] += 1
    return tuple(edges)


def _pods(graph: Graph) -> dict[str, str]:
    """The part that a node belongs to once the top tier is taken away; the top tier is its own."""
    below = graph.top if graph.top >= 2 else graph.top + 1
    pods: dict[str, str] = {n: "top" for n, tier in graph.tiers.items() if tier >= below}
    for first in graph.tiers:
        wave = [first] if first not in pods else []
        while wave:
            pods.update(dict.fromkeys(wave, first))
            wave = list({m: None for n in wave for m in graph.neighbours[n] if m not in pods})
    return pods


def _group_nodes(graph: Graph, groups: dict[str, str]) -> tuple[Node, ...]:
    members: dict[str, list[str]] = {}
    for node, group in groups.items():
        members.setdefault(group, []).append(node)
    return tuple(_group(key, names, graph.tiers[names[0]]) for key, names in members.items())


def _group(key: str, names: list[str], tier: int) -> Node:
    label = names[0] if len(names) == 1 else f"{text.count(len(names))} {'switches' if tier else 'hosts'}"
    return Node(key, label, tier, len(names))


def _group_links(graph: Graph, groups: dict[str, str]) -> tuple[Edge, ...]:
    bundles: dict[tuple[str, str], list[int]] = {}
    for index, port in enumerate(graph.ports):
        bundles.setdefault((groups[port.node], groups[port.peer]), []).append(index)
    return tuple(
        Edge(*ends, tuple(ports), max(graph.ports[i].rate_bps for i in ports), 0, 1)
        for ends, ports in bundles.items()
    )
