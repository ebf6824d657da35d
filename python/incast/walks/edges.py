"""Edges from text and tables: fast where all is well, line by line where something is wrong, to say what."""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from incast import table_files
from incast.bounded import lines as bounded
from incast.damage import damaged
from incast.errors import why
from incast.hints import shortened
from incast.quantity import parse_whole
from incast.walks.graph import WEIGHT, Graph, from_numbers, from_text, possible
from incast.walks.problem import refuse, refuse_twice

_SHOWN = 60
"""Characters of a bad line that are shown."""


def read_list(file: Path, weighted: bool, directed: bool) -> Graph:
    """An edge list as SNAP publishes it: two node numbers a line, perhaps a weight, comments after `#`."""
    table = _fast(file, weighted)
    columns = _slow(file, weighted) if table is None else tuple(each.to_numpy() for each in table)
    return from_numbers(columns[0], columns[1], columns[2] if weighted else None, directed)


def _fast(file: Path, weighted: bool) -> list[pl.Series] | None:
    """The columns, if every line is as it should be."""
    first = next(_lines(file), None)
    if first is None:
        refuse("there is no edge in it", file=file)
    separator = "\t" if "\t" in first[1] else " "
    words = first[1].split(separator)
    names = ["source", "target", "weight"][: 2 + weighted]
    if len(words) < len(names):
        return None
    more = [f"more{at}" for at in range(len(words) - len(names))]
    schema = {**dict.fromkeys(names, pl.Int64), **dict.fromkeys(more, pl.String)}
    if weighted:
        schema["weight"] = pl.Float64
    try:
        table = table_files.read_csv(
            file, separator=separator, has_header=False, comment_prefix="#", schema=schema, quote_char=None
        ).select(names)
    except pl.exceptions.PolarsError:
        return None
    good = not sum(table.null_count().row(0)) and table["source"].min() >= 0 and table["target"].min() >= 0  # type: ignore[operator]
    if good and weighted:
        good = bool(possible(table["weight"]).all())
    return [table[name] for name in names] if good else None


def _slow(file: Path, weighted: bool) -> tuple[Any, ...]:
    """The same line by line, with any white space; a line that is wrong is named."""
    sources, targets, weights = array("q"), array("q"), array("d")
    for number, line in _lines(file):
        words = line.split()
        if len(words) < 2 + weighted:
            what = "two node numbers and a weight" if weighted else "two node numbers"
            _bad(file, number, line, f"{what} are expected")
        for word, ends in zip(words, (sources, targets), strict=False):
            if (node := parse_whole(word)) is None:
                _bad(file, number, line, f"{shortened(word)!r} is not a node number, 0 to {2**63 - 1}")
            ends.append(node)
        if weighted:
            weights.append(_weight(file, number, line, words[2]))
    return np.asarray(sources), np.asarray(targets), np.asarray(weights)


def _weight(file: Path, number: int, line: str, word: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        _bad(file, number, line, f"{word!r}: {WEIGHT}")
    if not possible(weight):
        _bad(file, number, line, f"{word}: {WEIGHT}")
    return weight


def _lines(file: Path, comments: str = "#") -> Iterator[tuple[int, str]]:
    """Lines with their number, without comments and empty ones."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(bounded(lines), 1):
                text = line.strip()
                if text and not (comments and text.startswith(comments)):
                    yield number, text
    except (OSError, EOFError) as error:
        refuse(why(error), file=file)


def _bad(file: Path, number: int, line: str, what: str) -> NoReturn:
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
    refuse(f"{shown!r}: {what}", file=file, line=number)


def read_csv(file: Path, weighted: bool, directed: bool) -> Graph:
    """A table with the columns `source` and `target`, and `weight` if asked for; any names."""
    try:
        table = table_files.read_csv(file, infer_schema=False)
    except (*damaged(), OSError) as error:
        _ragged(file)
        refuse(why(error), file=file)
    refuse_twice(table.columns, file)
    return _of_table(file, table, weighted, directed, first_line=2)


def _ragged(file: Path) -> None:
    """Refuses a table for its first line that has more columns than the head, if there is one."""
    columns = None
    for number, line in _lines(file, comments=""):
        # Without quotes: their lines are another matter.
        words = line.count(",") + 1 if '"' not in line else 0
        columns = columns or words
        if words > columns:
            _bad(file, number, line, f"{columns} columns are expected, as in the first line")


def read_parquet(file: Path, weighted: bool, directed: bool) -> Graph:
    """The same as Parquet; the names are integers or text."""
    try:
        table = table_files.read_parquet(file)
    except (*damaged(), OSError) as error:
        refuse(why(error), file=file)
    return _of_table(file, table, weighted, directed, first_line=None)


def _of_table(
    file: Path, table: pl.DataFrame, weighted: bool, directed: bool, first_line: int | None
) -> Graph:
    wanted = ["source", "target", *(["weight"] if weighted else [])]
    if missing := [name for name in wanted if name not in table.columns]:
        refuse(
            f"no column {missing[0]!r}: {', '.join(wanted)} are expected", file=file, line=first_line and 1
        )
    table = table.select(wanted)
    _types(file, table)
    if table.is_empty():
        refuse("there is no edge in it", file=file)

    def wrong(rows: pl.Series, what: str) -> None:
        at = rows.arg_max()
        if at is None or not rows[at]:
            return
        if first_line is None:
            refuse(f"row {at}: {table.row(at)}: {what}", file=file)
        line = at + first_line
        _bad(file, line, _line(file, line), what)

    for name in ("source", "target"):
        wrong(table[name].is_null() | (table[name].cast(pl.String) == ""), f"no {name}: a node is expected")
    weights = None
    if weighted:
        weights = table["weight"].cast(pl.Float64, strict=False)
        wrong(~possible(weights).fill_null(False), WEIGHT)
    numbers = [table[name].cast(pl.Int64, strict=False) for name in ("source", "target")]
    if any(column.null_count() for column in numbers):
        ends = [table[name].cast(pl.String) for name in ("source", "target")]
        return from_text(ends[0], ends[1], weights, directed)
    return from_numbers(numbers[0].to_numpy(), numbers[1].to_numpy(), weights, directed)


def _types(file: Path, table: pl.DataFrame) -> None:
    """Refuses columns that hold neither nodes nor weights."""
    for name, kind in table.schema.items():
        weight = name == "weight"
        if not (kind.is_integer() or kind == pl.String or (weight and kind.is_numeric())):
            allowed = "numbers" if weight else "integers or text"
            refuse(f"column {name!r} is of type {kind}: {allowed} are expected", file=file)


def _line(file: Path, number: int) -> str:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", errors="replace") as lines:
        return next(islice(lines, number - 1, None), "").strip()
