"""The linear program over the trees that are known: which rate each gets.

Maximise what the destinations receive, so that no resource carries more than it can. Row by row: the load of
each resource is at most its capacity; what a destination receives is at least what is asked of it. Two aims:
the highest sum, or the highest level that all destinations of a set reach while the others keep their floors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import highspy
import numpy as np

from incast.broadcast.lp.instance import Floats, Instance, Tree
from incast.broadcast.lp.solver import solver
from incast.errors import RunError

_PRIMAL = 4
_DIGITS = 1e-9
"""Below this a rate or a price is rounding."""


@dataclass(frozen=True)
class Solved:
    """The best rates, and what they say about trees that are not known yet."""

    value: float
    """What was maximised, as a part of the instance's scale."""
    rates: Floats
    """Of each tree."""
    prices: Floats
    """What more capacity of each resource would gain."""
    prizes: Floats
    """What more for each member would gain; the source's is 0."""


class Master:
    """The program; trees are only added, so that each solution starts from the one before."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.trees: list[Tree] = []
        self._known: set[tuple[tuple[int, ...], ...]] = set()
        self._resources = len(instance.limits)
        # New columns leave the basis feasible: the primal simplex method goes on from it.
        self._solver = solver(simplex_strategy=_PRIMAL)
        nothing = np.array([], dtype=np.int32), np.array([], dtype=np.float64)
        for limit in instance.capacity:
            self._solver.addRow(-highspy.kHighsInf, float(limit), 0, *nothing)
        for _ in range(instance.count - 1):
            self._solver.addRow(0.0, highspy.kHighsInf, 0, *nothing)
        # What each destination receives above its floor, then the level.
        for member in range(1, instance.count):
            self._column(0.0, {self._row(member): -1.0})
        self._column(0.0, {})
        self._first = instance.count

    def _row(self, member: int) -> int:
        return self._resources + member - 1

    def _column(self, cost: float, entries: Mapping[int, float]) -> None:
        rows = np.array(list(entries), dtype=np.int32)
        values = np.array(list(entries.values()), dtype=np.float64)
        self._solver.addCol(cost, 0.0, highspy.kHighsInf, len(rows), rows, values)

    def add(self, tree: Tree) -> bool:
        """Adds a tree; says whether it was not known."""
        if tree.key in self._known:
            return False
        self._known.add(tree.key)
        self.trees.append(tree)
        entries = {row: float(hops) for row, hops in self.instance.loads(tree).items()}
        self._column(0.0, entries | {self._row(member): 1.0 for member in tree.paths})
        return True

    def aim_at_sum(self) -> None:
        """The highest sum of what destinations receive."""
        self._aim(frozenset(), {}, of_sum=1.0)

    def aim_at_level(self, free: Collection[int], floors: Mapping[int, float]) -> None:
        """The highest level that all `free` members reach; the others keep their floors."""
        self._aim(free, floors, of_sum=0.0)

    def _aim(self, free: Collection[int], floors: Mapping[int, float], of_sum: float) -> None:
        level = self.instance.count - 1
        for member in range(1, self.instance.count):
            above = member - 1
            self._solver.changeColCost(above, of_sum)
            self._solver.changeColBounds(above, 0.0, highspy.kHighsInf if of_sum else 0.0)
            self._solver.changeCoeff(self._row(member), level, -1.0 if member in free else 0.0)
            self._solver.changeRowBounds(self._row(member), floors.get(member, 0.0), highspy.kHighsInf)
        self._solver.changeColCost(level, 1.0 - of_sum)
        self._solver.changeColBounds(level, 0.0, 0.0 if of_sum else highspy.kHighsInf)

    def solve(self) -> Solved:
        """The best rates of the trees that are known."""
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RunError(f"the linear program was not solved: {self._solver.modelStatusToString(status)}")
        found = self._solver.getSolution()
        duals = np.array(found.row_dual, dtype=np.float64)
        duals[np.abs(duals) < _DIGITS] = 0.0
        rates = np.array(found.col_value[self._first :], dtype=np.float64)
        prices = np.maximum(duals[: self._resources], 0.0)
        prizes = np.concatenate(([0.0], np.maximum(-duals[self._resources :], 0.0)))
        return Solved(self._solver.getObjectiveValue(), np.maximum(rates, 0.0), prices, prizes)
