"""A graph as walks need it: the core's arrays, and the names that its nodes have for people.

Nodes are numbered in the order of their names. Not here: reading files (`incast.walks.read`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from incast import _core
from incast.stop import aside
from incast.walks.problem import refuse

U32 = npt.NDArray[np.uint32]

NODES_MAX = 2**32 - 2
WEIGHT = "a weight is a positive number, 1e-30 to 1e+30 (leave edges of weight 0 out)"
_DENSE = 4
"""Numbers of nodes this many times further apart than there are are sorted, not counted."""


@dataclass(frozen=True)
class Graph:
    """A graph with names."""

    core: _core.WalkGraph
    names: pl.Series
    """Of node 0, 1, …: integers or text."""
    loops: int = 0
    """Nodes with an edge to themselves, which is one arc."""

    @property
    def edges(self) -> int:
        """An edge is two arcs unless it is directed, or a loop."""
        arcs = self.core.arcs()
        return arcs if self.core.directed() else (arcs + self.loops) // 2

    def named(self, numbers: Any) -> pl.Series:
        """The names of nodes."""
        return self.names.gather(pl.Series(numbers, dtype=pl.UInt32))

    def find(self, names: Sequence[Any], path: str) -> U32:
        """The numbers of nodes that people name; `path` is where they do."""
        known = pl.DataFrame({"name": self.names}).with_row_index("number")
        asked = pl.DataFrame({"name": [self._read(name, path) for name in names]}, {"name": self.names.dtype})
        found = asked.join(known, on="name", how="left", maintain_order="left")["number"]
        for name, number in zip(names, found, strict=True):
            if number is None:
                self._unknown(name, path)
        return found.to_numpy().astype(np.uint32)

    def _read(self, name: Any, path: str) -> Any:
        if not self.names.dtype.is_integer():
            return str(name)
        try:
            number = int(str(name))
        except ValueError:
            self._unknown(name, path)
        return number if -(2**63) <= number < 2**63 else self._unknown(name, path)

    def _unknown(self, name: Any, path: str) -> NoReturn:
        several = f"{len(self.names)} nodes, {self.names.min()!s} to {self.names.max()!s}"
        refuse(f"{str(name)!r} is not a node of the graph, which has {several}", path)


def possible(weights: Any) -> Any:
    """Which numbers can be weights: single precision holds them, and the sum of any row's."""
    return (weights >= 1e-30) & (weights <= 1e30)


def from_numbers(sources: Any, targets: Any, weights: Any, directed: bool) -> Graph:
    """A graph whose nodes are named by integers."""
    highest = int(max(sources.max(), targets.max())) if len(sources) else 0
    lowest = int(min(sources.min(), targets.min())) if len(sources) else 0
    if lowest >= 0 and highest < _DENSE * max(len(sources), 1024):
        there = np.zeros(highest + 1, dtype=bool)
        there[sources] = there[targets] = True
        names = np.flatnonzero(there) if len(sources) else np.empty(0, dtype=np.int64)
        if len(names) <= highest:
            number = np.cumsum(there, dtype=np.int64) - 1
            sources, targets = number[sources], number[targets]
    else:
        names, both = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        sources, targets = both[: len(sources)], both[len(sources) :]
    return build(pl.Series(names, dtype=pl.Int64), sources, targets, weights, directed)


def from_text(sources: pl.Series, targets: pl.Series, weights: Any, directed: bool) -> Graph:
    """A graph whose nodes are named by text."""
    names = pl.concat([sources.rename("name"), targets.rename("name")]).unique().sort()
    by_name = pl.Enum(names)
    ends: list[Any] = [each.cast(by_name).to_physical().to_numpy() for each in (sources, targets)]
    return build(names, ends[0], ends[1], weights, directed)


def build(names: pl.Series, sources: Any, targets: Any, weights: Any, directed: bool) -> Graph:
    """A graph from its arcs, whose weights are `possible`."""
    if len(names) > NODES_MAX:
        refuse(f"{len(names)} nodes: at most {NODES_MAX} are allowed")
    weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float32)
    ends = [np.ascontiguousarray(each, dtype=np.uint32) for each in (sources, targets)]
    core = aside(lambda: _core.WalkGraph.from_arcs(len(names), directed, ends[0], ends[1], weights))
    return Graph(core, names, len(np.unique(ends[0][ends[0] == ends[1]])))
