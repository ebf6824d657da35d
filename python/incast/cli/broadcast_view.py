"""How a broadcast goes: a bar a receiver, its rate, the best possible one, the time left.

Off a terminal it is a line on the receivers that have the least.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from incast import text
from incast.cli.lines import Lines

WINDOW_S = 2.0
"""A rate is that of so long before now."""
_ROWS_MAX = 30
_SAID_MAX = 3


class View:
    """Shows how far receivers are, while it is entered."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console = console
        self._names = names
        self._statuses: Mapping[int, Mapping[str, Any]] = {}
        self._past: dict[int, deque[tuple[float, int]]] = {}
        self._lines = Lines(console, self._said)
        self._live = Live(console=console, transient=True, refresh_per_second=5, get_renderable=self._drawn)

    def see(self, statuses: Mapping[int, Mapping[str, Any]]) -> None:
        """Is told where every host stands."""
        now = time.monotonic()
        self._statuses = dict(statuses)
        for host, status in statuses.items():
            past = self._past.setdefault(host, deque([(now, status["bytes"])]))
            if now - past[-1][0] > 0.1:
                past.append((now, status["bytes"]))
            while len(past) > 2 and now - past[1][0] > WINDOW_S:
                past.popleft()

    def _rate(self, host: int) -> float:
        """In bit/s, of late."""
        past = self._past.get(host)
        if not past or past[-1][0] == past[0][0]:
            return 0.0
        return (past[-1][1] - past[0][1]) * 8 / (past[-1][0] - past[0][0])

    def _drawn(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("host", "", "", "rate", "best possible", "left"):
            table.add_column(name, justify="left" if name == "host" else "right", no_wrap=True)
        total = max((status["total"] for status in self._statuses.values()), default=0)
        order = sorted(enumerate(self._names, 1), key=lambda each: self._done(each[0]))
        for number, name in sorted(order[:_ROWS_MAX]):
            table.add_row(name, *self._cells(number, total))
        if len(self._names) > _ROWS_MAX:
            table.caption = f"and {len(self._names) - _ROWS_MAX} that are further"
        return table

    def _said(self) -> str:
        """How many receivers are done, and which have the least."""
        statuses = self._statuses
        total = max((status["total"] for status in statuses.values()), default=0)
        going = [
            number
            for number in range(1, len(self._names) + 1)
            if number not in statuses or statuses[number]["named"] != "done"
        ]
        behind = [
            f"{self._names[number - 1]} {text.percent(max(self._done(number), 0) / total)}"
            f" at {text.rate(self._rate(number))}"
            for number in sorted(going, key=self._done)[:_SAID_MAX]
            if total
        ]
        count = f"{len(self._names) - len(going)} of {text.plural(len(self._names), 'receiver')} done"
        return "; ".join([count, *behind])

    def _done(self, number: int) -> int:
        status = self._statuses.get(number)
        return -1 if status is None else int(status["bytes"])

    def _cells(self, number: int, total: int) -> tuple[Any, ...]:
        status = self._statuses.get(number)
        if status is None:
            return ProgressBar(1, 0, width=24), "", "", "", "not there"
        done, rate = status["bytes"], self._rate(number)
        # What was found out while it was sent may be more than what was known before.
        best = text.rate(None if status["best"] is None else max(status["best"], status["planned"]))
        if status["failed"] is not None:
            left = "failed"
        elif status["named"] == "done":
            left = "done"
        elif status["named"] == "finishing":
            left = "to disk"
        else:
            left = text.time((total - done) * 8 / rate * 1e12) if rate else text.NONE
        part = f"{done / total:.0%}" if total else ""
        return ProgressBar(total or 1, done if total else 1, width=24), part, text.rate(rate), best, left

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        else:
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        self._lines.stop()
