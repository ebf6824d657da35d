"""Progress of runs: one bar for each that is under way, and one for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TimeRemainingColumn

from incast import text
from incast.cli.lines import bars
from incast.cli.words import Words


class Bars:
    """Shows how far runs have come, while it is entered. `names` are those of the runs, by number."""

    def __init__(self, name: str, console: Console, names: Sequence[str] = ()) -> None:
        self._name = name
        self._progress = bars(
            console,
            Words("{task.description}"),
            BarColumn(bar_width=None),
            Words("{task.fields[note]}"),
            TimeRemainingColumn(),
        )
        self._running: dict[int, tuple[TaskID, float, float]] = {}
        """Of each run its bar, its part that is done, and when it began."""
        self._lock = threading.Lock()
        self._done = 0
        self._all: TaskID | None = None
        self.expect(names)

    def expect(self, names: Sequence[str], note: str = "") -> None:
        """So many runs will come; of several, a bar shows how many have ended."""
        self._names = names
        if len(names) > 1 or note:
            self._all = self._progress.add_task(self._name, total=len(names) or 1, note=note)

    def watch(self, number: int, progress: Mapping[str, Any]) -> None:
        """Told by a run's thread, about ten times a second; `fraction` is the part that is done, if known."""
        with self._lock:
            self._show(number, progress)

    def _show(self, number: int, progress: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if number not in self._running:
            indent = "  " if self._all is not None else ""
            task = self._progress.add_task(f"{indent}{self._names[number]}", total=None, note="")
            self._running[number] = task, 0.0, now
        task, _, began = self._running[number]
        fraction = progress["fraction"]
        self._running[number] = task, fraction or 0.0, began
        rate = f", {text.count(progress['events'] / (now - began))} events/s" if now - began > 0.05 else ""
        self._progress.update(
            task,
            total=None if fraction is None else 1.0,
            completed=fraction or 0,
            note=f"{text.time(progress['sim_time_ps'])} simulated{rate}",
        )
        self._update()

    def ended(self, number: int) -> None:
        """Its bar goes."""
        with self._lock:
            if number in self._running:
                self._progress.remove_task(self._running.pop(number)[0])
            self._done += 1
            self._update()

    def _update(self) -> None:
        if self._all is not None:
            parts = sum(fraction for _, fraction, _ in self._running.values())
            note = f"{self._done} of {text.plural(len(self._names), 'run')}"
            self._progress.update(self._all, completed=self._done + parts, note=note)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
