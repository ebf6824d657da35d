"""What no plan can exceed: a linear program over the loads of links instead of trees.

Whatever trees there are, a destination receives no more than crosses any cut around it, and a node that only
passes data on sends as much as it takes. So the highest sum (or level) of rates that loads allow under these
rules bounds all plans; it is below the sum of maximal flows where a switch would have to copy. There are too
many cuts to write down: those that a solution violates are found as minimal cuts and added, until none is.
"""

from __future__ import annotations

from collections.abc import Iterable

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from incast.broadcast.lp.instance import Floats, Instance
from incast.broadcast.lp.solver import solver
from incast.errors import RunError

_WHOLE = 1_000_000
"""Loads become whole numbers for maximal flows: this is the largest."""
_TOLERANCE = 2e-5
_ROUNDS_MAX = 200
_WISH = 1e-4
"""What a link's load counts apart from a rate."""
Sides = NDArray[np.bool_]


def highest_sum(instance: Instance) -> float:
    """What the rates of all destinations together can't exceed, as a part of the instance's scale."""
    return _Bound(instance, level=False).value


def highest_level(instance: Instance) -> float:
    """What the lowest rate can't exceed."""
    return _Bound(instance, level=True).value


class _Bound:
    """The program: a column a directed link, then one a destination, or one for all."""

    def __init__(self, instance: Instance, level: bool) -> None:
        self.instance = instance
        self.arcs = len(instance.arc_of)
        self.level = level
        self.known: set[tuple[int, bytes]] = set()
        self.solver = solver()
        none = np.array([], dtype=np.int32), np.array([], dtype=np.float64)
        for limit in instance.capacity[: self.arcs]:
            self.solver.addCol(0.0, 0.0, float(limit), 0, *none)
        for _ in range(1 if level else instance.count - 1):
            self.solver.addCol(1.0, 0.0, highspy.kHighsInf, 0, *none)
        self._pass_on()
        self._start()
        self.value = self._solve()

    def _rate(self, member: int) -> int:
        return self.arcs + (0 if self.level else member - 1)

    def _add(self, low: float, high: float, columns: Iterable[int], values: Iterable[float]) -> None:
        where, what = np.array(list(columns), dtype=np.int32), np.array(list(values), dtype=np.float64)
        self.solver.addRow(low, high, len(where), where, what)

    def _pass_on(self) -> None:
        """What comes to a node that is no member leaves it; caps hold."""
        tails, heads = self.instance.tails, self.instance.heads
        for node in range(len(self.instance.names)):
            into, out = np.flatnonzero(heads == node), np.flatnonzero(tails == node)
            if node not in self.instance.member_of:
                self._add(0.0, 0.0, [*into, *out], [1.0] * len(into) + [-1.0] * len(out))
            if node in self.instance.cap_row:
                limit = float(self.instance.capacity[self.instance.cap_row[node]])
                self._add(-highspy.kHighsInf, limit, [*into, *out], [1.0] * (len(into) + len(out)))

    def _start(self) -> None:
        """The cuts around the source and around each destination alone."""
        source = np.zeros(len(self.instance.names), dtype=bool)
        source[self.instance.members[0]] = True
        for member, node in enumerate(self.instance.members[1:], 1):
            alone = np.ones_like(source)
            alone[node] = False
            for inside in (source, alone):
                self._cut(member, inside)

    def _cut(self, member: int, inside: Sides) -> bool:
        """What goes from the source's side to the other bounds a member's rate; False where it is known."""
        key = (self._rate(member), inside.tobytes())
        if key in self.known:
            return False
        self.known.add(key)
        across = np.flatnonzero(inside[self.instance.tails] & ~inside[self.instance.heads])
        self._add(0.0, highspy.kHighsInf, [*across, self._rate(member)], [1.0] * len(across) + [-1.0])
        return True

    def _solve(self) -> float:
        """With loads as high as they can be, few cuts are violated; the bound itself is without that wish."""
        self._wish(_WISH)
        for _ in range(_ROUNDS_MAX):
            if not self._violated(self._optimum()):
                break
        self._wish(0.0)
        return float(self._optimum()[self.arcs :].sum())

    def _wish(self, cost: float) -> None:
        for arc in range(self.arcs):
            self.solver.changeColCost(arc, cost)

    def _optimum(self) -> Floats:
        self.solver.run()
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RunError("the linear program of cuts was not solved")
        return np.array(self.solver.getSolution().col_value, dtype=np.float64)

    def _violated(self, found: Floats) -> bool:
        """Adds a minimal cut of each destination with a rate above its maximal flow, if any.

        Says whether there was one.
        """
        size = len(self.instance.names)
        whole = np.floor(np.maximum(found[: self.arcs], 0) * _WHOLE).astype(np.int32)
        graph = csr_array((whole, (self.instance.tails, self.instance.heads)), shape=(size, size))
        source = self.instance.members[0]
        added = False
        for member, node in enumerate(self.instance.members[1:], 1):
            flow = maximum_flow(graph, source, node)
            if flow.flow_value / _WHOLE >= found[self._rate(member)] - _TOLERANCE:
                continue
            left = csr_array(graph - flow.flow)
            left.eliminate_zeros()
            inside = np.zeros(size, dtype=bool)
            inside[breadth_first_order(left, source, return_predecessors=False)] = True
            added |= self._cut(member, inside)
        return added
