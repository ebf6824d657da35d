"""What differs between two results: every figure side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from incast.arguments import checked
from incast.contrast import Contrast, contrast, means
from incast.errors import ResultError
from incast.result import Result
from incast.samples import by_choice, samples, ways


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
    contrast: Contrast | None
    """How b differs from a; nothing where one is missing."""

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@checked(ResultError)
def compare(a: Result, b: Result) -> list[Difference]:
    """Every figure that both have, choice by choice where both have choices."""
    left, right = by_choice(a.runs), by_choice(b.runs)
    if len(left) == 1 and len(right) == 1:
        pairs = [("", next(iter(left.values())), next(iter(right.values())))]
    else:
        pairs = [(name, left[name], right[name]) for name in left if name in right]
    if not pairs:
        raise ResultError(f"{a.path} and {b.path} have no choice in common")
    return [found for name, x, y in pairs for found in _differences(name, x, y)]


def _differences(choice: str, left: list[Result], right: list[Result]) -> list[Difference]:
    found = []
    for way, _ in ways(run.summary for run in (*left, *right)):
        a, b = samples(left, way), samples(right, way)
        if not a and not b:
            continue
        sides = means({"a": a, "b": b})
        found.append(Difference(choice, ".".join(way), sides["a"], sides["b"], contrast(a, b)))
    return found
