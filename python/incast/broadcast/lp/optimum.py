"""The best plans on any topology: highest sum, highest lowest rate, highest rates from the lowest up.

Column generation: the linear program of the trees that are known (`master`), then trees that gain at its
prices (`pricing`), until none does. The highest lowest rate is exact, because with all members in it the
cheapest tree can be found; a plan of partial trees that gave all destinations that rate would leave room for
it (Edmonds 1973). The others are exact for few destinations, where all sets of them are tried, and otherwise
as good as the trees that are found: `bound` says what nothing can exceed. Balanced Multicasting (den Burger
et al. 2005) is the program of spanning trees that are given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from incast.broadcast.lp import cuts, pricing
from incast.broadcast.lp.instance import Instance, Tree, fitting
from incast.broadcast.lp.master import Master, Solved

DESTINATIONS_MAX = 400
"""With more, a program would take hours."""

_ENOUGH = 1e-6
"""So near to a bound is there."""
_PATIENCE = 15
_PROGRESS = 2e-4
"""Less progress than this in so many rounds is not worth going on."""


@dataclass(frozen=True)
class Best:
    """Trees and their rates."""

    trees: list[tuple[Tree, int]]
    """Each with its rate in bit/s."""
    bound: int | None = None
    """What is maximised can't exceed this, in bit/s; nothing where there is no single figure of it."""


def highest_sum(instance: Instance, start: Sequence[Tree], alone: Sequence[int]) -> Best:
    """The highest aggregate, at least that of any plan whose trees it starts with.

    `alone` is what each destination could receive if it were the only one, in bit/s.
    """
    bound = min(cuts.highest_sum(instance), sum(alone) / instance.scale)
    master = _master(instance, start)
    master.aim_at_sum()
    solved = _generate(master, bound)
    return _best(master, solved, bound)


def highest_minimum(instance: Instance, start: Sequence[Tree]) -> Best:
    """The highest rate that all destinations get, by trees with all of them."""
    whole = [tree for tree in start if len(tree.paths) == instance.count - 1]
    master = _master(instance, whole)
    solved, bound = _spanning(master)
    return _best(master, solved, bound)


def lexicographic(instance: Instance, start: Sequence[Tree], alone: Sequence[int]) -> Best:
    """The highest lowest rate, then the highest of those that can get more, and so on."""
    most = [rate / instance.scale for rate in alone]
    master = _master(instance, start)
    master.aim_at_sum()
    solved = _generate(master, sum(most))
    if solved.value >= sum(most) * (1 - _ENOUGH):  # all get the most that they could get
        return _best(master, solved)
    solved, level = _spanning(master)
    free = set(range(1, instance.count))
    floors: dict[int, float] = {}
    while free:
        master.aim_at_level(free, floors)
        solved = _generate(master, level if not floors else math.inf)
        full = {m for m in free if most[m - 1] <= solved.value * (1 + _ENOUGH)}
        held = full | {m for m in free if solved.prizes[m] > 0} or free
        # A little less, so that rounding does not make the next program infeasible.
        floors |= dict.fromkeys(held, solved.value * (1 - _ENOUGH))
        free -= held
    return _best(master, solved)


def balanced(instance: Instance, trees: Sequence[Tree]) -> Best:
    """The highest rate of all destinations by these trees, those that have all of them."""
    master = _master(instance, [tree for tree in trees if len(tree.paths) == instance.count - 1])
    master.aim_at_level(range(1, instance.count), {})
    return _best(master, master.solve())


def _master(instance: Instance, start: Sequence[Tree]) -> Master:
    master = Master(instance)
    for tree in start:
        master.add(tree)
    return master


def _spanning(master: Master) -> tuple[Solved, float]:
    """The highest level by trees of all, and its bound: what capacities are worth by the cheapest tree."""
    capacity = master.instance.capacity
    master.aim_at_level(range(1, master.instance.count), {})
    bound = math.inf
    while True:
        solved = master.solve()
        prices = solved.prices if solved.prices.any() else 1 / capacity  # no tree is there yet
        tree, cost = pricing.spanning(master.instance, prices)
        bound = min(bound, float(prices @ capacity) / cost if cost else math.inf)
        if solved.value >= bound * (1 - _ENOUGH) or not master.add(tree):
            return solved, bound


def _generate(master: Master, enough: float) -> Solved:
    """Solves, with all trees that gain; to the value that is enough, or until progress is next to none."""
    instance = master.instance
    few = instance.count - 1 <= pricing.ALL_SETS_MAX
    values: list[float] = []
    while True:
        solved = master.solve()
        values.append(solved.value)
        slow = len(values) > _PATIENCE and values[-1] < values[-1 - _PATIENCE] * (1 + _PROGRESS)
        if solved.value >= enough * (1 - _ENOUGH) or (slow and not few):
            return solved
        if _add(master, pricing.gaining(instance, solved)):
            continue
        search = pricing.best_of_all if few else pricing.by_search
        if not _add(master, search(instance, solved)):
            return solved


def _add(master: Master, trees: Sequence[Tree]) -> bool:
    """Whether there was any that was not known."""
    return sum(master.add(tree) for tree in trees) > 0


def _best(master: Master, solved: Solved, bound: float | None = None) -> Best:
    instance = master.instance
    kept = [(tree, rate) for tree, rate in zip(master.trees, solved.rates, strict=True) if rate > 0]
    loads = [instance.loads(tree) for tree, _ in kept]
    rates = fitting((rate * instance.scale for _, rate in kept), loads, instance.limits)
    trees = [(tree, rate) for (tree, _), rate in zip(kept, rates, strict=True) if rate]
    return Best(trees, None if bound is None else round(bound * instance.scale))
