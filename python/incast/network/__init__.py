"""What an operator asks of a run's network: how full buffers were, how even ECMP's ways, who was paused why.

All of it is computed from the run's tables. `Tables` gives a table by its name, be it of a result or of a
report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import polars as pl

Tables: TypeAlias = "Callable[[str], pl.DataFrame]"
