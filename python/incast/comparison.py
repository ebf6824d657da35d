"""What differs between results: figures side by side, and intervals where there are several seeds.

Intervals are of 95 %, by Student's t. Where both sides ran the same seeds, seed is compared with seed; where
they did not, Welch's method. Source: Law, Simulation Modeling and Analysis, 10.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, variance
from typing import Any, TypeAlias

from incast.errors import ResultError
from incast.metric import Metric
from incast.metrics import DONE, SECTIONS
from incast.result import Result
from incast.student import quantile

Way: TypeAlias = "tuple[str, ...]"
Samples: TypeAlias = "dict[int, float]"
"""A figure of runs, by seed."""


@dataclass(frozen=True)
class Difference:
    """A figure in two results."""

    choice: str
    """The choice on both sides; empty where there are none."""
    figure: str
    """The figure, as thresholds name it, with its unit."""
    a: float | None
    """Its mean in the first."""
    b: float | None
    """Its mean in the second."""
    change: float | None
    """(b − a) / a; nothing where a is zero or missing."""
    low: float | None = None
    """b − a: the interval's lower end; nothing with a single seed."""
    high: float | None = None
    """Its upper end."""

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out zero; True without an interval."""
        return self.low is None or self.high is None or not self.low <= 0 <= self.high

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def compare(a: Result, b: Result) -> list[Difference]:
    """Every figure that both have, choice by choice where both have choices."""
    left, right = by_choice(a), by_choice(b)
    if len(left) == 1 and len(right) == 1:
        pairs = [("", next(iter(left.values())), next(iter(right.values())))]
    else:
        pairs = [(name, left[name], right[name]) for name in left if name in right]
    if not pairs:
        raise ResultError(f"{a.path} and {b.path} have no choice in common")
    return [found for name, x, y in pairs for found in _differences(name, x, y)]


def by_choice(result: Result) -> dict[str, list[Result]]:
    """The runs of each choice."""
    found: dict[str, list[Result]] = {}
    for run in result.runs:
        found.setdefault(run.summary.get("choice") or "", []).append(run)
    return found


def samples(runs: Sequence[Result], way: Way) -> Samples:
    """A figure of the runs, by seed; runs that lack it are left out.

    Nothing where an incomplete run lacks it: the others alone would say that giving up is fast.
    """
    found = {run.summary["seed"]: lookup(run.summary, way) for run in runs}
    lacking = [run for run in runs if found[run.summary["seed"]] is None]
    if any(run.summary.get("incomplete") for run in lacking):
        return {}
    return {seed: value for seed, value in found.items() if value is not None}


def lookup(summary: Mapping[str, Any], way: Way) -> float | None:
    """The figure at the end of the way."""
    value: Any = summary
    for step in way:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) else None


def mean(values: Samples) -> float | None:
    """The mean of the runs."""
    return fmean(values.values()) if values else None


def spread(values: Samples) -> float | None:
    """Half the interval of the mean, as a part of it; nothing with fewer than two runs."""
    middle, half = mean(values), half_interval(values)
    return half / abs(middle) if middle and half is not None else None


def half_interval(values: Samples) -> float | None:
    """Half the interval of the mean; nothing with fewer than two runs."""
    if len(values) < 2:
        return None
    return quantile(len(values) - 1) * math.sqrt(variance(values.values()) / len(values))


def change(a: float | None, b: float | None) -> float | None:
    """(b − a) / a."""
    return (b - a) / a if a and b is not None else 0.0 if a == b == 0 else None


def ways(summaries: Iterable[Mapping[str, Any]]) -> list[tuple[Way, Metric]]:
    """Every figure that these summaries may have."""
    jobs = dict.fromkeys(job for summary in summaries for job in summary.get("jobs", {}))
    found: list[tuple[Way, Metric]] = [((DONE.key,), DONE)]
    found += [(("jobs", job, m.key), m) for job in jobs for m in SECTIONS["jobs"]]
    return found + [((section, m.key), m) for section in ("flows", "ports") for m in SECTIONS[section]]


def _differences(choice: str, left: list[Result], right: list[Result]) -> list[Difference]:
    found = []
    for way, _ in ways(run.summary for run in (*left, *right)):
        a, b = samples(left, way), samples(right, way)
        if not a and not b:
            continue
        low, high = interval(a, b) or (None, None)
        x, y = mean(a), mean(b)
        found.append(Difference(choice, ".".join(way), x, y, change(x, y), low, high))
    return found


def interval(a: Samples, b: Samples) -> tuple[float, float] | None:
    """The interval of the mean difference b − a; nothing with fewer than two runs on a side."""
    if len(a) < 2 or len(b) < 2:
        return None
    middle = fmean(b.values()) - fmean(a.values())
    if a.keys() == b.keys():
        differences = [b[seed] - a[seed] for seed in a]
        half = half_interval(dict(enumerate(differences))) or 0.0
        return middle - half, middle + half
    parts = [(variance(side.values()) / len(side), len(side)) for side in (a, b)]
    error = sum(part for part, _ in parts)
    if error == 0:
        return middle, middle
    # Of parts of the whole, so that squares of tiny variances don't become 0.
    freedom = 1 / sum((part / error) ** 2 / (size - 1) for part, size in parts)
    half = quantile(freedom) * math.sqrt(error)
    return middle - half, middle + half
