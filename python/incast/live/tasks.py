"""Runs on a Ray cluster, one a processor: each in a folder of its node's, which comes back when it ends.

A node that dies costs the runs that it had: they run again elsewhere. Nodes that join take part. Source: the
Ray documentation, *Tasks* and *Task fault tolerance*.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from incast._version import __version__
from incast.errors import RunError
from incast.folder import make_free
from incast.live.cluster import Cluster
from incast.scratch import Scratch

RETRIES = 5
"""A run that was lost with its node or its process begins again so often."""
POLL_S = 0.2
AHEAD = 2
"""Runs that a cluster is given for each of its processors: none waits for the next one."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Came(Generic[R]):
    """What has come of a run."""

    number: int
    value: R | None
    """What it returned; nothing of one that was lost."""
    error: str = ""
    """Why it was lost."""


def run(
    work: Callable[[T, Path], R], items: Sequence[T], places: Sequence[Path], cluster: Cluster
) -> Generator[Came[R]]:
    """Calls `work` with each item and a folder, on the cluster; yields what came of each, its folder here.

    An item and what `work` returns are pickled. Closing the iterator ends those that run.
    """
    begin = cluster.task(_there, RETRIES)
    waiting = list(enumerate(items))[::-1]
    active: dict[Any, int] = {}
    try:
        while waiting or active:
            while waiting and len(active) < AHEAD * cluster.processors():
                number, item = waiting.pop()
                active[begin(work, item, __version__)] = number
            for promise in cluster.kept(list(active), POLL_S):
                yield _came(active.pop(promise), cluster.outcome(promise), places)
    finally:
        cluster.cancel(list(active))


def _came(number: int, outcome: tuple[R, bytes] | RunError, places: Sequence[Path]) -> Came[R]:
    if isinstance(outcome, RunError):
        return Came(number, None, str(outcome))
    value, packed = outcome
    make_free(places[number], force=True)
    # Whatever a node calls its files, none lies beyond the folder: not so with tar before Python 3.11.4.
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        files.extractall(places[number])
    return Came(number, value)


def _there(work: Callable[[T, Path], R], item: T, version: str) -> tuple[R, bytes]:
    """What a node does: the run, and its folder as one file."""
    if version != __version__:
        raise RunError(f"incast is {__version__} there, and {version} here")
    with Scratch() as scratch:
        place = scratch.path / "run"
        value = work(item, place)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, mode="w") as files:
            for file in sorted(place.rglob("*")):
                files.write(file, file.relative_to(place))
        return value, packed.getvalue()
