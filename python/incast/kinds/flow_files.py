"""Flows and coflows from files.

A flow list (CSV or Parquet) has the columns `at`, `from`, `to`, `size` and perhaps `group`. Times and sizes
are text with a unit, or the column's name has the unit: `at_ps`, `at_ns`, `at_us`, `at_ms`, `at_s`, `bytes`.
Coflow traces are read by the core (crates/traffic/src/coflow.rs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from incast import _core
from incast.bounded import read_bytes
from incast.damage import damaged
from incast.document import Loc
from incast.errors import why
from incast.hints import allowed, shortened
from incast.kinds.flow_tables import Part, Table, TableError, open_table
from incast.lab.findings import Findings
from incast.quantity import parse_bytes, parse_whole

FILE_BYTES_MAX = 256_000_000
_ROWS_MAX = 10_000_000
_SHOWN = 5

_TIMES = {"at": "", "at_ps": "ps", "at_ns": "ns", "at_us": "us", "at_ms": "ms", "at_s": "s"}
_SIZES = {"size": "", "bytes": "B"}
_PLAIN = re.compile(r"[0-9]+(\.[0-9]+)?")


class Flows(NamedTuple):
    """Flows of a list, by columns: there may be millions. Their ends are names or numbers."""

    at: Sequence[int]
    senders: Sequence[str]
    receivers: Sequence[str]
    sizes: Sequence[int]
    groups: Sequence[int]
    lines: Sequence[int]

    def first(self, count: int) -> Flows:
        """So many of them at most."""
        return Flows._make(column[: max(0, count)] for column in self)


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

    def flows(self) -> Iterator[Flows]:
        """The flows of a list, some at a time, in its order; after the last ones, notes what is wrong."""
        if self._size() is None:
            return

        try:
            yield from self._read(open_table(self.path))
        except TableError as error:
            self.problem(f"not readable as a table: {error}", error.line)
        except (*damaged(), OSError, ValueError) as error:
            self.problem(f"not readable as a table: {why(error)}")

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

    def _read(self, table: Table) -> Iterator[Flows]:
        for kinds in (_TIMES, _SIZES):
            if len(several := [name for name in kinds if name in table.columns]) > 1:
                self.problem(f"the columns {allowed(several)} say the same: one is expected", 1)
                return
        time = next((name for name in _TIMES if name in table.columns), None)
        size = next((name for name in _SIZES if name in table.columns), None)
        absent = [name for name in ("from", "to") if name not in table.columns]
        if time is None or size is None or absent:
            needed = "at (or at_ps … at_s), from, to, size (or bytes), and perhaps group"
            found = allowed(table.columns) if any(table.columns) else "an empty line"
            self.problem(f"the columns {needed} are expected, found {found}", 1)
            return
        group = [name for name in ("group",) if name in table.columns]
        count = 0
        wrong: dict[int, str] = {}
        try:
            for part in table.parts([time, "from", "to", size, *group]):
                count += len(part.lines)
                if count > _ROWS_MAX:
                    self.problem(f"too many flows: at most {_ROWS_MAX} are allowed")
                    return
                yield _flows(part, (time, size), wrong)
        finally:
            self._report(wrong)  # Also where the rows after them can't be read.
        if count == 0:
            self.problem("the trace is empty: at least one flow is needed")

    def _report(self, wrong: dict[int, str]) -> None:
        for line in sorted(wrong)[:_SHOWN]:
            self.problem(wrong[line], line)
        if len(wrong) > _SHOWN:
            self.problem(f"{len(wrong) - _SHOWN} more lines are wrong")


def _flows(part: Part, names: tuple[str, str], wrong: dict[int, str]) -> Flows:
    """The flows of a part of a table; `wrong` gets what is wrong in which line."""
    at, sender, receiver, size, *group = part.columns
    found: dict[int, str] = {}
    times = _times(names[0], at, found)
    sizes = _numbers(names[1], size, _SIZES[names[1]], _positive, found)
    groups = _numbers("group", group[0], "", _group, found) if group else [0] * len(at)
    senders, receivers = ([text or "" for text in column] for column in (sender, receiver))
    flows = Flows(times, senders, receivers, sizes, groups, part.lines)
    if not found:
        return flows
    wrong |= {part.lines[row]: message for row, message in found.items()}
    right = [row not in found for row in range(len(at))]
    return Flows._make(list(compress(column, right)) for column in flows)


def _times(name: str, texts: Sequence[str | None], wrong: dict[int, str]) -> list[int]:
    """A column's times in picoseconds, most of which differ; `wrong` gets what is wrong in which row."""
    unit = _TIMES[name]
    times, refused = _core.parse_times(texts, unit)
    for row, said in refused.items():
        wrong[row] = f"{name}: {_why(texts[row] or '', unit, said)}"
    return times


def _numbers(
    name: str, texts: Sequence[str | None], unit: str, parse: Callable[[str], int], wrong: dict[int, str]
) -> list[int]:
    """A column's numbers in base units, of which many repeat; `wrong` gets what is wrong in which row."""
    values: dict[str | None, int] = {}
    errors: dict[str | None, str] = {}
    for text in set(texts):
        try:
            values[text] = parse((text or "").strip() + unit)
        except ValueError as error:
            values[text] = 0
            errors[text] = f"{name}: {_why(text or '', unit, str(error))}"
    if errors:
        for row, text in enumerate(texts):
            if text in errors:
                wrong.setdefault(row, errors[text])
    return [values[text] for text in texts]


def _why(text: str, unit: str, error: str) -> str:
    """What is wrong with a cell, in whose column's name the `unit` may be."""
    if not text.strip():
        return "is missing"
    if unit and not _PLAIN.fullmatch(text.strip()):
        return f"{shortened(text)!r} is not a plain number, like 1500 or 0.25"
    return error


def _positive(text: str) -> int:
    size = parse_bytes(text)
    if size == 0:
        raise ValueError(f"{text!r} is not allowed: a flow has at least 1B")
    return size


def _group(text: str) -> int:
    if (group := parse_whole(text)) is None:
        raise ValueError(f"{shortened(text)!r} is not a whole number from 0")
    return group
