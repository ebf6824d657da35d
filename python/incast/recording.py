"""Tables of a program on real hosts while it runs, for `incast view`: they grow in the folder of its result.

The result itself is written at the end. Until then `progress`, a folder in its place, has the same marker and
the tables that are known so far. Its lock (flock(2)) ends with the process: what is left of a run that was
killed is shown only where there is no result, and removed by the next run.

Rows are at first a tenth of a second apart. Whenever `ROWS` of a table are written, the interval doubles, so
a run of a week has little more than one of an hour.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from incast.folder import mark, whole, write_table

if TYPE_CHECKING:
    import polars as pl

PROGRESS = "progress"
INTERVAL_S = 0.1
"""Between two rows of a series at first."""
FLUSH_S = 1.0
"""Between two times at which files are written."""
ROWS = 20_000
"""Rows of a series after which the interval doubles."""
_PART_ROWS = 5_000
"""A part is written again with each new row until it has so many."""


class Recording:
    """The tables of a run that goes on, while it is entered. A disk that can't be written ends it quietly."""

    def __init__(self, folder: Path | None, marker: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Of the result that will be in `folder`, with its marker; without a folder nothing is written."""
        self._place = None if folder is None else folder / PROGRESS
        self._marker = marker
        self._clock = clock
        self._interval_s = INTERVAL_S
        self._next_s, self._flushed_s = clock(), float("-inf")
        self._series: dict[str, list[pl.DataFrame]] = {}
        self._parts: dict[str, int] = {}
        self._rows = 0
        self._made = self._failed = False
        self._lock = -1

    @property
    def going(self) -> bool:
        """Whether anything is written: there is a folder, and a disk that takes it."""
        return self._place is not None and not self._failed

    def due(self) -> bool:
        """Whether it is time for rows of the series; then it is time for others after the interval."""
        if not self.going or self._clock() < self._next_s:
            return False
        self._next_s = self._clock() + self._interval_s
        return True

    def add(self, table: str, frame: pl.DataFrame) -> None:
        """Adds rows to a series."""
        if not self.going:
            return
        self._series.setdefault(table, []).append(frame)
        self._rows += frame.height
        if self._rows >= ROWS:
            self._interval_s *= 2
            self._rows = 0

    def flush(self, known: Callable[[], dict[str, pl.DataFrame]], *, now: bool = False) -> None:
        """Writes the series, and the tables of what is known by now, when it is time or at once."""
        if self._place is None or self._failed or not (now or self._clock() - self._flushed_s >= FLUSH_S):
            return
        self._flushed_s = self._clock()
        try:
            for table, frame in known().items():
                self._write(self._place / table / "part-00000.parquet", frame)
            for table in self._series:
                self._write_series(self._place, table)
        except OSError:
            self._failed = True  # What is there is removed at the end: nothing goes on in it.

    def _write_series(self, place: Path, table: str) -> None:
        import polars as pl  # `incast mine` alone does without.

        if not self._series[table]:
            return
        frame = pl.concat(self._series[table])
        number = self._parts.setdefault(table, 0)
        self._write(place / table / f"part-{number:05}.parquet", frame)
        full = frame.height >= _PART_ROWS
        self._parts[table] += full
        self._series[table] = [] if full else [frame]

    def _write(self, file: Path, frame: pl.DataFrame) -> None:
        file.parent.mkdir(exist_ok=True)
        with whole(file) as part:
            write_table(part, frame)

    def keep(self, *tables: str) -> None:
        """Moves tables to the result, in the place of those that an earlier result had."""
        if self._place is None or self._failed:
            return
        for table in tables:
            if (self._place / table).is_dir():
                remove(self._place.parent, table)
                (self._place / table).rename(self._place.parent / table)

    def __enter__(self) -> Self:
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            self._made = not self._place.parent.exists()
            try:
                self._place.mkdir(parents=True)
                self._lock = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY)
                with suppress(OSError):  # A file system without locks.
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mark(self._place, self._marker)
            except OSError:
                self._failed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            if self._lock >= 0:
                os.close(self._lock)
            if self._made:
                with suppress(OSError):
                    self._place.parent.rmdir()  # Where there is no result, nothing is left.


def is_going(place: Path) -> bool:
    """Whether a process still records there."""
    try:
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def remove(folder: Path, table: str) -> None:
    """Removes a table of an earlier result, and nothing else that is in its folder."""
    for part in folder.glob(f"{table}/part-*.parquet"):
        part.unlink()
    with suppress(OSError):
        (folder / table).rmdir()


def is_free(folder: Path, *kept: str) -> bool:
    """Whether nothing is in the folder but what a run that was killed has recorded, or kept to go on with."""
    if not folder.exists():
        return True
    return folder.is_dir() and {each.name for each in folder.iterdir()} <= {PROGRESS, *kept}
