"""Trees that gain: which tree would be worth most at the prices of a solution.

A tree gains the prizes of its members and pays for its hops. With all members in it the best one is the
cheapest arborescence. With any set of them it is a prize-collecting arborescence, which is NP-hard: the
cheapest tree of all members is cut where a branch costs more than it gains, and the cheapest tree of those
that are left is cut again. Where that finds none, sets are searched step by step; for few members all are
tried, so that nothing is missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from incast import _core
from incast.broadcast.lp.instance import Floats, Instance, Tree, outwards
from incast.broadcast.lp.master import Solved

ALL_SETS_MAX = 8
"""With at most so many destinations, all sets of them are tried."""
SEARCH_MAX = 30
"""With at most so many, sets are searched step by step; with more that takes too long."""
GAIN = 1e-7
"""What a tree has to gain for each unit of its rate."""


def spanning(instance: Instance, prices: Floats) -> tuple[Tree, float]:
    """The cheapest tree with all members, and what it costs."""
    lengths = instance.lengths(prices)
    between, before = instance.nearest(lengths)
    tree = instance.tree(_cheapest(between), before)
    return tree, sum(float(lengths[arc]) * hops for arc, hops in instance.crossed(tree).items())


def gaining(instance: Instance, solved: Solved) -> list[Tree]:
    """Trees that gain: of all members and of parts of them, and their branches."""
    between, before = instance.nearest(instance.lengths(solved.prices))
    found: list[Mapping[int, int]] = []
    for parent in (_cheapest(between), _nearest_first(between)):
        found += _cut(parent, between, solved.prizes)
    trees = [parent for each in found for parent in (each, *_branches(each))]
    return [instance.tree(each, before) for each in trees if _worth(each, between, solved.prizes) > GAIN]


def best_of_all(instance: Instance, solved: Solved) -> list[Tree]:
    """The tree that gains most among all sets of members, if it does: for few of them."""
    between, before = instance.nearest(instance.lengths(solved.prices))
    members = range(1, instance.count)
    sets = [each for size in members for each in combinations(members, size)]
    best = max((_of(between, each) for each in sets), key=lambda tree: _worth(tree, between, solved.prizes))
    return [instance.tree(best, before)] if _worth(best, between, solved.prizes) > GAIN else []


def by_search(instance: Instance, solved: Solved) -> list[Tree]:
    """Trees that gain, from none and from all members by one more or one less at a time, if there are any."""
    if instance.count - 1 > SEARCH_MAX:
        return []
    between, before = instance.nearest(instance.lengths(solved.prices))
    members = frozenset(range(1, instance.count))
    ends = [_climbed(begin, members, between, solved.prizes) for begin in (frozenset[int](), members)]
    return [instance.tree(tree, before) for tree, worth in ends if worth > GAIN]


def _climbed(
    chosen: frozenset[int], members: frozenset[int], between: Floats, prizes: Floats
) -> tuple[Mapping[int, int], float]:
    """The tree of these members, changed by the member that gains most for as long as one does."""
    best, worth = _judged(chosen, between, prizes)
    while True:
        others = [_judged(chosen ^ {member}, between, prizes) for member in sorted(members)]
        tree, more = max(others, key=lambda each: each[1])
        if more <= worth + GAIN:
            return best, worth
        best, worth, chosen = tree, more, frozenset(tree)


def _judged(members: frozenset[int], between: Floats, prizes: Floats) -> tuple[Mapping[int, int], float]:
    tree = _of(between, sorted(members)) if members else {}
    return tree, _worth(tree, between, prizes)


def _of(between: Floats, members: Sequence[int]) -> dict[int, int]:
    """The cheapest tree of these members."""
    kept = [0, *members]
    parents = _cheapest(between[np.ix_(kept, kept)])
    return {kept[child]: kept[parent] for child, parent in parents.items()}


def _cheapest(between: Floats) -> dict[int, int]:
    """The cheapest tree of all members (crates/broadcast/src/arborescence.rs)."""
    return dict(enumerate(_core.broadcast_arborescence(between)[1:], 1))


def _nearest_first(between: Floats) -> dict[int, int]:
    """As Prim: again and again the member that is nearest to the tree."""
    far, above = between[0].copy(), np.zeros(len(between), dtype=np.int64)
    far[0] = np.inf
    parent = {}
    for _ in range(len(between) - 1):
        member = int(far.argmin())
        parent[member] = int(above[member])
        nearer = between[member] < far
        nearer[[0, *parent]] = False
        above[nearer] = member
        far[nearer] = between[member][nearer]
        far[member] = np.inf
    return parent


def _worth(parent: Mapping[int, int], between: Floats, prizes: Floats) -> float:
    return float(sum(prizes[child] - between[above, child] for child, above in parent.items()))


def _cut(parent: Mapping[int, int], between: Floats, prizes: Floats) -> Iterator[Mapping[int, int]]:
    """The tree without branches that cost more than they gain; and again, as long as fewer are left."""
    while parent:
        kept = _without_losing(parent, between, prizes)
        if not kept:
            return
        yield kept
        if len(kept) == len(parent):
            return
        parent = _of(between, sorted(kept))


def _without_losing(parent: Mapping[int, int], between: Floats, prizes: Floats) -> dict[int, int]:
    order = outwards(parent)
    worth = {member: float(prizes[member] - between[parent[member], member]) for member in order}
    for member in reversed(order):
        if worth[member] > 0 and parent[member]:
            worth[parent[member]] += worth[member]
    kept: dict[int, int] = {}
    for member in order:
        if worth[member] > 0 and (not parent[member] or parent[member] in kept):
            kept[member] = parent[member]
    return kept


def _branches(parent: Mapping[int, int]) -> list[dict[int, int]]:
    """The parts of a tree that hang on the source."""
    first: dict[int, int] = {}
    for member in outwards(parent):
        first[member] = first.get(parent[member], member)
    tops = list(dict.fromkeys(first.values()))
    if len(tops) < 2:
        return []
    return [{m: above for m, above in parent.items() if first[m] == top} for top in tops]
