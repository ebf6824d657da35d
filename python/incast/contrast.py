"""One choice against another, seed by seed: by how much a figure differs, and how sure that is.

Seeds are compared in pairs by the logarithm of their ratio, so that a seed that is slow under both choices
says nothing, and no interval of a time reaches below zero. Intervals are of 95 %, by Student's t; where the
two sides ran other seeds, by Welch's method. Sources: Law, Simulation Modeling and Analysis, 10.2; Kalibera
and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, geometric_mean, stdev
from typing import Any, Literal

from incast.samples import Samples, change, interval
from incast.student import quantile

MARGIN = 0.05
"""Two figures are alike when the interval of their ratio lies within this."""
SEEDS_MAX = 1000
"""Nobody is asked to run more seeds."""

Verdict = Literal["alike", "more", "less", "open"]


@dataclass(frozen=True)
class Contrast:
    """How a figure of one choice differs from that of another, the base."""

    change: float | None
    """The mean ratio to the base, seed by seed, less 1; nothing where the base is 0."""
    interval: tuple[float, float] | None
    """The ends of its interval; nothing with one seed, or where a seed has 0 or less."""
    seeds: int
    """Seeds that both have."""
    more: int
    """In so many of these it has more than the base."""
    less: int
    """In so many it has less."""
    verdict: Verdict
    """`alike`: the interval lies within the margin. `more`, `less`: it lies on one side of the base. `open`:
    these seeds don't decide. With one seed, what this seed says."""
    needed: int | None = None
    """If open: so many seeds would decide, if they scatter as these do. Nothing if more than a thousand
    would, or if that is not known: it takes seeds that both have, and figures above 0."""

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def means(sides: Mapping[str, Samples]) -> dict[str, float | None]:
    """The mean over seeds of each side: the geometric, so that ratios of means are means of ratios.

    Where any side has a seed of 0 or less, it is the arithmetic of all sides.
    """
    positive = all(value > 0 for values in sides.values() for value in values.values())
    mean = geometric_mean if positive else fmean
    return {name: _mean(list(values.values()), mean) for name, values in sides.items()}


def _mean(values: Sequence[float], mean: Callable[[Sequence[float]], float]) -> float | None:
    if len(set(values)) < 2:
        return next(iter(values), None)  # As it is: a mean of equal values may differ in its last digit.
    return mean(values)


def contrast(base: Samples, other: Samples) -> Contrast | None:
    """How `other` differs from `base`; nothing where a side is empty."""
    if not base or not other:
        return None
    both = sorted(base.keys() & other.keys())
    more, less = (sum(sign * (other[s] - base[s]) > 0 for s in both) for sign in (1, -1))
    if min(*base.values(), *other.values()) <= 0:
        apart = fmean(other.values()) - fmean(base.values())
        low, high = interval(base, other) or (apart, apart)
        verdict = _verdict(low, high, MARGIN * abs(fmean(base.values())))
        sides = means({"base": base, "other": other})
        by = change(sides["base"], sides["other"])
        return Contrast(by, None, len(both), more, less, verdict)
    logs = [{seed: math.log(value) for seed, value in side.items()} for side in (base, other)]
    middle = fmean(logs[1].values()) - fmean(logs[0].values())
    found = interval(*logs)
    low, high = found or (middle, middle)
    verdict = _verdict(low, high, math.log1p(MARGIN))
    needed = _needed([logs[1][s] - logs[0][s] for s in both]) if verdict == "open" else None
    ends = (math.expm1(low), math.expm1(high)) if found else None
    return Contrast(math.expm1(middle), ends, len(both), more, less, verdict, needed)


def _verdict(low: float, high: float, margin: float) -> Verdict:
    if -margin <= low and high <= margin:
        return "alike"
    return "more" if low > 0 else "less" if high < 0 else "open"


def _needed(differences: Sequence[float]) -> int | None:
    """How many seeds with these differences' scatter show that they are not zero, or within the margin."""
    if len(differences) < 2:
        return None
    middle, scatter = abs(fmean(differences)), stdev(differences)
    room = max(middle, math.log1p(MARGIN) - middle)
    for seeds in range(len(differences) + 1, SEEDS_MAX + 1):
        if quantile(seeds - 1) * scatter / math.sqrt(seeds) < room:
            return seeds
    return None
