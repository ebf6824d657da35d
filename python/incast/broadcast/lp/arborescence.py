"""The cheapest tree from a root to all other nodes of a directed graph.

Chu and Liu (1965), Edmonds (1967): each node takes its cheapest way in; a circle of these becomes one node,
at whose ways in the one that it replaces is taken off, until there are no circles. For dense graphs, as
arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def arborescence(cost: Floats, root: int = 0) -> Ints:
    """The parent of each node in the cheapest tree; the root is its own. All must be reachable from it."""
    parent = _cheapest(cost, root)
    circle = _circle(parent, root)
    if circle is None:
        return parent
    inside = np.zeros(len(cost), dtype=bool)
    inside[circle] = True
    outside = np.flatnonzero(~inside)
    way_in = cost[np.ix_(outside, circle)] - cost[parent[circle], circle]
    way_out = cost[np.ix_(circle, outside)]
    size = len(outside)
    smaller = np.full((size + 1, size + 1), np.inf)
    smaller[:size, :size] = cost[np.ix_(outside, outside)]
    smaller[:size, size] = way_in.min(axis=1)
    smaller[size, :size] = way_out.min(axis=0)
    found = arborescence(smaller, int(np.flatnonzero(outside == root)[0]))
    for position, node in enumerate(outside):
        above = int(found[position])
        parent[node] = outside[above] if above < size else circle[int(way_out[:, position].argmin())]
    entered = int(found[size])
    parent[circle[int(way_in[entered].argmin())]] = outside[entered]
    return parent


def _cheapest(cost: Floats, root: int) -> Ints:
    """Each node's cheapest way in."""
    parent: Ints = cost.argmin(axis=0)
    parent[root] = root
    return parent


def _circle(parent: Ints, root: int) -> Ints | None:
    """Nodes that are each other's parents in a circle, if there are any."""
    seen = np.full(len(parent), -1, dtype=np.int64)
    seen[root] = root
    for start in range(len(parent)):
        node = start
        while seen[node] < 0:
            seen[node] = start
            node = int(parent[node])
        if seen[node] == start and start != root:
            circle = [node]
            while (node := int(parent[circle[-1]])) != circle[0]:
                circle.append(node)
            return np.array(circle, dtype=np.int64)
    return None
