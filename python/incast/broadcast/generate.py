"""Topologies like those of the document on stable broadcast, drawn from a seed.

The document simulates "a real topology" that it does not give, with eight distributions of bandwidth (slides
26 to 29, 40): uniform from 500 to 1000 or from 100 to 1000, 100 or 1000 mixed, and uniform from 100 to 1000
between switches with 1000 to hosts; each with the same and with different bandwidth in the two directions.
Its machines are four clusters with links from 10 Mbit/s to 1 Gbit/s (slide 30). Bandwidths are in Mbit/s.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Literal

from incast.broadcast.topology import Link, Node, Topology

Shape = Literal["clusters", "tree", "mesh", "star"]
"""Four clusters of switches with hosts; a random tree; a tree with more links between them; one switch."""

Bandwidth = Literal["uniform-500", "uniform-100", "mixed", "switches", "machines", "equal"]
"""From where bandwidths are drawn."""

_MBPS = 1_000_000
_CLUSTERS = 4
_HOSTS_A_SWITCH = 10
_MORE_LINKS = 0.5
"""Links of a mesh beyond its tree, by its switches."""

_DRAWN: dict[str, Callable[[Random, bool], int]] = {
    "uniform-500": lambda random, _: random.randint(500, 1000),
    "uniform-100": lambda random, _: random.randint(100, 1000),
    "mixed": lambda random, _: random.choice((100, 1000)),
    "switches": lambda random, between: random.randint(100, 1000) if between else 1000,
    "machines": lambda random, _: random.choice((10, 100, 1000)),
    "equal": lambda _, __: 1000,
}


def generate(shape: Shape, hosts: int, bandwidth: Bandwidth, seed: int, *, same: bool = True) -> Topology:
    """A topology with so many hosts `host0`…; with `same`, links have one bandwidth for both directions."""
    random = Random(f"{shape}/{hosts}/{seed}")
    pairs = _PAIRS[shape](hosts, random)
    switches = dict.fromkeys(end for pair in pairs for end in pair if end.startswith("switch"))
    nodes = [Node(f"host{n}", "host") for n in range(hosts)] + [Node(name, "switch") for name in switches]
    return Topology(tuple(nodes), tuple(_link(pair, bandwidth, random, same) for pair in pairs))


def _link(pair: tuple[str, str], bandwidth: Bandwidth, random: Random, same: bool) -> Link:
    between = all(end.startswith("switch") for end in pair)
    there = _DRAWN[bandwidth](random, between)
    back = there if same else _DRAWN[bandwidth](random, between)
    return Link(*pair, there * _MBPS, back * _MBPS)


def _star(hosts: int, _: Random) -> list[tuple[str, str]]:
    return [("switch0", f"host{n}") for n in range(hosts)]


def _tree(hosts: int, random: Random) -> list[tuple[str, str]]:
    """Each switch hangs on one before it, each host on any switch."""
    switches = max(2, hosts // 4)
    between = [(f"switch{random.randrange(n)}", f"switch{n}") for n in range(1, switches)]
    return between + [(f"switch{random.randrange(switches)}", f"host{n}") for n in range(hosts)]


def _mesh(hosts: int, random: Random) -> list[tuple[str, str]]:
    pairs = _tree(hosts, random)
    switches = max(2, hosts // 4)
    known = {frozenset(pair) for pair in pairs}
    for _ in range(round(switches * _MORE_LINKS)):
        a, b = (f"switch{n}" for n in random.sample(range(switches), 2))
        if frozenset((a, b)) not in known:
            known.add(frozenset((a, b)))
            pairs.append((a, b))
    return pairs


def _clusters(hosts: int, random: Random) -> list[tuple[str, str]]:
    """A core switch a cluster with edge switches below it; the cores are a chain in random order."""
    order = random.sample(range(_CLUSTERS), _CLUSTERS)
    pairs = [(f"switch{a}", f"switch{b}") for a, b in pairwise(order)]
    count = _CLUSTERS
    for cluster in range(_CLUSTERS):
        inside = range(cluster, hosts, _CLUSTERS)
        edges = range(count, count + max(1, -(-len(inside) // _HOSTS_A_SWITCH)))
        count = edges.stop
        pairs += [(f"switch{cluster}", f"switch{edge}") for edge in edges]
        pairs += [(f"switch{edges[n % len(edges)]}", f"host{host}") for n, host in enumerate(inside)]
    return pairs


_PAIRS: dict[str, Callable[[int, Random], list[tuple[str, str]]]] = {
    "clusters": _clusters,
    "tree": _tree,
    "mesh": _mesh,
    "star": _star,
}
