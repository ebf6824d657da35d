"""Progress where no terminal shows bars: a line every ten seconds, for logs and for `make`."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task

from incast import text
from incast.cli.plain import plain

__all__ = ["EVERY_S", "Lines", "Ticks", "bars"]

EVERY_S = 10.0
"""Time between two lines."""


class Ticks:
    """Calls `say` every ten seconds while it is entered; `say` returns a line, or nothing to print none."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def say(self) -> str:
        """The line of now."""
        raise NotImplementedError

    def begin(self) -> None:
        """The first line comes in ten seconds."""
        self._thread.start()

    def end(self) -> None:
        """No more lines."""
        self._over.set()

    def _tick(self) -> None:
        while not self._over.wait(EVERY_S):
            if line := self.say():
                self._console.print(plain(line), soft_wrap=True, highlight=False, markup=False)
