"""What several modules compute of frames: rows, quantiles, whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


_SHOWN = {"_ps": ("_ms", 1e9), "_bps": ("_gbps", 1e9)}
"""Base units of times and rates, what takes their place where people read, and how much more that is."""


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with times in milliseconds (`_ms`) and rates in Gb/s (`_gbps`); sizes stay in bytes."""
    import polars as pl  # It takes a while.

    shown = []
    for name in frame.columns:
        base = next((unit for unit in _SHOWN if name.endswith(unit)), None)
        unit, scale = _SHOWN[base] if base else ("", 1.0)
        column = (pl.col(name) / scale).alias(name.removesuffix(base) + unit) if base else pl.col(name)
        shown.append(column)
    return frame.select(shown)


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
