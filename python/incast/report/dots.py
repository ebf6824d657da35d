"""The picture that decides: every seed of every choice as a dot, and the interval of each difference.

It is a table whose rows hold a strip each, so that it needs no script, prints, and can be read aloud.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from incast import text
from incast.answer import between, signed
from incast.choose import Ranking
from incast.overview import Choices
from incast.samples import samples

_ROOM = 0.04
"""Part of the axis that is free at each end."""
_FROM_ZERO = 0.4
"""An axis begins at zero if the least figure is below this part of the greatest."""
_REACH = 1.5
"""An interval is drawn up to this multiple of the greatest figure."""


@dataclass(frozen=True)
class Row:
    """A choice."""

    name: str
    first: bool
    """Whether it has, or shares, the first place."""
    strip: Markup
    mean: str
    difference: str
    interval: str


@dataclass(frozen=True)
class Dots:
    """The whole picture."""

    label: str
    rows: tuple[Row, ...]
    ticks: tuple[tuple[str, str], ...]
    """(place in percent, figure)"""
    several: bool
    """Whether choices have several seeds."""
    undecided: bool


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float

    def at(self, figure: float) -> float:
        """The place of a figure in percent, within the strip."""
        return 100 * min(max((figure - self.low) / (self.high - self.low), 0), 1)


def dots(choices: Choices, ranking: Ranking, colors: dict[str, int]) -> Dots | None:
    """Every seed of the choices by the figure that decides; `colors` are the positions of drawn choices."""
    found = {name: samples(choices[name], ranking.way) for name in (*ranking.figures, *ranking.out)}
    if not any(found.values()):
        return None
    bars = {name: _bar(ranking, name) for name in found}
    axis = _axis([v for each in found.values() for v in each.values()], [b for b in bars.values() if b])
    rows = []
    for name, each in found.items():
        against = ranking.contrasts.get(name)
        told = ", ".join(ranking.metric.text(value) for value in each.values())
        rows.append(
            Row(
                name,
                name in ranking.first,
                _strip(axis, ranking, list(each.values()), bars[name], colors.get(name), told),
                _mean(ranking, name),
                signed(against) if against else "",
                between(against) if against else "",
            )
        )
    ticks = tuple((f"{axis.at(tick):.2f}", ranking.metric.text(tick)) for tick in _ticks(axis))
    return Dots(_upper(ranking.metric.label), tuple(rows), ticks, ranking.seeds > 1, bool(ranking.undecided))


def _mean(ranking: Ranking, name: str) -> str:
    if name in ranking.figures:
        return ranking.metric.text(ranking.figures[name])
    return text.NONE if name in ranking.lacking else "not done"


def _bar(ranking: Ranking, name: str) -> tuple[float, float] | None:
    """Where the interval of the difference puts the choice's mean, from that of the best."""
    against = ranking.contrasts.get(name)
    if ranking.best is None or against is None or against.interval is None:
        return None
    base = ranking.figures[ranking.best]
    return base * (1 + against.interval[0]), base * (1 + against.interval[1])


def _axis(figures: Sequence[float], bars: Sequence[tuple[float, float]]) -> _Axis:
    most, least = max(figures), min(figures)
    high = max([most, *(min(bar[1], _REACH * most) for bar in bars)])
    low = min([least, *(bar[0] for bar in bars)])
    if 0 <= low < _FROM_ZERO * high:
        low = 0.0
    room = _ROOM * (high - low) or abs(high) * _ROOM or 1.0
    return _Axis(low - (room if low else 0), high + room)


def _ticks(axis: _Axis) -> list[float]:
    """Three to six round figures."""
    rough = (axis.high - axis.low) / 4
    step = 10.0 ** math.floor(math.log10(rough))
    step *= next(m for m in (1, 2, 2.5, 5, 10) if m * step >= rough)
    first = math.ceil(axis.low / step)
    return [n * step for n in range(first, math.floor(axis.high / step) + 1)]


def _strip(
    axis: _Axis,
    ranking: Ranking,
    figures: Sequence[float],
    bar: tuple[float, float] | None,
    color: int | None,
    told: str,
) -> Markup:
    """A row's drawing: the best choice's mean, the interval, and a dot per seed."""
    parts = []
    if ranking.best is not None:
        at = axis.at(ranking.figures[ranking.best])
        parts.append(Markup('<line class="base" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="22"/>').format(at))
    if bar:
        ends = tuple(map(axis.at, bar))
        parts.append(Markup('<line class="bar" x1="{:.2f}%" x2="{:.2f}%" y1="11" y2="11"/>').format(*ends))
    kind = f"f{color % 8}" if color is not None else "f6"
    parts += [
        Markup('<circle class="{}" cx="{:.2f}%" cy="11" r="4.5"/>').format(kind, axis.at(v)) for v in figures
    ]
    label = told or text.NONE
    return Markup('<svg class="strip" role="img" aria-label="{}">{}</svg>').format(
        label, Markup("").join(parts)
    )


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
