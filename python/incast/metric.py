"""One figure of a summary: what it is called, its unit, and whether more or less of it is better.

A figure's name carries its unit, as columns of the tables do: `_ps`, `_bytes`, `_bps`, and `_percent`. People
leave it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from incast import text
from incast.quantity import parse_bytes, parse_rate, parse_time


def _percent(written: str) -> float:
    """What `25%` says, as 25."""
    number, sign, rest = written.partition("%")
    if not sign or rest.strip() or not math.isfinite(value := float(number)):
        raise ValueError(f"{written!r} is not a share")
    return value


_UNITS: dict[str, tuple[str, Callable[[str], float], Callable[[float | None], str]]] = {
    "_ps": ("a time like 50ms", parse_time, text.time),
    "_bytes": ("a size like 32MB", parse_bytes, text.size),
    "_bps": ("a rate like 10Gbps", parse_rate, text.rate),
    "_percent": ("a share like 25%", _percent, lambda n: text.percent(None if n is None else n / 100)),
}


@dataclass(frozen=True)
class Metric:
    """A figure of a summary."""

    key: str
    """Its name in the summary."""
    label: str
    """Its name in tables."""
    better: int = -1
    """-1: less is better; 1: more is better; 0: neither."""
    row: Literal["", "always", "any"] = ""
    """Whether the terminal's tables have it: not, always, or where it is anything but zero."""
    signed: bool = False
    """Whether it may be below zero."""

    @property
    def name(self) -> str:
        """Its name without the unit."""
        return self.key.removesuffix(self.unit)

    @property
    def unit(self) -> str:
        """The suffix that says the unit; empty for a plain number."""
        return next((unit for unit in _UNITS if self.key.endswith(unit)), "")

    @property
    def expected(self) -> str:
        """What a value of it looks like."""
        return _UNITS[self.unit][0] if self.unit else "a number"

    def parse(self, written: str) -> float:
        """A value of it in base units."""
        if self.unit:
            return _UNITS[self.unit][1](written)
        if not math.isfinite(number := float(written)):
            raise ValueError(f"{written!r} is not {self.expected}")
        return number

    def text(self, figure: float | None) -> str:
        """A value of it with its unit, for people."""
        if self.unit:
            return _UNITS[self.unit][2](figure)
        # Parts, and means of few: a whole number would hide them.
        small = figure is not None and abs(figure) < 10 and figure != round(figure)
        return f"{figure:.3g}" if small else text.count(figure)
