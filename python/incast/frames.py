"""What several modules compute of frames: rows, quantiles, whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def rows(frame: pl.LazyFrame) -> list[dict[str, Any]]:
    """Its rows, by the columns' names."""
    return frame.collect().rows(named=True)


def quantile(column: str, part: float) -> pl.Expr:
    """What `part` of the column does not exceed, between rows by a straight line."""
    import polars as pl  # It takes a while.

    return pl.col(column).quantile(part, "linear")


def quantile_of(values: pl.Series, part: float) -> float | None:
    """What `part` of the values does not exceed, between values by a straight line."""
    value = values.quantile(part, interpolation="linear")
    return None if value is None or not math.isfinite(value) else float(value)


def whole(value: Any) -> int | None:
    """The nearest whole number; nothing where flows count that never finished."""
    return None if value is None or not math.isfinite(value) else round(value)
