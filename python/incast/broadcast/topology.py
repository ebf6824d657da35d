"""A topology whose links have a bandwidth each way: what a broadcast is planned on.

Hosts may relay, switches only pass on. Its JSON is that of the core (`crates/broadcast`): rates in bit/s. Not
here: how people write one (`incast.broadcast.read`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Kind = Literal["host", "switch"]


@dataclass(frozen=True)
class Node:
    """A host or a switch."""

    id: str
    kind: Kind
    cap: int | None = None
    """What a host can send and receive together, in bit/s; nothing where only its links limit it."""


@dataclass(frozen=True)
class Link:
    """A link and its bandwidth each way, in bit/s; 0 where nothing goes that way."""

    a: str
    b: str
    ab: int
    ba: int


@dataclass(frozen=True)
class Topology:
    """Nodes and the links between them."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @cached_property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return [node.id for node in self.nodes if node.kind == "host"]

    @cached_property
    def arcs(self) -> dict[tuple[str, str], int]:
        """The bandwidth from one end to the other of each direction that has some."""
        found = {(link.a, link.b): link.ab for link in self.links}
        found |= {(link.b, link.a): link.ba for link in self.links}
        return {arc: rate for arc, rate in found.items() if rate > 0}

    def reached(self, source: str) -> set[str]:
        """The nodes that data of the source can come to, itself included."""
        near: dict[str, list[str]] = {}
        for a, b in self.arcs:
            near.setdefault(a, []).append(b)
        found, wave = {source}, [source]
        while wave:
            wave = [b for b in dict.fromkeys(b for a in wave for b in near.get(a, ())) if b not in found]
            found.update(wave)
        return found

    def json(self) -> dict[str, Any]:
        """As the core reads it."""
        nodes = [
            {"id": node.id, "kind": node.kind, **({} if node.cap is None else {"cap": node.cap})}
            for node in self.nodes
        ]
        return {"nodes": nodes, "links": [vars(link) for link in self.links]}


def of_arcs(nodes: Iterable[Node], arcs: dict[tuple[str, str], int]) -> Topology:
    """The topology with these directions of links, each pair of ends one link."""
    links: dict[tuple[str, str], Link] = {}
    for (a, b), rate in arcs.items():
        if (b, a) in links:
            links[b, a] = Link(b, a, links[b, a].ab, rate)
        else:
            links[a, b] = Link(a, b, rate, 0)
    return Topology(tuple(nodes), tuple(links.values()))
