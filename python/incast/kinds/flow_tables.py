"""Tables of flows in files, read in parts: columns of text."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TextIO

from incast import table_files

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
    """The table of a file. Raises ValueError or what `damaged` lists for a file that has none."""
    match path.suffix.lower():
        case ".csv":
            return _Csv(path)
        case ".parquet":
            return _Parquet(path)
    raise ValueError("unknown kind of file. Allowed: *.csv, *.parquet")


class _Csv:
    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as file:
            line, self.columns = next(self._numbered(file), (1, []))
        names = [name.strip() for name in self.columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise TableError(f"the column {twice!r} is there {names.count(twice)} times", line)

    def parts(self, columns: list[str]) -> Iterator[Part]:
        places = [self.columns.index(name) for name in columns]
        with self._open() as file:
            numbered = self._numbered(file)
            next(numbered)
            while rows := self._rows(numbered):
                cells = list(zip(*rows.values(), strict=True))
                yield Part([cells[place] for place in places], list(rows))

    def _rows(self, numbered: Iterator[tuple[int, list[str]]]) -> dict[int, list[str]]:
        """The next rows by their lines, without blank ones; cells that lack at the end are empty."""
        width = len(self.columns)
        rows: dict[int, list[str]] = {}
        for line, row in numbered:
            if len(row) != width:
                if len(row) > width:
                    raise TableError("more columns than in line 1", line)
                if not any(map(str.strip, row)):
                    continue
                row += [""] * (width - len(row))
            rows[line] = row
            if len(rows) == ROWS_AT_A_TIME:
                break
        return rows

    def _numbered(self, file: TextIO) -> Iterator[tuple[int, list[str]]]:
        """Every row and the line in which it begins, which is named too where there is none to be read."""
        reader = csv.reader(file, strict=True)
        line = 1
        try:
            for row in reader:
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            said = "a quote is opened and never closed" if str(error) == _END else str(error)
            raise TableError(said, line) from None
        except UnicodeDecodeError:
            raise TableError("not UTF-8 text", self._undecodable()) from None

    def _undecodable(self) -> int:
        """The first line that is not UTF-8: Python decodes many at a time."""
        with self._path.open("rb") as file:
            return next(line for line, data in enumerate(file, 1) if not _is_text(data))

    def _open(self) -> TextIO:
        return self._path.open(encoding="utf-8-sig", newline="")


_END = "unexpected end of data"
"""What csv says where a file ends within quotes."""


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
