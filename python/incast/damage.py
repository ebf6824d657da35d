"""What Polars raises when a file is damaged. Its Parquet decoders may also panic, which is no `Exception`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars.exceptions import PanicException, PolarsError


def damaged() -> tuple[type[PolarsError], type[PanicException]]:
    """These exceptions, for an `except`, which asks only when something is raised: Polars takes a while."""
    from polars.exceptions import PanicException, PolarsError

    return PolarsError, PanicException
