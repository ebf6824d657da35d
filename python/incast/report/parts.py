"""What a report is made of: runs that are drawn, tables, figures and sections.

Here are their forms only. What a table or a figure shows is in the module that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from incast import text

if TYPE_CHECKING:
    import polars as pl

    from incast.report.charts import Chart
    from incast.report.run import Run

ROWS_MAX = 10
Row: TypeAlias = "dict[str, Any]"
Columns: TypeAlias = "dict[str, Callable[[Row], str]]"
"""What stands in the columns of a table, by their heads."""


@dataclass(frozen=True)
class Cell:
    """A cell; `note` stands small below the text, `mark` is `best`, `bad` or nothing."""

    text: str
    note: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first column heads its rows, `left` names the other columns of words."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: frozenset[str] = frozenset()
    more: str = ""
    """What the table leaves out."""


@dataclass(frozen=True)
class Drawn:
    """A run with the position that decides its colour everywhere."""

    run: Run
    color: int
    seeds: tuple[Run, ...] = ()
    """The choice's other runs, one a seed."""


@dataclass(frozen=True)
class Key:
    """An entry of a legend."""

    name: str
    color: int
    block: bool = False
    """Drawn as an area, not as a line."""


@dataclass(frozen=True)
class Figure:
    """A chart with its title, legend and the figures behind it."""

    title: str
    charts: tuple[tuple[str, Chart], ...]
    """(heading of a panel, chart)"""
    keys: tuple[Key, ...] = ()
    note: str = ""
    table: Table | None = None
    columns: int = 1
    """So many charts stand side by side where there is room."""


@dataclass(frozen=True)
class Section:
    """A part of the page that a kind of job has for itself."""

    id: str
    title: str
    figures: list[Figure]
    folded: bool = False
    """Only the first figure is open."""


def listed(
    caption: str,
    frame: pl.DataFrame,
    columns: Columns,
    word: str,
    left: frozenset[str] = frozenset(),
    shown: int = ROWS_MAX,
    of: int | None = None,
) -> Table:
    """The first rows of `frame`; `word` is what a row is, to say how many are left out.

    `of` is how many there are, where `frame` has only the first.
    """
    rows = tuple(
        cells(*(column(row) for column in columns.values()))
        for row in frame.head(shown).iter_rows(named=True)
    )
    more = more_than(frame.height if of is None else of, word, shown)
    return Table(caption, tuple(columns), rows, left, more)


def numbered(names: Iterable[str]) -> tuple[Key, ...]:
    """A legend of names, each with the colour of its position."""
    return tuple(Key(name, color) for color, name in enumerate(names))


def legend(curves: Sequence[tuple[str, int, Any]]) -> tuple[Key, ...]:
    """The legend of curves, which begin with their name and colour; a single one needs none."""
    return tuple(Key(name, color) for name, color, _ in curves) if len(curves) > 1 else ()


def suffix(*names: str) -> str:
    """What a title ends with, to tell runs or jobs apart; empty names say nothing."""
    return "".join(f", {name}" for name in names if name)


def cells(*texts: str) -> tuple[Cell, ...]:
    """A row of plain cells."""
    return tuple(Cell(t) for t in texts)


def more_than(total: int, word: str, shown: int = ROWS_MAX) -> str:
    """What to say of the rows that are not shown."""
    more = text.plural(total - shown, f"more {word}")
    return f"{more} in the tables of the run folder." if total > shown else ""
