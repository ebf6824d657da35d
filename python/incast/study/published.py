"""The published table: which row answers to which cell."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from incast.document import text_of
from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.metric import Metric
from incast.study.axes import Cell
from incast.study.model import StudyFile


@dataclass(frozen=True)
class Table:
    """The rows of the file and their lines."""

    file: Path
    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]


def read(file: Path) -> Table:
    """The file's rows; lines that begin with # are notes."""
    lines = list(enumerate(text_of(file).splitlines(), 1))
    kept = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        raise ScenarioError([Problem("is empty: a header and a row a cell are expected", file=str(file))])
    parsed = [_cells(file, number, line) for number, line in kept]
    head = [name.strip() for name in parsed[0]]
    if twice := next((name for name in head if head.count(name) > 1), None):
        message = f"has the column {twice!r} {head.count(twice)} times"
        raise ScenarioError([Problem(message, file=str(file), line=kept[0][0])])
    rows = []
    for (number, _), cells in zip(kept[1:], parsed[1:], strict=True):
        if len(cells) != len(head):
            message = f"has {len(cells)} columns, the header {len(head)}"
            raise ScenarioError([Problem(message, file=str(file), line=number)])
        rows.append((number, dict(zip(head, (cell.strip() for cell in cells), strict=True))))
    return Table(file, head, rows)


def _cells(file: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ScenarioError([Problem(f"not a row: {error}", file=str(file), line=number)]) from None


def figures(study: StudyFile, table: Table, cells: Iterable[Cell], metric: Metric) -> dict[str, float]:
    """The published figure of each cell that has one, in base units."""
    assert study.published
    column, unit = study.published.column, study.published.unit
    keys = {key for values in study.axes.values() for value in values.values() for key in value.published}
    for name in [column, *sorted(keys)]:
        if name not in table.columns:
            raise ScenarioError([Problem(unknown("a column", name, table.columns), file=str(table.file))])
    found: dict[str, float] = {}
    for cell in cells:
        matching = _rows(study, table, cell)
        if len(matching) > 1:
            lines = " and ".join(str(number) for number, _ in matching)
            message = f"lines {lines} both answer to {cell.name}: one row a cell is expected"
            raise ScenarioError([Problem(message, file=str(table.file))])
        for number, row in matching:
            try:
                found[cell.name] = metric.parse(f"{row[column]}{unit}")
            except ValueError:
                message = f"{row[column]!r} with the unit {unit!r} is not {metric.expected}"
                raise ScenarioError([Problem(message, column, str(table.file), number)]) from None
    return found


def _rows(study: StudyFile, table: Table, cell: Cell) -> list[tuple[int, dict[str, str]]]:
    """The rows that hold what all of the cell's values say; none where a value says nothing."""
    wanted: dict[str, str] = {}
    for axis, name in zip(study.axes.values(), cell.values, strict=True):
        said: Mapping[str, object] = axis[name].published
        if not said:
            return []
        wanted |= {key: str(value) for key, value in said.items()}
    return [(n, row) for n, row in table.rows if all(row[key] == value for key, value in wanted.items())]
