"""Tables of flows in files, read in parts: columns of text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import NamedTuple, Protocol

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
        rows, lines = next(self._batches(), ([[]], [1]))
        self.columns = rows[0]
        names = [name.strip() for name in self.columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise TableError(f"the column {twice!r} is there {names.count(twice)} times", lines[0])

    def parts(self, columns: list[str]) -> Iterator[Part]:
        places = [self.columns.index(name) for name in columns]
        width = len(self.columns)
        for rows, lines in islice(self._batches(), 1, None):
            long = None
            if {*map(len, rows)} != {width}:
                rows, lines, long = self._even(rows, lines)
            if rows:
                cells = list(zip(*rows, strict=True))
                yield Part([cells[place] for place in places], lines)
            if long:
                raise TableError("more columns than in line 1", long)

    def _even(
        self, rows: list[list[str]], lines: Sequence[int]
    ) -> tuple[list[list[str]], list[int], int | None]:
        """The rows without blank ones, to the first that is too long, and its line.

        Cells that lack at the end are empty.
        """
        width = len(self.columns)
        whole: list[tuple[list[str], int]] = []
        long = None
        for row, line in zip(rows, lines, strict=True):
            if len(row) > width:
                long = line
                break
            if len(row) == width or any(map(str.strip, row)):
                whole.append((row + [""] * (width - len(row)), line))
        return [row for row, _ in whole], [line for _, line in whole], long

    def _batches(self) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
        """All rows and the lines in which they begin: the first alone, then many at a time."""
        with self._path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            line, most = 1, 1
            while True:
                rows, failed = self._next(reader, line, most)
                if rows:
                    # Most often each is a line.
                    plain = reader.line_num - line + 1 == len(rows)
                    yield rows, range(line, line + len(rows)) if plain else _begins(rows, line)[:-1]
                if failed:
                    raise failed
                if not rows:
                    return
                line, most = reader.line_num + 1, ROWS_AT_A_TIME

    def _next(
        self, reader: Iterator[list[str]], line: int, most: int
    ) -> tuple[list[list[str]], TableError | None]:
        """Rows from a line on, and why there are no more."""
        rows: list[list[str]] = []
        try:
            rows.extend(islice(reader, most))
        except csv.Error as error:
            # The rows before it are there, so the line in which it begins is known.
            said = "a quote is opened and never closed" if str(error) == _END else str(error)
            return rows, TableError(said, _begins(rows, line)[-1])
        except UnicodeDecodeError:
            return rows, TableError("not UTF-8 text", self._undecodable())
        return rows, None

    def _undecodable(self) -> int:
        """The first line that is not UTF-8: Python decodes many at a time."""
        with self._path.open("rb") as file:
            return next(line for line, data in enumerate(file, 1) if not _is_text(data))


_BREAK = re.compile(r"\r\n|\r|\n")


def _begins(rows: list[list[str]], line: int) -> list[int]:
    """The lines in which rows begin of which the first is in a line, and in which the next one would."""
    return list(
        accumulate((1 + sum(len(_BREAK.findall(cell)) for cell in row) for row in rows), initial=line)
    )


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
