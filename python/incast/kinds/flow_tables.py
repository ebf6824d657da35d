"""Tables of flows in files, read in parts: columns of text."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from incast import table_files

if TYPE_CHECKING:
    from _csv import Reader

ROWS_AT_A_TIME = 1_000


class TableError(ValueError):
    """What makes a file no table, and in which line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Part(NamedTuple):
    """Some rows of a table."""

    columns: Sequence[Sequence[str | None]]
    lines: Sequence[int]
    """Where in the file each row is, from 1."""


class Table(Protocol):
    """A table in a file."""

    columns: list[str]
    """Their names."""

    def parts(self, columns: list[str]) -> Iterator[Part]:
        """The rows, of these columns only."""


def open_table(path: Path) -> Table:
    """The table of a file. Raises ValueError or an error of `DAMAGED` for a file that has none."""
    match path.suffix.lower():
        case ".csv":
            return _Csv(path)
        case ".parquet":
            return _Parquet(path)
    raise ValueError("unknown kind of file. Allowed: *.csv, *.parquet")


class _Csv:
    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as file, _lines_named(reader := csv.reader(file)):
            self.columns = next(reader, [])
        names = [name.strip() for name in self.columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the column {twice!r} is there {names.count(twice)} times")

    def parts(self, columns: list[str]) -> Iterator[Part]:
        places = [self.columns.index(name) for name in columns]
        with self._open() as file, _lines_named(reader := csv.reader(file)):
            next(reader)
            while rows := self._rows(reader):
                cells = list(zip(*rows.values(), strict=True))
                yield Part([cells[place] for place in places], list(rows))

    def _rows(self, reader: Reader) -> dict[int, list[str]]:
        """The next rows by their lines, without empty ones; cells that lack at the end are empty."""
        width = len(self.columns)
        rows: dict[int, list[str]] = {}
        for row in reader:
            line = reader.line_num
            if len(row) != width:
                if len(row) > width:
                    raise TableError("more columns than in line 1", line)
                if not row:
                    continue
                row += [""] * (width - len(row))
            rows[line] = row
            if len(rows) == ROWS_AT_A_TIME:
                break
        return rows

    def _open(self) -> TextIO:
        return self._path.open(encoding="utf-8-sig", newline="")


@contextmanager
def _lines_named(reader: Reader) -> Iterator[None]:
    """What is wrong with a line is said with its number."""
    try:
        yield
    except csv.Error as error:
        raise TableError(str(error), reader.line_num) from None


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._table = table_files.read_parquet(path)
        self.columns = self._table.columns

    def parts(self, columns: list[str]) -> Iterator[Part]:
        import polars as pl

        texts = self._table.select(
            pl.Series(name, [None if cell is None else f"{cell:.12f}" for cell in column], pl.String)
            if column.dtype.is_float()
            else column.cast(pl.String)
            for name, column in ((name, self._table[name]) for name in columns)
        )
        for first in range(0, texts.height, ROWS_AT_A_TIME):
            rows = texts.slice(first, ROWS_AT_A_TIME)
            yield Part([column.to_list() for column in rows], range(first + 1, first + rows.height + 1))
