"""Axes, the cells that they span, and selections of cells.

A selection names values: `deep|shallow/tez` is every cell that has one of the first two and `tez`. A value's
name is there once among all axes, so it says its axis too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import TypeAlias

from incast.hints import unknown

Axes: TypeAlias = "Mapping[str, Sequence[str]]"
"""The values of each axis."""


@dataclass(frozen=True)
class Cell:
    """One value of each axis."""

    values: tuple[str, ...]
    """In the order of the axes."""

    @property
    def name(self) -> str:
        """The values, joined."""
        return "/".join(self.values)


@dataclass(frozen=True)
class Selection:
    """Which values are allowed; an axis that is not there allows all of its values."""

    allowed: Mapping[int, frozenset[str]]
    """By the axis's position."""

    def __contains__(self, cell: Cell) -> bool:
        return all(cell.values[axis] in values for axis, values in self.allowed.items())

    def single(self) -> dict[int, str] | None:
        """The value of each axis that is named; nothing where one has alternatives."""
        if any(len(values) > 1 for values in self.allowed.values()):
            return None
        return {axis: value for axis, (value,) in self.allowed.items()}


def ambiguous(axes: Axes) -> list[str]:
    """Values that two axes have."""
    listed = [value for values in axes.values() for value in values]
    return sorted({value for value in listed if listed.count(value) > 1})


def select(text: str, axes: Axes) -> Selection:
    """The selection that `text` names; empty selects all."""
    known = {value: number for number, values in enumerate(axes.values()) for value in values}
    allowed: dict[int, frozenset[str]] = {}
    for part in filter(None, text.strip().split("/")):
        values = [value.strip() for value in part.split("|")]
        for value in values:
            if value not in known:
                raise ValueError(unknown("a value of an axis", value, known))
        (first, *others) = [known[value] for value in values]
        if any(other != first for other in others):
            raise ValueError(f"{part!r} mixes values of different axes: join them with / instead of |")
        if first in allowed:
            raise ValueError(f"{text!r} names axis {list(axes)[first]} twice: alternatives are joined with |")
        allowed[first] = frozenset(values)
    return Selection(allowed)


def joined(cells: Sequence[Cell], study: Sequence[Cell], axes: Axes) -> list[str]:
    """Selections that name these cells of the study and no other: a short single one where it can be."""

    def same(selection: Selection) -> bool:
        return {cell for cell in study if cell in selection} == set(cells)

    allowed = {n: frozenset(cell.values[n] for cell in cells) for n in range(len(axes))}
    if not same(Selection(allowed)):
        return [cell.name for cell in cells]
    for axis in list(allowed):
        fewer = {n: values for n, values in allowed.items() if n != axis}
        allowed = fewer if same(Selection(fewer)) else allowed
    named = list(axes.values())
    parts = ("|".join(v for v in named[n] if v in values) for n, values in allowed.items())
    return ["/".join(parts)]


def expand(axes: Axes, selections: Iterable[Selection] = ()) -> list[Cell]:
    """All cells, or those in any of the selections; the last axis changes fastest."""
    named = list(axes.values())
    # Of many axes few combinations are selected: only these are made.
    chosen = [
        product(*(_allowed(n, values, each) for n, values in enumerate(named))) for each in selections
    ] or [product(*map(range, map(len, named)))]
    places = sorted(set(chain.from_iterable(chosen)))
    return [Cell(tuple(values[at] for values, at in zip(named, place, strict=True))) for place in places]


def _allowed(axis: int, values: Sequence[str], selection: Selection) -> list[int]:
    """The places of the values that a selection allows on an axis."""
    allowed = selection.allowed.get(axis)
    return [at for at, value in enumerate(values) if allowed is None or value in allowed]
