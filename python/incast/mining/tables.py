"""Transactions from tables, in long form or one-hot, and from Python's collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incast import _core
from incast.errors import why
from incast.mining.problem import ITEM_MAX, refuse

Given = tuple[_core.MineTransactions, list[str] | None]
"""Transactions, and the names of their items where they are no numbers."""

TRANSACTION, ITEM = LONG = ("transaction", "item")


_TEXT_OR_NUMBERS = "whole numbers, or names, are allowed"


def read(file: Path) -> Given:
    """A table in long form."""
    try:
        parquet = file.suffix == ".parquet"
        table = (
            pl.read_parquet(file, columns=list(LONG))
            if parquet
            else pl.read_csv(file, columns=list(LONG), infer_schema_length=None)
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        refuse(f"{why(error)}: a table with the columns transaction and item is allowed", file=file)
    return long_form(table, str(file))


def long_form(table: pl.DataFrame, name: str = "") -> Given:
    """A row for each item of each transaction, in any order."""
    for column in LONG:
        values = table[column]
        if values.dtype.is_nested() or values.dtype == pl.Object:
            what = str(values.dtype).lower()
            refuse(f"it holds values of the type {what}: {_TEXT_OR_NUMBERS}", f"column {column}", name)
        missing = values.is_null()
        if values.dtype.is_float():
            missing |= values.is_nan()
        if missing.any():
            row = int(missing.arg_max() or 0) + 1
            refuse("there is no value", f"row {row}, column {column}", name)
    items, names = _numbers(table[ITEM], name)
    table = pl.DataFrame({TRANSACTION: table[TRANSACTION], ITEM: items}).sort(TRANSACTION)
    ends = table.group_by(TRANSACTION, maintain_order=True).len()["len"].cum_sum()
    return _rows(ends.to_numpy(), table[ITEM].to_numpy()), names


def _numbers(items: pl.Series, name: str) -> tuple[pl.Series, list[str] | None]:
    """Items as numbers; anything but whole numbers is a name, and names are numbered in their order."""
    if items.dtype.is_integer():
        wrong = items.filter((items < 0) | (items > ITEM_MAX))
        if len(wrong):
            refuse(f"{wrong[0]} is not an item: 0 to {ITEM_MAX}", f"column {ITEM}", name)
        return items.cast(pl.UInt32), None
    text = items.cast(pl.String)
    names = text.unique().sort()
    return (text.rank("dense") - 1).cast(pl.UInt32), names.to_list()


def one_hot(frame: Any) -> tuple[_core.MineTransactions, list[Any]]:
    """A row for each transaction, a column for each item: true or 1 where it has it; the columns' names."""
    columns = list(frame.columns)
    _only_different(columns)
    if hasattr(frame, "sparse"):
        matrix = frame.sparse.to_coo().tocsr()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        _only_ones(matrix.data)
        return _rows(matrix.indptr[1:], matrix.indices), columns
    matrix = np.asarray(frame.to_numpy())
    _only_ones(matrix)
    rows, items = np.nonzero(matrix)
    ends = np.bincount(rows, minlength=len(matrix)).cumsum()
    return _rows(ends, items), columns


def _only_ones(values: np.ndarray[Any, Any]) -> None:
    if values.dtype == bool:
        return
    wrong = values[~np.isin(values, (0, 1))]
    if len(wrong):
        refuse(f"{wrong[0]!r} in a one-hot frame: true and false, or 1 and 0, are allowed")


def long_frame(frame: Any) -> Given:
    """The same from a frame of pandas, or any other that has columns."""
    columns = {name: frame[name].to_list() for name in LONG}
    for name, values in columns.items():
        _of_one_type(values, partial(_place, name))
    return long_form(pl.DataFrame(columns))


def _place(column: str, row: int) -> str:
    return f"row {row + 1}, column {column}"


def collections(transactions: Iterable[Iterable[Any]]) -> Given:
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
    return _rows(ends, numbers.to_numpy()), names


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
        if item is None or kind.__name__ in ("NAType", "NaTType") or (kind is float and item != item):
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


def _type(item: Any) -> type:
    """Its type, whoever's number or text it is."""
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


def _rows(ends: np.ndarray[Any, Any], items: np.ndarray[Any, Any]) -> _core.MineTransactions:
    core = _core.MineTransactions()
    core.rows(np.ascontiguousarray(ends, dtype=np.uint64), np.ascontiguousarray(items, dtype=np.uint32))
    return core
