"""A run as the page sees it, whichever program made it: what is on disk of it now.

`simulated` is a run with a simulated network; `programs` are those on real hosts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from incast.bounded import read_json
from incast.errors import ResultError
from incast.folder import SUMMARY, check_format
from incast.view import places, tables
from incast.view.pyramid import Pyramid
from incast.view.words import Words

Signature = tuple[tuple[str, int, int], ...]
"""Names, sizes and times of change of a run's files."""


class UnknownError(LookupError):
    """The run has no such port, node, flow or task; its text says so."""


class Run(ABC):
    """What is on disk of a run now; a new one is made when that has changed."""

    words: Words
    """What the page calls what it draws."""
    read_summary: Callable[[Path], dict[str, Any]]
    """Reads the figures of such a run; raises `ResultError`."""

    def __init__(self, place: places.Place) -> None:
        self.name = place.name
        self.folder = place.folder
        self.notes: list[str] = []
        """What could not be read, and what is missing."""
        self.problem = places.problem(place)
        """Why there is nothing to see; empty where there is something."""
        try:
            check_format(self.folder)
        except ResultError as error:
            self.problem = f"{error}."

    @property
    def in_progress(self) -> bool:
        """Whether more may come."""
        return places.marker(self.folder) is not None and not (self.folder / SUMMARY).is_file()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The figures; empty while the run is in progress, or where they can't be read."""
        if not (self.folder / SUMMARY).is_file():
            return {}
        try:
            return self.read_summary(self.folder / SUMMARY)
        except ResultError as error:
            self.notes.append(f"{error}.")
            return {}

    @property
    @abstractmethod
    def subjects(self) -> dict[str, list[Any]]:
        """What is coloured, in columns: what it is (`of`), its name, its node, and its totals."""

    @property
    @abstractmethod
    def pyramid(self) -> Pyramid:
        """The samples of the subjects."""

    @property
    @abstractmethod
    def sampled(self) -> list[int]:
        """Each subject's position among the samples, or -1."""

    @abstractmethod
    def drawing(self, width: int) -> dict[str, Any]:
        """Nodes with their places in a picture of this width, and edges; of both the subjects by position."""

    @property
    @abstractmethod
    def jobs(self) -> pl.DataFrame:
        """The jobs on the timeline."""

    @property
    @abstractmethod
    def tasks(self) -> pl.DataFrame:
        """The tasks below them."""

    @property
    @abstractmethod
    def events(self) -> pl.DataFrame:
        """Faults, as marks on the timeline."""

    @property
    def alerts(self) -> Sequence[str]:
        """What stands above everything else."""
        return ()

    @abstractmethod
    def missing(self) -> list[str]:
        """What a reader might look for in vain, and why it is not there."""

    @cached_property
    def end_ps(self) -> int:
        """The end of what is known, in picoseconds."""
        frames = (self.jobs, self.tasks)
        latest = (frame.select(pl.max_horizontal("start_ps", "end_ps").max()).item() for frame in frames)
        return max(int(self.summary.get("sim_time_ps") or 0), *(int(each or 0) for each in latest), 1)

    def read(self, table: str, columns: tables.Schema, *where: pl.Expr) -> pl.DataFrame:
        """Rows of a table that meet the conditions, as far as they can be read."""
        return tables.read(self.folder, table, columns, self.notes, *where)

    def signature(self) -> Signature:
        """Changes whenever something is written into the folder or removed from it."""
        found = []
        for file in (*self.folder.glob("*/*.parquet"), *self.folder.glob("*.json")):
            try:
                status = file.stat()
            except OSError:
                continue  # It was removed just now.
            found.append((f"{file.parent.name}/{file.name}", status.st_size, status.st_mtime_ns))
        return tuple(sorted(found))

    def object(self, file: str) -> dict[str, Any]:
        """A JSON file of the folder; empty where it can't be read."""
        try:
            content = read_json(self.folder / file)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}
