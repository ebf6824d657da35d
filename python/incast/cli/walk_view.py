"""How walks go: one bar in memory; with servers, a bar of each server's queue too; off a terminal, lines."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from incast import text
from incast.cli.lines import Lines, task_line
from incast.cli.words import Words
from incast.walks.board import Board
from incast.walks.run import Watch

_PATIENCE_S = 2.0
"""In memory, a bar is shown when it takes longer."""
_ROWS_MAX = 32
"""Servers that are shown; of more, those with the longest queues."""
_CTRL_C = 3
"""Columns free at the end of the last line: there a terminal writes `^C`, which must begin no line."""
_FULL = 0.8
"""A queue is drawn as full from this part of its room on."""


class View(Watch):
    """Shows how many walks are finished, how fast, how long the rest will take."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("walks"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            Words("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("walks", total=None, note="")
        self._board: Board | None = None
        self._lines = Lines(console, self._said)
        self._live = Live(console=console, transient=True, refresh_per_second=10, get_renderable=self._drawn)
        self._began = 0.0
        self._done = 0

    def begin(self, total: int, board: Board | None) -> None:
        """So many walks will be walked."""
        self._began = time.monotonic()
        self._board = board
        self._progress.update(self._task, total=total)
        if board:
            self._start()

    def more(self, walks: int) -> None:
        """So many more are finished."""
        self._done += walks
        seconds = time.monotonic() - self._began
        note = f"{text.count(self._done / seconds)} walks/s" if seconds > 0 else ""
        self._progress.update(self._task, completed=self._done, note=note)
        if seconds >= _PATIENCE_S:
            self._start()

    def metrics(self, address: str) -> None:
        """Where Prometheus finds figures."""
        self._console.print(f"Metrics: {address}", soft_wrap=True, highlight=False)

    def warn(self, message: str) -> None:
        """Above the bars."""
        self._console.print(f"[yellow]warning:[/] {message}", soft_wrap=True, highlight=False)

    def _start(self) -> None:
        if not self._console.is_terminal:
            self._lines.start()
        elif not self._live.is_started:
            self._live.start()

    def _said(self) -> str:
        return task_line(self._progress.tasks[0])

    def _drawn(self) -> RenderableType:
        bar = Constrain(self._progress, self._console.width - _CTRL_C)
        return Group(self._servers(self._board), bar) if self._board else bar

    def _servers(self, board: Board) -> Table:
        """A bar a server: walkers that wait there."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("server", "queue", "", "drops", "walkers/s", "finished"):
            table.add_column(name, justify="left" if name in ("server", "queue") else "right", no_wrap=True)
        shown = board.servers
        if len(shown) > _ROWS_MAX:
            shown = sorted(shown, key=lambda server: -server.queue)[:_ROWS_MAX]
        for server in shown:
            colour = "red" if server.queue >= _FULL * board.room else "cyan"
            required = server.totals.get("required", 0)
            part = f"{server.totals.get('finished', 0) / required:.0%}" if required else ""
            waiting = min(server.queue, board.room)
            table.add_row(
                server.name,
                ProgressBar(board.room, waiting, width=24, complete_style=colour, finished_style=colour),
                text.count(server.queue),
                Text(text.count(server.drops), style="red" if server.drops else ""),
                text.count(server.served_per_s),
                part,
            )
        more = len(board.servers) - len(shown)
        if more:
            table.caption = f"and {more} servers with shorter queues"
        return table

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        self._lines.stop()
