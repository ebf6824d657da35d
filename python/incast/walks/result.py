"""What came of walks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incast import stored, table_files
from incast.arguments import checked
from incast.errors import ResultError
from incast.folder import SUMMARY, WALKS_MARKER, check_format, check_kind, readable
from incast.hints import unknown


class WalkResult:
    """A folder of walks. Its tables are Polars frames; their columns are in the reference manual."""

    @checked(ResultError)
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        check_format(self.path)
        check_kind(self.path, WALKS_MARKER)
        if not (self.path / WALKS_MARKER).is_file():
            raise ResultError(f"{path} is not a result of incast walk")
        self.summary: Mapping[str, Any] = stored.read_walks(self.path / SUMMARY)
        """What was walked, and the top of the result."""

    @staticmethod
    def open(path: str | Path) -> WalkResult:
        """The result in a folder."""
        return WalkResult(path)

    @property
    def interrupted(self) -> bool:
        """Whether walks were stopped: the result holds those that were finished."""
        return bool(self.summary.get("interrupted"))

    @property
    def given_up(self) -> int:
        """Walks on servers that were given up, all their attempts timed out: the result holds the others."""
        return int(self.summary.get("given_up", 0))

    @property
    def unwritten(self) -> list[str]:
        """What servers could not write on their disks, with the path; the walks went on without."""
        return list(self.summary.get("unwritten", []))

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return sorted(part.parent.name for part in self.path.glob("*/part-00000.parquet"))

    @checked(ResultError)
    def table(self, name: str) -> pl.DataFrame:
        """A table."""
        if name not in self.tables:
            raise ResultError(unknown("a table of this result", name, self.tables))
        with readable(self.path / name):
            return table_files.read_parquet(sorted((self.path / name).glob("part-*.parquet")))

    @cached_property
    def top(self) -> pl.DataFrame:
        """What the command shows."""
        return pl.DataFrame(self.summary["top"])

    def queues(self) -> dict[str, tuple[float, int]]:
        """With servers: how many walkers waited at each, on average over its samples and at most."""
        if "walks_series" not in self.tables:
            return {}
        lengths = (
            self.table("walks_series").group_by("host").agg(pl.col("queue").mean(), pl.col("queue_max").max())
        )
        return {host: (mean, most) for host, mean, most in lengths.iter_rows()}

    @property
    def walks(self) -> np.memmap[Any, np.dtype[np.uint32]]:
        """`walks.npy`: a row a walk, numbers of nodes; not read into memory."""
        file = self.path / "walks.npy"
        if not file.is_file():
            raise ResultError(f"{self.path} has no walks.npy: it is written by node2vec")
        found: np.memmap[Any, np.dtype[np.uint32]] = np.load(file, mmap_mode="r")
        return found
