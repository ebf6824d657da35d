"""The folder that walks are written to: first next to its place, moved there when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from incast._version import __version__
from incast.folder import FORMAT, REPORT, SUMMARY, taken, write_json, write_table
from incast.folder import WALKS_MARKER as MARKER
from incast.recording import is_free
from incast.scratch import Scratch

TABLES = (
    "scores", "top", "visits", "nodes", "communities", "members", "walks", "walks_series", "hosts",
)  # fmt: skip
FILES = (SUMMARY, REPORT, "corpus.txt", "walks.npy")


class Writer:
    """Writes tables in parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts: dict[str, int] = {}

    def table(self, name: str, frame: pl.DataFrame) -> None:
        """Adds rows to a table."""
        part = self._parts.get(name, 0)
        self._parts[name] = part + 1
        place = self.folder / name
        place.mkdir(exist_ok=True)
        write_table(place / f"part-{part:05}.parquet", frame)

    def summary(self, content: dict[str, Any]) -> None:
        """The summary, last."""
        write_json(self.folder / MARKER, {"format": FORMAT, "written_by": f"incast {__version__}"})
        write_json(self.folder / SUMMARY, content)


def check_free(folder: Path, force: bool) -> None:
    """Refuses a folder that holds something, unless it is a result of walks and may be overwritten."""
    if is_free(folder):
        return
    if not force or not (folder / MARKER).is_file():
        raise taken(folder, MARKER)


@contextmanager
def written(folder: Path, force: bool) -> Iterator[Writer]:
    """A writer whose result is at `folder` in the end, or, when something goes wrong, not at all."""
    check_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Scratch(folder.parent, f".{folder.name}.incast-") as scratch:
        beside = scratch.path
        yield Writer(beside)
        check_free(folder, force)
        _clear(folder)
        folder.mkdir(exist_ok=True)
        # The marker goes first: what follows is ours whatever happens.
        for each in sorted(beside.iterdir(), key=lambda path: path.name != MARKER):
            each.rename(folder / each.name)


def _clear(folder: Path) -> None:
    """Removes what a result of walks consists of, and nothing else."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    for name in TABLES:
        for part in folder.glob(f"{name}/part-*.parquet"):
            part.unlink()
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
