"""Transactions from tables, in long form or one-hot, and from Python's collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incast import _core, table_files
from incast.damage import damaged
from incast.errors import why
from incast.mining.request import ITEM_MAX, refuse
from incast.walks.problem import refuse_twice

Names = list[str] | None
"""Of items, where they are no numbers."""

TRANSACTION, ITEM = LONG = ("transaction", "item")


_TEXT_OR_NUMBERS = "whole numbers, or names, are allowed"
_ONE_HOT = "in a one-hot frame: true and false, or 1 and 0, are allowed"


_PART_BYTES = 100
"""Memory that a row takes while its part of the table is sorted: measured with numbers, and with names."""
_LEAST = 64 << 20
"""Bytes that a part may take, however little memory there is for the rest."""


def read(file: Path, core: _core.MineTransactions, memory: int) -> Names:
    """A table in long form; one that exceeds the memory comes in parts, each of whole transactions."""
    try:
        table = table_files.scan_parquet(file).select(LONG) if file.suffix == ".parquet" else _csv(file)
        parts = 1 + table.select(pl.len()).collect().item() * _PART_BYTES // max(memory, _LEAST)
        if parts == 1:
            return long_form(table.collect(), core, str(file))
        return _in_parts(table, parts, core, str(file))
    except (*damaged(), OSError) as error:
        refuse(f"{why(error)}: a table with the columns transaction and item is allowed", file=file)


def _csv(file: Path) -> pl.LazyFrame:
    """Columns of whole numbers as such, others as text."""
    text = table_files.scan_csv(file, infer_schema=False)
    refuse_twice(text.collect_schema().names(), file)
    text = text.select(LONG)
    number = {column: pl.col(column).cast(pl.Int64, strict=False) for column in LONG}
    other = [(pl.col(column).is_not_null() & number[column].is_null()).any() for column in LONG]
    has_other = text.select(other).collect(engine="streaming")
    return text.with_columns(number[column] for column in LONG if not has_other[column].item())


def long_form(table: pl.DataFrame, core: _core.MineTransactions, name: str = "") -> Names:
    """A row for each item of each transaction, in any order."""
    _check(table.lazy(), name)
    items, names = _numbers(table[ITEM], name)
    _sorted(table[TRANSACTION], items, core)
    return names


def _in_parts(table: pl.LazyFrame, parts: int, core: _core.MineTransactions, name: str) -> Names:
    """Goes through a table once for each part of its transactions, and once for the names of items."""
    _check(table, name)
    names: Names = None
    if not table.collect_schema()[ITEM].is_integer():
        text = table.select(pl.col(ITEM).cast(pl.String).unique())
        names = text.collect(engine="streaming")[ITEM].sort().to_list()
    for part in range(parts):
        some = table.filter(pl.col(TRANSACTION).hash() % parts == part).collect(engine="streaming")
        if names is None:
            items, _ = _numbers(some[ITEM], name)
        else:
            items = some[ITEM].cast(pl.String).cast(pl.Enum(names)).to_physical().cast(pl.UInt32)
        _sorted(some[TRANSACTION], items, core)
    return names


def _check(table: pl.LazyFrame, name: str) -> None:
    for column, kind in table.collect_schema().items():
        if kind.is_nested() or kind == pl.Object:
            what = str(kind).lower()
            refuse(f"it holds values of the type {what}: {_TEXT_OR_NUMBERS}", f"column {column}", name)
        values = pl.col(column)
        missing = values.is_null() | values.is_nan() if kind.is_float() else values.is_null()
        first = table.select(pl.when(missing.any()).then(missing.arg_max())).collect().item()
        if first is not None:
            refuse("there is no value", f"row {first + 1}, column {column}", name)


def _sorted(transactions: pl.Series, items: pl.Series, core: _core.MineTransactions) -> None:
    table = pl.DataFrame({TRANSACTION: transactions, ITEM: items}).sort(TRANSACTION)
    ends = table.group_by(TRANSACTION, maintain_order=True).len()["len"].cum_sum()
    _rows(ends.to_numpy(), table[ITEM].to_numpy(), core)


def _numbers(items: pl.Series, name: str) -> tuple[pl.Series, Names]:
    """Items as numbers; anything but whole numbers is a name, and names are numbered in their order."""
    if items.dtype.is_integer():
        wrong = items.filter((items < 0) | (items > ITEM_MAX))
        if len(wrong):
            refuse(f"{wrong[0]} is not an item: 0 to {ITEM_MAX}", f"column {ITEM}", name)
        return items.cast(pl.UInt32), None
    text = items.cast(pl.String)
    names = text.unique().sort()
    return (text.rank("dense") - 1).cast(pl.UInt32), names.to_list()


def one_hot(frame: Any, core: _core.MineTransactions) -> list[Any]:
    """A row for each transaction, a column for each item: true or 1 where it has it; the columns' names."""
    columns = list(frame.columns)
    nameless = next((at for at, column in enumerate(columns, 1) if _is_missing(column)), None)
    if nameless is not None:
        refuse("it has no name: each item has one", f"column {nameless}")
    _only_different(columns)
    if hasattr(frame, "sparse"):
        matrix = frame.sparse.to_coo().tocsr()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        _only_ones(matrix.data)
        _rows(matrix.indptr[1:], matrix.indices, core)
        return columns
    matrix = np.asarray(frame.to_numpy())
    if matrix.dtype == object:
        _only_simple(matrix)
    _only_ones(matrix)
    rows, items = np.nonzero(matrix)
    ends = np.bincount(rows, minlength=len(matrix)).cumsum()
    _rows(ends, items, core)
    return columns


