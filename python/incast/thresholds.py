"""Thresholds: what has to hold after a run, like `jobs.shuffle.duration < 50ms`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incast import metrics
from incast.hints import unknown
from incast.metrics import Metric

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_FORM = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Threshold:
    """A comparison of a figure with a value."""

    text: str
    """As it was written."""
    way: tuple[str, ...]
    """Where the figure is in the summary."""
    metric: Metric
    """What it is."""
    relation: str
    """How it is compared."""
    limit: float
    """With what, in base units."""

    def check(self, summary: Mapping[str, Any]) -> Verdict:
        """Whether it holds. A figure that was not measured, as the end of a job that did not end, fails."""
        value: Any = summary
        for step in self.way:
            value = value.get(step) if isinstance(value, Mapping) else None
        holds = value is not None and _OPERATORS[self.relation](value, self.limit)
        return Verdict(self.text, self.metric.key, value, holds)


@dataclass(frozen=True)
class Verdict:
    """Whether a threshold held."""

    text: str
    """The threshold as it was written."""
    figure: str
    """The figure's name, with its unit."""
    value: float | None
    """What the figure was, in base units."""
    holds: bool
    """Whether the threshold held."""


def parse_threshold(text: str, jobs: list[str]) -> Threshold:
    """The threshold that `text` states on a scenario with these jobs."""
    form = _FORM.fullmatch(text)
    if not form:
        relations = " ".join(_OPERATORS)
        raise ValueError(f"{text!r} is not a threshold: expected figure, one of {relations}, value")
    path, relation, value = form.groups()
    found = metrics.find(path)
    if not found or (found[0][0] == "jobs" and found[0][1] not in jobs):
        raise ValueError(unknown("a figure", path, metrics.names(jobs)))
    way, metric = found
    try:
        limit = metric.parse(value)
    except ValueError:
        raise ValueError(f"{value!r} is not {metric.expected}, as {path} needs") from None
    return Threshold(text, way, metric, relation, limit)
