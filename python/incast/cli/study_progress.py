"""Progress of a study: the bars of runs, told by its watcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich.console import Console

from incast.cli.progress import Bars
from incast.study.cells import CellRun
from incast.study.run import Watcher


class StudyBars(Watcher):
    """One bar for all runs of a study, and one for each that is under way."""

    def __init__(self, name: str, console: Console) -> None:
        self._bars = Bars(name, console)

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.__exit__(None, None, None)

    def begin(self, missing: Sequence[CellRun], total: int) -> None:
        """The bar of all begins with what was there."""
        note = f"{total - len(missing)} of {total} were there" if len(missing) < total else ""
        self._bars.expect([str(each.place) for each in missing], note)

    def progress(self, number: int, progress: Mapping[str, Any]) -> None:
        """Its own bar, and its part of the bar of all."""
        self._bars.watch(number, progress)

    def ended(self, number: int) -> None:
        """Its bar goes."""
        self._bars.ended(number)