def _only_ones(values: np.ndarray[Any, Any]) -> None:
    if values.dtype == bool:
        return
    wrong = values[~np.isin(values, (0, 1))]
    if len(wrong):
        refuse(f"{wrong[0]} {_ONE_HOT}")


def _only_simple(values: np.ndarray[Any, Any]) -> None:
    """Refuses lists, which would compare as their elements do."""
    wrong = next((value for value in values.flat if not (_is_simple(value) or _is_missing(value))), None)
    if wrong is not None:
        refuse(f"{np.asarray(wrong).tolist()!r} {_ONE_HOT}")


def long_frame(frame: Any, core: _core.MineTransactions) -> Names:
    """The same from a frame of pandas, or any other that has columns."""
    columns = {name: frame[name].to_list() for name in LONG}
    for name, values in columns.items():
        _of_one_type(values, partial(_place, name))
    return long_form(pl.DataFrame(columns), core)


def _place(column: str, row: int) -> str:
    return f"row {row + 1}, column {column}"


def collections(transactions: Iterable[Iterable[Any]], core: _core.MineTransactions) -> Names:
    """Transactions as lists, sets or tuples of items: numbers, or anything else by its text."""
    lists = [_items(items, at) for at, items in enumerate(transactions)]
    ends = np.cumsum([len(items) for items in lists], dtype=np.uint64)
    flat = [item for items in lists for item in items]
    kind = _of_one_type(flat, lambda at: f"transaction {int(np.searchsorted(ends, at, 'right')) + 1}")
    if kind is int:
        try:
            series = pl.Series(flat, dtype=pl.Int64)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            wrong = next(item for item in flat if not 0 <= item <= ITEM_MAX)
            refuse(f"{wrong} is not an item: 0 to {ITEM_MAX}")
    else:
        series = pl.Series([str(item) for item in flat], dtype=pl.String)
    numbers, names = _numbers(series, "")
    _rows(ends, numbers.to_numpy(), core)
    return names


def _items(items: Any, at: int) -> list[Any]:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        refuse(f"{items!r}: a list, set or tuple of items is allowed", f"transaction {at + 1}")
    return list(items)


def _of_one_type(items: list[Any], where: Callable[[int], str]) -> type:
    """The type that all of them have: 1 and "1" would have one name."""
    for simple in (int, str):
        if {type(item) for item in items} <= {simple}:
            return simple
    first: type | None = None
    for at, item in enumerate(items):
        kind = _type(item)
        if _is_missing(item):
            refuse("there is no value", where(at))
        if kind.__hash__ is None:
            refuse(f"{item!r} is no item: {_TEXT_OR_NUMBERS}", where(at))
        first = first or kind
        if kind is not first:
            refuse(
                f"{item!r} is of the type {kind.__name__}, and {items[0]!r} of {first.__name__}: "
                "items of one type are allowed",
                where(at),
            )
    return first or int


def _is_missing(item: Any) -> bool:
    """Whether it stands for no value, as NaN of any kind does: it is unequal to itself (IEEE 754, 5.11)."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    # A signalling NaN allows no comparison.
    return item.is_nan() if isinstance(item, Decimal) else _is_simple(item) and bool(item != item)


def _is_simple(item: Any) -> bool:
    return isinstance(item, Number | np.generic)


def _type(item: Any) -> type:
    """Its type, whichever library's number or text it is."""
    if isinstance(item, bool | np.bool_):
        return bool
    for kind, others in ((int, np.integer), (float, np.floating), (str, np.str_)):
        if isinstance(item, kind | others):
            return kind
    return type(item)


def _only_different(columns: list[Any]) -> None:
    """Names of items are text in the end."""
    known: dict[str, Any] = {}
    for column in columns:
        if str(column) in known:
            other = known[str(column)]
            refuse(f"columns {other!r} and {column!r} have the same name: each item has one of its own")
        known[str(column)] = column


def _rows(ends: np.ndarray[Any, Any], items: np.ndarray[Any, Any], core: _core.MineTransactions) -> None:
    core.rows(np.ascontiguousarray(ends, dtype=np.uint64), np.ascontiguousarray(items, dtype=np.uint32))
