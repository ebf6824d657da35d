"""Transactions from tables, in long form or one-hot, and from Python's collections."""

from __future__ import annotations

from collections.abc import Iterable
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


def read(file: Path) -> Given:
    """A table in long form."""
    try:
        parquet = file.suffix == ".parquet"
        table = (
            pl.read_parquet(file, columns=list(LONG)) if parquet else pl.read_csv(file, columns=list(LONG))
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        refuse(f"{why(error)}: a table with the columns transaction and item is allowed", file=file)
    return long_form(table, str(file))


def long_form(table: pl.DataFrame, name: str = "") -> Given:
    """A row for each item of each transaction, in any order."""
    for column in LONG:
        if table[column].null_count():
            row = int(table[column].is_null().arg_max() or 0) + 1
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


def collections(transactions: Iterable[Iterable[Any]]) -> Given:
    """Transactions as lists, sets or tuples of items: numbers, or anything else by its text."""
    lists = [list(items) for items in transactions]
    ends = np.cumsum([len(items) for items in lists], dtype=np.uint64)
    flat = [item for items in lists for item in items]
    if all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in flat):
        numbers, names = _numbers(pl.Series(flat, dtype=pl.Int64), "")
    else:
        numbers, names = _numbers(pl.Series([str(item) for item in flat], dtype=pl.String), "")
    return _rows(ends, numbers.to_numpy()), names


def _rows(ends: np.ndarray[Any, Any], items: np.ndarray[Any, Any]) -> _core.MineTransactions:
    core = _core.MineTransactions()
    core.rows(np.ascontiguousarray(ends, dtype=np.uint64), np.ascontiguousarray(items, dtype=np.uint32))
    return core
