"""A bar for a grid of runs: which run, how many a minute, how long the rest will take."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.text import Text

from incast import text
from incast.cli.lines import bars
from incast.cli.words import Words
from incast.farmem.grid import CELL, FAR, LOCAL, NEAR, TRACE, MeasuredGrid

_SAID = {
    LOCAL: "all memory local",
    TRACE: "traced: up to five times as long as with the least memory",
    NEAR: "no network",
    FAR: "long waits",
    CELL: "cells",
}


class _Left(ProgressColumn):
    """Time to the end, as it passes."""

    def render(self, task: Task) -> Text:
        end = task.fields["end"]
        left = "" if end is None else f"{text.time(max(0.0, end - time.monotonic()) * 1e12)} left"
        return Text(left)


class GridBar:
    """Shown while it is entered."""

    def __init__(self, console: Console) -> None:
        self._progress = bars(
            console,
            Words("{task.description}"),
            BarColumn(bar_width=None),
            Words("{task.fields[note]}"),
            _Left(),
        )
        self._task = self._progress.add_task("", total=None, note="", end=None)
        self._began = time.monotonic()
        self._before: int | None = None

    def tell(self, kind: str, grid: MeasuredGrid) -> None:
        """A run of this kind begins."""
        done, missing, left_s = len(grid.rows), grid.missing(), grid.left_s()
        if self._before is None:
            self._before = done
        ran, now = done - self._before, time.monotonic()
        notes = [f"{done} of {done + missing} runs"] if missing else []
        if ran:
            notes.append(f"{text.digits(ran / (now - self._began) * 60)} a minute")
        # Runs of a grid take unlike times, so the bar is of time, not of runs.
        ended_s = sum(row.wall_s for row in grid.rows)
        self._progress.update(
            self._task,
            description=_SAID.get(kind, kind),
            completed=ended_s,
            total=ended_s + left_s if missing else None,
            note=", ".join(notes),
            end=now + left_s if missing else None,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
