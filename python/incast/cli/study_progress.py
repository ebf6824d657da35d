"""Bars of a study: one for all its runs, and one for each that is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TimeRemainingColumn

from incast import text
from incast.cli.words import Words
from incast.study.cells import CellRun
from incast.study.run import Watcher


class StudyBars(Watcher):
    """One bar for all runs of a study, and one for each that is running."""

    def __init__(self, name: str, console: Console) -> None:
        self._name = name
        self._progress = Progress(
            Words("{task.description}"),
            BarColumn(bar_width=None),
            Words("{task.fields[note]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            transient=True,
        )
        self._names: list[str] = []
        self._running: dict[int, tuple[TaskID, float]] = {}
        self._done = 0
        self._all: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, missing: Sequence[CellRun], total: int) -> None:
        """The bar of all begins with what was there."""
        self._names = [str(each.place) for each in missing]
        note = f"{total - len(missing)} of {total} were there" if len(missing) < total else ""
        self._all = self._progress.add_task(self._name, total=len(missing) or 1, note=note)

    def progress(self, number: int, progress: Mapping[str, Any]) -> None:
        """Its own bar, and its part of the bar of all."""
        if number not in self._running:
            task = self._progress.add_task(f"  {self._names[number]}", total=1.0, note="")
            self._running[number] = task, 0.0
        task, _ = self._running[number]
        fraction = progress["fraction"] or 0.0
        self._running[number] = task, fraction
        self._progress.update(
            task, completed=fraction, note=f"{text.time(progress['sim_time_ps'])} simulated"
        )
        self._update()

    def ended(self, number: int) -> None:
        """Its bar goes."""
        if number in self._running:
            self._progress.remove_task(self._running.pop(number)[0])
        self._done += 1
        self._update()

    def _update(self) -> None:
        if self._all is not None:
            parts = sum(fraction for _, fraction in self._running.values())
            note = f"{self._done} of {len(self._names)} runs"
            self._progress.update(self._all, completed=self._done + parts, note=note)
