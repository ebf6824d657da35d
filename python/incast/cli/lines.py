"""Progress where no terminal shows it: a line every ten seconds, as logs and `make` keep it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task

from incast import text
from incast.cli.plain import plain

EVERY_S = 10.0
"""Between two lines."""


def bars(console: Console, *columns: ProgressColumn) -> Progress:
    """Bars on a terminal, where they go at the end; elsewhere lines of the same tasks."""
    kind = Progress if console.is_terminal else _TaskLines
    return kind(*columns, console=console, transient=True)


class Lines:
    """Prints what `say` returns, every ten seconds from `start` to `stop`; an empty line is left out."""

    def __init__(self, console: Console, say: Callable[[], str]) -> None:
        self._console = console
        self._say = say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def start(self) -> None:
        """The first line comes after ten seconds."""
        if not self._thread.is_alive():
            self._thread.start()

    def stop(self) -> None:
        """No more lines."""
        self._over.set()

    def _tell(self) -> None:
        while not self._over.wait(EVERY_S):
            if line := self._say():
                self._console.print(plain(line), soft_wrap=True, highlight=False, markup=False)


class _TaskLines(Progress):
    """Tasks in one line, without bars."""

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool) -> None:
        super().__init__(*columns, console=console, transient=transient)
        self._lines = Lines(console, self._said)

    def start(self) -> None:
        self._lines.start()

    def stop(self) -> None:
        self._lines.stop()

    def _said(self) -> str:
        with self._lock:
            return "; ".join(said for each in self.tasks if each.visible and (said := task_line(each)))


def task_line(task: Task) -> str:
    """Where a task is, like `deep: 41 %, 2 s simulated`; nothing of a task that has not begun."""
    done = text.percent(task.completed / task.total) if task.total else ""
    parts = [part for part in (done, task.fields.get("note", "")) if part]
    name = task.description.strip()
    return ": ".join([*([name] if name else []), ", ".join(parts)]) if parts else ""
