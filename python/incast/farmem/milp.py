"""The best allocation: a generalised assignment problem, solved by HiGHS.

Minimise Σ weight · degradation with one node a program, where those of a node fit its memory and its link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from incast.farmem.instance import Instance

__all__ = ["Solved", "solve"]

_GAP = 1e-6
"""Relative, from which on a solution is the best."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What came out."""

    places: tuple[int, ...] | None
    """The node of each program; none where there is no way, or none was found in time."""
    bound: float | None
    """No allocation has a smaller sum; none where there is no way."""

    @property
    def possible(self) -> bool:
        """Whether there may be a way."""
        return self.bound is not None


def solve(instance: Instance, seconds: float, start: Sequence[int] | None = None) -> Solved:
    """The best allocation, or the best found in so many seconds; `start` is one to begin with."""
    pairs = np.argwhere(instance.allowed)
    scale = float(instance.cost[instance.allowed].max(initial=0)) or 1.0
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {
        "output_flag": False,
        "threads": 1,
        "random_seed": 0,
        "mip_rel_gap": _GAP,
        "time_limit": seconds,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(_model(instance, pairs, scale))
    if start is not None:
        chosen = np.array([float(start[i] == j) for i, j in pairs])
        highs.setSolution(len(pairs), np.arange(len(pairs), dtype=np.int32), chosen)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return Solved(None, None)
    info = highs.getInfo()
    bound = info.mip_dual_bound * scale if math.isfinite(info.mip_dual_bound) else 0.0
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Solved(None, bound)
    values = np.asarray(highs.getSolution().col_value)
    places = {int(i): int(j) for (i, j), value in zip(pairs, values, strict=True) if value > 0.5}
    return Solved(tuple(places[i] for i in range(len(instance.tasks))), bound)


def _model(instance: Instance, pairs: np.ndarray, scale: float) -> highspy.HighsLp:
    """A column a pair that is allowed; a row a program, and two a node: its memory and its link."""
    programs, nodes = len(instance.tasks), len(instance.places)
    unit, memory, room = _memory(instance)
    program, node = pairs[:, 0], pairs[:, 1]
    rates = np.array([place.rate for place in instance.places], float)
    shares = instance.load[program, node] / rates[node]
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(pairs), programs + 2 * nodes
    model.col_cost_ = instance.cost[program, node] / scale
    model.col_lower_, model.col_upper_ = np.zeros(len(pairs)), np.ones(len(pairs))
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(pairs)
    model.row_lower_ = np.concatenate((np.ones(programs), np.full(2 * nodes, -highspy.kHighsInf)))
    model.row_upper_ = np.concatenate((np.ones(programs), room / unit, np.ones(nodes)))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, 3 * len(pairs) + 1, 3, dtype=np.int32)
    rows = np.column_stack((program, programs + node, programs + nodes + node))
    values = np.column_stack((np.ones(len(pairs)), memory[program] / unit, shares))
    model.a_matrix_.index_ = rows.astype(np.int32).ravel()
    model.a_matrix_.value_ = values.ravel()
    return model


def _memory(instance: Instance) -> tuple[float, np.ndarray, np.ndarray]:
    """A unit for bytes, what programs need, what nodes have: whole multiples, so that what just fits does."""
    needs = [task.memory for task in instance.tasks]
    whole = math.gcd(*needs)
    room = [place.memory // whole * whole for place in instance.places]
    return float(whole), np.array(needs, float), np.array(room, float)
