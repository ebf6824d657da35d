"""Thresholds: what has to hold after a run, like `jobs.shuffle.duration < 50ms`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incast import metrics
from incast.hints import unknown
from incast.incomplete import lines
from incast.metric import Metric

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
        """Whether it holds. It fails without a figure, and on times and rates of incomplete jobs."""
        value: Any = summary
        for step in self.way:
            value = value.get(step) if isinstance(value, Mapping) else None
        why = self._why(summary, value)
        holds = not why and _OPERATORS[self.relation](value, self.limit)
        return Verdict(self.text, self.metric.key, value, holds, why)

    def _why(self, summary: Mapping[str, Any], value: float | None) -> str:
        """Why it fails whatever the figure is; empty when the figure decides."""
        listed = summary.get("incomplete", [])
        own = [each for each in listed if self.way[0] != "jobs" or each["job"] == self.way[1]]
        timed = self.way[0] in ("jobs", "flows") and self.metric.unit in ("_ps", "_bps")
        if value is not None and not (own and timed):
            return ""
        return "; ".join(lines({"incomplete": own})) or "it was not measured"


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
    why: str
    """Why it can't hold, as where its job did not end; empty when the figure decided."""


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
    if not metric.signed and (limit < 0 or (limit == 0 and relation == "<")):
        raise ValueError(f"{path} is never below 0: {relation} {value} tests nothing")
    return Threshold(text, way, metric, relation, limit)
