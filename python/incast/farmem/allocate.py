"""Which program gets which memory: the best way, and two simple ones next to it.

The document asks for such an algorithm (004, slide 12): programs that suffer from latency get near memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incast.errors import Problem, ScenarioError
from incast.extras import extra
from incast.farmem.instance import Instance

__all__ = ["Allocation", "allocate", "greedy"]

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Allocation:
    """Which node each program is at."""

    method: str
    """`optimal`, `sensitivity-first` or `arrival-order`."""
    places: tuple[int | None, ...]
    """The node of each program; none where nothing was left for it."""
    total: float | None
    """The sum of weight · degradation; none unless all have a node."""
    bound: float | None = None
    """No allocation has a smaller sum; only the optimal one knows."""

    @property
    def gap(self) -> float | None:
        """How far it may be above the best, of its own sum."""
        if self.total is None or self.bound is None:
            return None
        return max(0.0, self.total - self.bound) / self.total if self.total else 0.0


def allocate(instance: Instance, seconds: float = 20) -> list[Allocation]:
    """The best allocation that HiGHS finds in the time, then the simple ones.

    Raises ScenarioError where there is none.
    """
    _check(instance)
    first = greedy(instance, "sensitivity-first", _by_sensitivity(instance))
    plain = greedy(instance, "arrival-order", range(len(instance.tasks)))
    start = next(
        ([j for j in each.places if j is not None] for each in (first, plain) if each.total is not None), None
    )
    with extra("farmem"):
        from incast.farmem.milp import solve
    solved = solve(instance, seconds, start)
    if not solved.possible:
        raise ScenarioError([Problem(_too_little(instance), "programs")])
    if solved.places is None:
        raise ScenarioError(
            [
                Problem(
                    f"no way was found in {seconds:g} s: give it more time, or nodes more memory", "programs"
                )
            ]
        )
    best = Allocation("optimal", solved.places, _total(instance, solved.places), solved.bound)
    return [best, first, plain]


def greedy(instance: Instance, method: str, order: Sequence[int]) -> Allocation:
    """One program after the other gets the node that is best for it of those that have room."""
    memory = [place.memory for place in instance.places]
    rate = [float(place.rate) for place in instance.places]
    places: list[int | None] = [None] * len(instance.tasks)
    for i in order:
        need, load = instance.tasks[i].memory, instance.load[i]
        fits = (
            j
            for j in range(len(memory))
            if instance.allowed[i, j] and need <= memory[j] and load[j] <= rate[j] * (1 + _ROUNDING)
        )
        places[i] = chosen = min(fits, key=lambda j: instance.cost[i, j], default=None)
        if chosen is not None:
            memory[chosen] -= need
            rate[chosen] -= load[chosen]
    return Allocation(method, tuple(places), _total(instance, places))


def _by_sensitivity(instance: Instance) -> list[int]:
    """Those first that gain most from a byte of near memory."""
    memory = np.array([task.memory for task in instance.tasks], float)
    return [int(i) for i in np.argsort(-instance.sensitivity / memory, kind="stable")]


def _total(instance: Instance, places: Iterable[int | None]) -> float | None:
    found = [None if j is None else float(instance.cost[i, j]) for i, j in enumerate(places)]
    return None if None in found else sum(each for each in found if each is not None)


def _check(instance: Instance) -> None:
    """Refuses programs that no node is good for, were they alone."""
    wrong = []
    for i, task in enumerate(instance.tasks):
        if not instance.allowed[i].any():
            reasons = [f"{place.name} {instance.refusal(i, j)}" for j, place in enumerate(instance.places)]
            more = f", … ({len(reasons)} in all)" if len(reasons) > 4 else ""
            message = f"no node is good for {task.name}: {', '.join(reasons[:4])}{more}"
            wrong.append(Problem(message, f"programs[{i}]"))
    if wrong:
        raise ScenarioError(wrong)


def _too_little(instance: Instance) -> str:
    needed = sum(task.memory for task in instance.tasks)
    there = sum(place.memory for place in instance.places)
    if needed > there:
        return f"the programs need {needed} bytes, and all nodes together have {there}"
    return "no way gives each a node within its limits: nodes need more memory or bandwidth, or be nearer"
