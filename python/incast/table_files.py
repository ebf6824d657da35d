"""Tables in files, as Polars reads them, but with names taken as they are.

Polars takes `[1]` and `*` in a path for a pattern, and in its errors it names neither what went wrong nor the
file as the system does. No other module calls its readers (`tests/python/test_bounded.py`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def read_parquet(file: Path | Sequence[Path]) -> pl.DataFrame:
    """A Parquet file, or several in order, whole."""
    import polars as pl  # It takes a while.

    return pl.read_parquet(_there(file), glob=False)


def scan_parquet(file: Path | Sequence[Path] | bytes) -> pl.LazyFrame:
    """The same, or the bytes of a file, as a lazy frame."""
    import polars as pl

    return pl.scan_parquet(file if isinstance(file, bytes) else _there(file), glob=False)


def read_csv(file: Path, **how: Any) -> pl.DataFrame:
    """A CSV file whole; `how` is as Polars has it."""
    import polars as pl

    return pl.read_csv(_there(file), glob=False, **how)


def scan_csv(file: Path, **how: Any) -> pl.LazyFrame:
    """The same as a lazy frame."""
    import polars as pl

    return pl.scan_csv(_there(file), glob=False, **how)


def _there(file: Path | Sequence[Path]) -> Any:
    """The same; raises `OSError`, as opening it would, where it is no file that may be read."""
    for each in [file] if isinstance(file, Path) else file:
        if each.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(each))
        each.stat()
        if not os.access(each, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(each))
        check_name(each)
    return file


def check_name(file: Path) -> None:
    """Raises `OSError` where the path is no text, of which Polars knows nothing."""
    try:
        str(file).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "the name is not UTF-8 text", str(file)) from None
