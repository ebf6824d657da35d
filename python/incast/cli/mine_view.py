"""How mining goes: a bar for reading and for each pass, after a while; off a terminal, lines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from incast.cli.plain import plain
from incast.mining.run import Progress as Passes
from incast.mining.run import Watch

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE_S = {True: 1.0, False: 5.0}
"""Progress is shown when it takes longer, on a terminal and off it: what shows it takes time to load."""
_LEAST_S = 0.05
"""A rate over less says nothing."""


class View(Watch):
    """Shows rates, and the time that is left of a pass."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._size = 0
        self._name = ""
        self._passes = 0
        self._bar: Progress | None = None
        self._task: Any = None

    def reading(self, size: int) -> None:
        """A file of so many bytes is read."""
        self._size = size

    def read(self, size: int) -> None:
        """So many bytes of it have been read."""
        if self._wanted():
            self._show("reading", size, self._size, self._rate(size / 1e6, "MB/s"))

    def mining(self, transactions: int, progress: Passes) -> None:
        """A pass goes on."""
        del transactions
        passes = progress.passes()
        done, total = progress.of_pass()
        if self._passes != len(passes):
            self._passes = len(passes)
            self._since = time.monotonic()
        if self._wanted():
            name = f"pass {len(passes) + 1}"
            self._show(name, done, total, self._rate(done, "transactions/s"))

    def warn(self, message: str) -> None:
        """Where errors go too."""
        print(plain(f"warning: {message}"), file=sys.stderr)

    def _wanted(self) -> bool:
        return time.monotonic() - self._began > _PATIENCE_S[sys.stderr.isatty()]

    def _rate(self, done: float, unit: str) -> str:
        seconds = time.monotonic() - self._since
        return f"{done / seconds:,.0f} {unit}" if seconds > _LEAST_S else ""

    def _show(self, name: str, done: int, total: int, note: str) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TimeRemainingColumn

            from incast.cli.lines import bars
            from incast.cli.terminal import SafeConsole
            from incast.cli.words import Words

            columns = (
                Words("{task.description}"),
                BarColumn(),
                Words("{task.fields[note]}"),
                TimeRemainingColumn(),
            )
            self._bar = bars(SafeConsole(stderr=True), *columns)
            self._bar.start()
        if name != self._name:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=total, note=note)
            self._name = name
        self._bar.update(self._task, completed=done, total=total, note=note)

    def __enter__(self) -> Self:
        self._since = self._began = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
