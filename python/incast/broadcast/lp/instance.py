"""A topology, a source and destinations as arrays: what the linear programs and their trees are made of.

A hop from one member (source or destination) to another is a path on which no other member lies: a member
that data passes takes and relays it. Loads count each hop that crosses a link, so a tree may load a link more
than once. A host whose cap limits what it sends and receives together is a resource like a link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from incast.broadcast.topology import Topology

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
_SHORTER = 1e-9
"""Added to each link's length, so that of paths that cost the same the one with fewer links is taken."""


@dataclass(frozen=True)
class Tree:
    """A tree: the parent of each member in it but the source, and the path from there."""

    parent: Mapping[int, int]
    """Members by their numbers; the source is 0."""
    paths: Mapping[int, tuple[int, ...]]
    """The nodes of the path to each member, its parent first."""

    @property
    def key(self) -> tuple[tuple[int, ...], ...]:
        """Equal for trees that load the same links and reach the same members."""
        return tuple(self.paths[member] for member in sorted(self.paths))

    @property
    def outwards(self) -> list[int]:
        """Its members but the source, each after its parent."""
        return outwards(self.parent)


def outwards(parent: Mapping[int, int]) -> list[int]:
    """The members of a tree with these parents but the source, each after its parent."""
    children: dict[int, list[int]] = {}
    for child, above in parent.items():
        children.setdefault(above, []).append(child)
    order: list[int] = []
    wave = children.get(0, [])
    while wave:
        order += wave
        wave = [child for member in wave for child in children.get(member, ())]
    return order


class Instance:
    """A broadcast on a topology."""

    def __init__(self, topology: Topology, source: str, destinations: Sequence[str]) -> None:
        self.names = [node.id for node in topology.nodes]
        number = {name: n for n, name in enumerate(self.names)}
        self.members = [number[name] for name in (source, *destinations)]
        """The source, then the destinations: a member's number is its position."""
        self.member_of = {node: member for member, node in enumerate(self.members)}
        self.arc_of = {(number[a], number[b]): n for n, (a, b) in enumerate(topology.arcs)}
        rates = list(topology.arcs.values())
        caps = {number[node.id]: node.cap for node in topology.nodes if node.cap is not None}
        self.cap_row = {host: len(rates) + n for n, host in enumerate(caps)}
        self.limits = [*rates, *caps.values()]
        """What each resource carries, in bit/s: directed links, then hosts with a cap."""
        self.scale = max(self.limits)
        self.tails: Ints = np.array([a for a, _ in self.arc_of], dtype=np.int64)
        self.heads: Ints = np.array([b for _, b in self.arc_of], dtype=np.int64)

    @property
    def count(self) -> int:
        """How many members there are."""
        return len(self.members)

    @cached_property
    def capacity(self) -> Floats:
        """The limits as parts of the largest."""
        return np.array(self.limits, dtype=np.float64) / self.scale

    @cached_property
    def _split(self) -> tuple[Ints, Ints]:
        """Ends of links where members are two nodes: data ends at the first and starts at the second."""
        second = {node: len(self.names) + member for node, member in self.member_of.items()}
        tails = np.array([second.get(int(a), int(a)) for a in self.tails], dtype=np.int64)
        return tails, self.heads

    def lengths(self, prices: Floats) -> Floats:
        """The price of each directed link, with those of the caps of the hosts at its ends."""
        arcs = len(self.arc_of)
        found = prices[:arcs].copy()
        for host, row in self.cap_row.items():
            found[(self.tails == host) | (self.heads == host)] += prices[row]
        return found

    def nearest(self, lengths: Floats) -> tuple[Floats, Ints]:
        """The length of the shortest hop from each member to each other, and the way back along it."""
        size = len(self.names) + self.count
        graph = csr_array((np.maximum(lengths, 0) + _SHORTER, self._split), shape=(size, size))
        starts = [len(self.names) + member for member in range(self.count)]
        far, before = dijkstra(graph, indices=starts, return_predecessors=True)
        between = far[:, self.members]
        np.fill_diagonal(between, np.inf)
        return between, before

    def path(self, before: Ints, parent: int, child: int) -> tuple[int, ...]:
        """The nodes from one member to another, by what `nearest` said."""
        way = [self.members[child]]
        start = len(self.names) + parent
        while (node := int(before[parent, way[-1]])) != start:
            way.append(node)
        return (self.members[parent], *reversed(way))

    def tree(self, parent: Mapping[int, int], before: Ints) -> Tree:
        """The tree with these parents, each hop along its shortest path."""
        return Tree(dict(parent), {child: self.path(before, above, child) for child, above in parent.items()})

    def crossed(self, tree: Tree) -> Counter[int]:
        """How many of its hops cross each directed link."""
        return Counter(self.arc_of[step] for way in tree.paths.values() for step in pairwise(way))

    def loads(self, tree: Tree) -> Counter[int]:
        """How many of its hops take each resource."""
        found = self.crossed(tree)
        if self.cap_row:
            steps = [step for way in tree.paths.values() for step in pairwise(way)]
            found.update(self.cap_row[end] for step in steps for end in step if end in self.cap_row)
        return found


def fitting(rates: Iterable[float], loads: Sequence[Mapping[int, int]], limits: Sequence[int]) -> list[int]:
    """The rates as whole numbers that exceed no limit: a solver's are right but for rounding."""
    whole = [max(0, round(rate)) for rate in rates]
    on: dict[int, list[int]] = {}
    for tree, load in enumerate(loads):
        for row in load:
            on.setdefault(row, []).append(tree)
    for row, trees in on.items():
        over = sum(whole[tree] * loads[tree][row] for tree in trees) - limits[row]
        for tree in sorted(trees, key=lambda each: -whole[each]):
            if over <= 0:
                break
            less = min(whole[tree], -(-over // loads[tree][row]))
            whole[tree] -= less
            over -= less * loads[tree][row]
    return whole
