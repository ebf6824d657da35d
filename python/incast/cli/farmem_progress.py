"""A bar for a grid of runs: which run, how many a minute, how long the rest will take."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from incast.farmem.session import CELL, FAR, LOCAL, NEAR, Session
from incast.report import text

_SAID = {LOCAL: "all memory local", NEAR: "no network", FAR: "long waits", CELL: "cells"}


class GridBar:
    """Shown while it is entered."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, note="")
        self._began = time.monotonic()
        self._before: int | None = None

    def tell(self, kind: str, session: Session) -> None:
        """A run of this kind begins."""
        done, missing = len(session.rows), session.missing()
        if self._before is None:
            self._before = done
        ran, seconds = done - self._before, time.monotonic() - self._began
        notes = [f"{done} of {done + missing} runs"] if missing else []
        if ran:
            notes.append(f"{text.digits(ran / seconds * 60)} a minute")
            notes += [f"{text.time(seconds / ran * missing * 1e12)} left"] if missing else []
        self._progress.update(
            self._task,
            description=_SAID.get(kind, kind),
            completed=done,
            total=done + missing if missing else None,
            note=", ".join(notes),
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
