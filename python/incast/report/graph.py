"""The network's nodes and links, from the ports table."""

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from incast.text import natural_key


class Port(NamedTuple):
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


def graph(table: pl.DataFrame, hosts: frozenset[str]) -> Graph:
    """The topology of a run with that table of ports, in natural order of names."""
    known = table.drop_nulls(["port", "node", "peer"])
    rows = known.select("port", "node", "peer", pl.col("rate_bps").fill_null(0)).iter_rows()
    ports = [Port(*row) for row in rows]
    near: dict[str, set[str]] = {}
    for port in ports:
        near.setdefault(port.node, set()).add(port.peer)
        near.setdefault(port.peer, set()).add(port.node)
    place = {node: number for number, node in enumerate(sorted(near, key=natural_key))}
    # Parallel links have numbers in their names.
    ports.sort(key=lambda p: (place[p.node], place[p.peer], len(p.name), p.name))
    neighbours = {node: tuple(sorted(near[node], key=place.__getitem__)) for node in place}
    return Graph(_tiers(neighbours, hosts), tuple(ports), neighbours)


def _tiers(neighbours: dict[str, tuple[str, ...]], ends: frozenset[str]) -> dict[str, int]:
    """A node's distance from the nearest host; without hosts, all are of tier 1."""
    tiers = {node: 0 for node in neighbours if node in ends}
    wave = list(tiers)
    while wave:
        wave = list(dict.fromkeys(n for node in wave for n in neighbours[node] if n not in tiers))
        for node in wave:
            tiers[node] = 1 + min(tiers[n] for n in neighbours[node] if n in tiers)
    return {node: tiers.get(node, 1) for node in neighbours}
