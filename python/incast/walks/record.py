"""Samples of servers in the folder of their walks, while they walk: for `incast view`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from incast.folder import WALKS_MARKER
from incast.recording import Recording
from incast.walks.board import SERIES, Board
from incast.walks.member import SAMPLED

_LAST = ("queue", "timeout_ps")
"""Of several samples of a server the last; of counters the sum, of the longest queue the longest."""


class Record:
    """Records what a board hears, while it is entered; without servers nothing is written."""

    def __init__(
        self, folder: Path, board: Board | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Of walks whose result will be in `folder`."""
        self._recording = Recording(None if board is None else folder, WALKS_MARKER, clock)
        self._board = board
        self._rows: list[Sequence[Any]] = []

    def _hear(self, rows: Sequence[Sequence[Any]]) -> None:
        assert self._board is not None, "a board speaks"
        if not self._recording.going:
            return
        self._rows += rows
        if self._rows and self._recording.due():
            self._recording.add("walks_series", joined(pl.DataFrame(self._rows, SERIES, orient="row")))
            self._rows = []
        self._recording.flush(self._known)

    def _known(self) -> dict[str, pl.DataFrame]:
        assert self._board is not None, "a board speaks"
        return {"walks": self._board.walks({})}

    def __enter__(self) -> Self:
        self._recording.__enter__()
        if self._board is not None:
            self._recording.flush(self._known, now=True)
            self._board.heard = self._hear
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.__exit__(kind, error, trace)


def joined(samples: pl.DataFrame) -> pl.DataFrame:
    """One sample of each server in the place of several."""
    sums = [name for name in SAMPLED[1:] if name not in (*_LAST, "queue_max")]
    grouped = samples.group_by("job", "host", maintain_order=True).agg(
        pl.col("time_ps").max(), pl.col("queue_max").max(), pl.col(_LAST).last(), pl.col(sums).sum()
    )
    return grouped.select(samples.columns)
