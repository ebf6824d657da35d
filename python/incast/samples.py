"""A figure of several runs, one a seed: its mean, and intervals of means and of differences.

Intervals are of 95 %, by Student's t. Where both sides ran the same seeds, seed is compared with seed; where
they did not, Welch's method. Source: Law, Simulation Modeling and Analysis, 10.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, variance
from typing import Any, Protocol, TypeAlias, TypeVar

from incast.metric import Metric
from incast.metrics import DONE, SECTIONS
from incast.student import quantile

Way: TypeAlias = "tuple[str, ...]"
Samples: TypeAlias = "dict[int, float]"
"""A figure of runs, by seed."""


class Summarised(Protocol):
    """A run, as far as its summary: a result, or a run as the report has it."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """Its figures."""


_Run = TypeVar("_Run", bound=Summarised)


def by_choice(runs: Iterable[_Run]) -> dict[str, list[_Run]]:
    """The runs of each choice."""
    found: dict[str, list[_Run]] = {}
    for run in runs:
        found.setdefault(run.summary.get("choice") or "", []).append(run)
    return found


def samples(runs: Sequence[Summarised], way: Way) -> Samples:
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
    """(b − a) / a; nothing where a is not above 0, as then there is no such part."""
    return (b - a) / a if a and a > 0 and b is not None else 0.0 if a == b == 0 else None


def ways(summaries: Iterable[Mapping[str, Any]]) -> list[tuple[Way, Metric]]:
    """Every figure that these summaries may have."""
    jobs = dict.fromkeys(job for summary in summaries for job in summary.get("jobs", {}))
    found: list[tuple[Way, Metric]] = [((DONE.key,), DONE)]
    found += [(("jobs", job, m.key), m) for job in jobs for m in SECTIONS["jobs"]]
    return found + [((section, m.key), m) for section in ("flows", "ports") for m in SECTIONS[section]]


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
