"""Bars of runs: one for each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TimeRemainingColumn

from incast import text
from incast.cli.words import Words


class Bars:
    """Shows how far runs have come, while it is entered."""

    def __init__(self, names: Sequence[str], console: Console) -> None:
        self._progress = Progress(
            Words("{task.description}"),
            BarColumn(bar_width=None),
            Words("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._tasks: list[TaskID] = [self._progress.add_task(name, total=None, note="") for name in names]
        self._began: dict[int, float] = {}

    def watch(self, number: int, progress: Mapping[str, Any]) -> None:
        """Told by the core about ten times a second and run."""
        seconds = time.monotonic() - self._began.setdefault(number, time.monotonic())
        rate = f", {text.count(progress['events'] / seconds)} events/s" if seconds > 0.05 else ""
        fraction = progress["fraction"]
        self._progress.update(
            self._tasks[number],
            total=None if fraction is None else 1.0,
            completed=fraction or 0,
            note=f"{text.time(progress['sim_time_ps'])} simulated{rate}",
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
