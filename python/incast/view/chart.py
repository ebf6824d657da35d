"""A chart of what is followed: lines over time, in plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Chart = dict[str, Any]
STEPS_MAX = 600
"""Points of a line."""


def chart(title: str, unit: str, times: list[int], lines: list[tuple[str, Any, Any]]) -> Chart:
    """A chart of the lines that are ever above zero."""
    listed = [
        {"name": name, "high": _numbers(high), **({} if low is None else {"low": _numbers(low)})}
        for name, high, low in lines
    ]
    drawn = [each for each in listed if any(each["high"])]
    return {"title": title, "unit": unit, "times": times, "lines": drawn}


def _numbers(values: Any) -> list[float | None]:
    """As JSON has them: without values that are no numbers."""
    keep: Callable[[Any], float | None] = lambda v: None if v is None or v != v else float(v)  # noqa: E731
    return [keep(each) for each in values]
