"""What Polars raises when a file is damaged. Its Parquet decoders may also panic, which is no `Exception`."""

from __future__ import annotations

from polars.exceptions import PanicException, PolarsError

DAMAGED = (PolarsError, PanicException)
