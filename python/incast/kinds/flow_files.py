"""Flows and coflows from files.

A flow list (CSV or Parquet) has the columns `at`, `from`, `to`, `size` and perhaps `group`. Times and sizes
are text with a unit, or the column's name has the unit: `at_ps`, `at_ns`, `at_us`, `at_ms`, `at_s`, `bytes`.
Coflow traces are read by the core (crates/traffic/src/coflow.rs).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from incast import _core, table_files
from incast.bounded import read_bytes
from incast.damage import DAMAGED
from incast.document import Loc
from incast.errors import why
from incast.hints import allowed, shortened
from incast.lab.findings import Findings

if TYPE_CHECKING:
    import polars as pl
from incast.quantity import parse_bytes, parse_time, parse_whole

FILE_BYTES_MAX = 256_000_000
_ROWS_MAX = 10_000_000
_ROWS_AT_A_TIME = 10_000
_SHOWN = 5

_TIMES = {"at": "", "at_ps": "ps", "at_ns": "ns", "at_us": "us", "at_ms": "ms", "at_s": "s"}
_SIZES = {"size": "", "bytes": "B"}


class Flow(NamedTuple):
    """A flow of a list; its ends are names or numbers."""

    at: int
    sender: str
    receiver: str
    size: int
    group: int
    line: int


@dataclass(frozen=True)
class Coflow:
    """A coflow of a trace; its ends are racks."""

    id: int
    at: int
    mappers: list[int]
    reducers: list[tuple[int, int]]


class FlowFile:
    """A file of flows or coflows, and the field that names it."""

    def __init__(self, path: Path, loc: Loc, findings: Findings) -> None:
        self.path = path
        self.loc = loc
        self.findings = findings

    def problem(self, message: str, line: int | None = None) -> None:
        """Notes what is wrong with the file."""
        self.findings.add_in(self.loc, message, str(self.path), line)

    def coflows(self) -> list[Coflow]:
        """The coflows of a trace in the FB2010 format."""
        data = self._bytes()
        if data is None:
            return []
        try:
            coflows = _core.parse_coflows(data)
        except _core.FlowFileError as error:
            line, field, message = error.args
            self.problem(f"{field}: {message}", line)
            return []
        return [Coflow(*coflow) for coflow in coflows]

    def flows(self) -> Iterator[Flow]:
        """The flows of a list, in the file's order; after the last one, notes what is wrong with the file."""
        if self._size() is None:
            return

        try:
            yield from self._read(self._table())
        except (*DAMAGED, OSError, ValueError) as error:
            line = self._ragged_line()
            said = "more columns than in line 1" if line else why(error)
            self.problem(f"not readable as a table: {said}", line)

    def sizes(self) -> list[tuple[int, float]]:
        """The points of a size distribution in a text file."""
        data = self._bytes()
        if data is None:
            return []
        try:
            return _core.parse_sizes(data.decode("utf-8", "replace"))
        except ValueError as error:
            self.problem(str(error))
            return []

    def _size(self) -> int | None:
        try:
            size = self.path.stat().st_size
        except OSError as error:
            self.problem(f"can't read it: {(error.strerror or '').lower()}")
            return None
        if not self.path.is_file():
            self.problem("not a file")
            return None
        if size > FILE_BYTES_MAX:
            self.problem(f"the file is too large: {size} bytes, at most {FILE_BYTES_MAX} are allowed")
            return None
        if size == 0:
            self.problem("the trace is empty")
            return None
        return size

    def _bytes(self) -> bytes | None:
        return None if self._size() is None else read_bytes(self.path, FILE_BYTES_MAX)

    def _table(self) -> pl.DataFrame:
        if self.path.suffix.lower() == ".parquet":
            return table_files.read_parquet(self.path)
        if self.path.suffix.lower() == ".csv":
            self._check_head()
            return table_files.read_csv(self.path, infer_schema=False)
        raise ValueError("unknown kind of file. Allowed: *.csv, *.parquet")

    def _check_head(self) -> None:
        """Refuses a column that is there twice."""
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            head = [name.strip() for name in next(csv.reader(file), [])]
        if twice := next((name for name in head if head.count(name) > 1), None):
            raise ValueError(f"the column {twice!r} is there {head.count(twice)} times")

    def _ragged_line(self) -> int | None:
        """The first line of a CSV file that has more columns than its first."""
        if self.path.suffix.lower() != ".csv":
            return None
        with self.path.open(encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.reader(file)
            with suppress(csv.Error):
                columns = len(next(reader, []))
                return next((reader.line_num for row in reader if len(row) > columns), None)
        return None

    def _read(self, table: pl.DataFrame) -> Iterator[Flow]:
        if table.height == 0:
            self.problem("the trace is empty: at least one flow is needed")
        if table.height > _ROWS_MAX:
            self.problem(f"{table.height} flows are too many: at most {_ROWS_MAX} are allowed")
            return
        for kinds in (_TIMES, _SIZES):
            if len(several := [name for name in kinds if name in table.columns]) > 1:
                self.problem(f"the columns {allowed(several)} say the same: one is expected", 1)
                return
        time = next((name for name in _TIMES if name in table.columns), None)
        size = next((name for name in _SIZES if name in table.columns), None)
        absent = [name for name in ("from", "to") if name not in table.columns]
        if time is None or size is None or absent:
            needed = "at (or at_ps … at_s), from, to, size (or bytes), and perhaps group"
            self.problem(f"the columns {needed} are expected, found {allowed(table.columns)}", 1)
            return
        group = [name for name in ("group",) if name in table.columns]
        table = _texts(table.select(time, "from", "to", size, *group))
        wrong: dict[int, str] = {}
        for first in range(0, table.height, _ROWS_AT_A_TIME):
            rows = table.slice(first, _ROWS_AT_A_TIME)
            yield from self._rows(rows, first, (_TIMES[time], _SIZES[size]), wrong)
        self._report(wrong)

    def _rows(
        self, rows: pl.DataFrame, first: int, units: tuple[str, str], wrong: dict[int, str]
    ) -> Iterator[Flow]:
        """The flows of a part of the table; `wrong` gets what is wrong in which row, counted from `first`."""
        at, sender, receiver, size, *group = rows
        found: dict[int, str] = {}
        times = _numbers(at, units[0], parse_time, found)
        sizes = _numbers(size, units[1], _positive, found)
        groups = _numbers(group[0], "", _group, found) if group else [0] * rows.height
        ends = [[text or "" for text in column.to_list()] for column in (sender, receiver)]
        wrong |= {first + number: message for number, message in found.items()}
        lines = range(self._line(first), self._line(first + rows.height))
        listed = enumerate(zip(times, *ends, sizes, groups, lines, strict=True))
        return (Flow(*row) for number, row in listed if number not in found)

    def _report(self, wrong: dict[int, str]) -> None:
        for number in sorted(wrong)[:_SHOWN]:
            self.problem(wrong[number], self._line(number))
        if len(wrong) > _SHOWN:
            self.problem(f"{len(wrong) - _SHOWN} more lines are wrong")

    def _line(self, number: int) -> int:
        """The line of a row; a Parquet file has rows only."""
        return number + (2 if self.path.suffix.lower() == ".csv" else 1)


def _texts(table: pl.DataFrame) -> pl.DataFrame:
    """All columns as text."""
    import polars as pl

    return table.select(
        pl.Series(name, [None if value is None else f"{value:.12f}" for value in table[name]], pl.String)
        if table.schema[name].is_float()
        else pl.col(name).cast(pl.String)
        for name in table.columns
    )


def _numbers(column: pl.Series, unit: str, parse: Callable[[str], int], wrong: dict[int, str]) -> list[int]:
    """The column's numbers in base units; `wrong` gets what is wrong in which row."""
    values: dict[str | None, int] = {}
    errors: dict[str | None, str] = {}
    texts = column.to_list()
    for text in set(texts):
        try:
            values[text] = parse((text or "").strip() + unit)
        except ValueError as error:
            values[text] = 0
            errors[text] = f"{column.name}: {error}" if text else f"{column.name}: is missing"
    if errors:
        for number, text in enumerate(texts):
            if text in errors:
                wrong.setdefault(number, errors[text])
    return [values[text] for text in texts]


def _positive(text: str) -> int:
    size = parse_bytes(text)
    if size == 0:
        raise ValueError(f"{text!r} is not allowed: a flow has at least 1B")
    return size


def _group(text: str) -> int:
    if (group := parse_whole(text)) is None:
        raise ValueError(f"{shortened(text)!r} is not a whole number from 0")
    return group
