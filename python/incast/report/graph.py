"""The network's nodes and links, from `graph.json` or, without it, from the ports table."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from incast.report.run import Run
from incast.text import natural_key


@dataclass(frozen=True)
class Port:
    """One direction of a link, named as in the tables."""

    name: str
    node: str
    peer: str
    rate_bps: int


@dataclass(frozen=True)
class Graph:
    """Nodes with their tier (0: hosts, 1: switches with hosts, …) and the ports between them."""

    tiers: dict[str, int]
    ports: tuple[Port, ...]
    neighbours: dict[str, tuple[str, ...]]

    @property
    def top(self) -> int:
        """The highest tier."""
        return max(self.tiers.values(), default=0)


def hosts(run: Run) -> frozenset[str]:
    """Names of the nodes that are hosts."""
    listed = run.graph.get("nodes") or _topology(run).get("nodes")
    if isinstance(listed, list):
        named = [n for n in listed if isinstance(n, dict) and n.get("kind") == "host"]
        if named:
            return frozenset(str(n.get("name")) for n in named)
    ports = run.table("ports")
    by_kind = ports.filter(pl.col("kind") == "host")["node"].to_list()
    flows = run.table("flows")
    return frozenset(by_kind or flows["from"].to_list() + flows["to"].to_list()) - {None}


def graph(run: Run) -> Graph:
    """The run's topology, in natural order of names."""
    table = run.table("ports").drop_nulls(["port", "node", "peer"])
    ports = sorted(
        (
            Port(name, node, peer, rate or 0)
            for name, node, peer, rate in table.select("port", "node", "peer", "rate_bps").iter_rows()
        ),
        key=lambda p: natural_key(p.name),
    )
    near: dict[str, set[str]] = {}
    for port in ports:
        near.setdefault(port.node, set()).add(port.peer)
        near.setdefault(port.peer, set()).add(port.node)
    place = {node: number for number, node in enumerate(sorted(near, key=natural_key))}
    neighbours = {node: tuple(sorted(near[node], key=place.__getitem__)) for node in place}
    return Graph(_tiers(neighbours, hosts(run)), tuple(ports), neighbours)


def _topology(run: Run) -> dict[str, Any]:
    topology = run.scenario.get("topology")
    return topology if isinstance(topology, dict) else {}


def _tiers(neighbours: dict[str, tuple[str, ...]], ends: frozenset[str]) -> dict[str, int]:
    """A node's distance from the nearest host; without hosts, all are of tier 1."""
    tiers = {node: 0 for node in neighbours if node in ends}
    wave = list(tiers)
    while wave:
        wave = list(dict.fromkeys(n for node in wave for n in neighbours[node] if n not in tiers))
        for node in wave:
            tiers[node] = 1 + min(tiers[n] for n in neighbours[node] if n in tiers)
    return {node: tiers.get(node, 1) for node in neighbours}
