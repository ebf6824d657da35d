"""Walks in memory: cut into calls of the core that are short enough for progress and Ctrl-C."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incast import _core
from incast.stop import Stop
from incast.walks.changes import Changes
from incast.walks.graph import U32
from incast.walks.request import Request

U64 = npt.NDArray[np.uint64]
Ends = tuple[U32, U32, U64]
"""Start, node where walks ended, how many: ascending."""
Paths = tuple[U32, U64]
"""Nodes path after path, and where each path begins and the last one ends."""
Tell = Callable[[int], None]
"""Is told how many walks have been finished."""

CALL_STEPS = 1 << 22
"""Steps of a call, about."""


@dataclass(frozen=True)
class InMemory:
    """Walks of a request on a graph in memory."""

    graph: _core.WalkGraph
    request: Request
    threads: int
    tell: Tell
    changes: Changes = field(default_factory=Changes)
    stop: Stop = field(default_factory=Stop)

    @property
    def interrupted(self) -> bool:
        """Walks were stopped before all were finished."""
        return self.stop.asked

    def ends(self, starts: U32) -> Iterator[Ends]:
        """Where walks end. All of a start come together."""
        engine = self._engine()
        parts: list[Ends] = []
        for some, first, walks in self._calls(engine, starts):
            found = engine.ends(some, first, walks)
            types = (np.uint32, np.uint32, np.uint64)
            starts_, nodes, counts = (
                np.frombuffer(each, kind) for each, kind in zip(found, types, strict=True)
            )
            parts.append((starts_, nodes, counts))
            self.tell(len(some) * walks)
            if first + walks == self.request.walks:
                yield _together(parts)
                parts = []
        if parts:
            yield _together(parts)

    def paths(self, starts: U32) -> Iterator[Paths]:
        """The walks' paths, in the order of the starts, by number."""
        engine = self._engine()
        for some, first, walks in self._calls(engine, starts):
            nodes, offsets = engine.paths(some, first, walks)
            self.tell(len(some) * walks)
            yield np.frombuffer(nodes, np.uint32), np.frombuffer(offsets, np.uint64)

    def _engine(self) -> _core.WalkEngine:
        request = self.request
        return _core.WalkEngine(
            self.graph, request.steps, request.stop, request.bias, request.seed, self.threads
        )

    def _calls(self, engine: _core.WalkEngine, starts: U32) -> Iterator[tuple[U32, int, int]]:
        """Starts, the number of the first walk, how many from each; changes of the graph come between."""
        walks = self.request.walks
        began, done, at, first = time.monotonic_ns(), 0, 0, 0
        while at < len(starts) and not self.stop.asked:
            for batch in self.changes.due((time.monotonic_ns() - began) * 1000, done):
                engine.change(json.dumps(batch.spec()))
            size = min(self._size, max(1, self.changes.walks_until(done)))
            if first == 0 and walks <= size:
                several = starts[at : at + size // walks]
                yield several, 0, walks
                at, done = at + len(several), done + len(several) * walks
                continue
            some = min(size, walks - first)
            yield starts[at : at + 1], first, some
            first, done = first + some, done + some
            if first == walks:
                at, first = at + 1, 0

    @property
    def _size(self) -> int:
        """Walks of a call."""
        return max(1, int(CALL_STEPS / (self.request.mean_steps + 1)))


def _together(parts: list[Ends]) -> Ends:
    """Several calls for one start as if they were one."""
    if len(parts) == 1:
        return parts[0]
    nodes, places = np.unique(np.concatenate([part[1] for part in parts]), return_inverse=True)
    counts = np.zeros(len(nodes), dtype=np.uint64)
    np.add.at(counts, places, np.concatenate([part[2] for part in parts]))
    return np.full(len(nodes), parts[0][0][0], dtype=np.uint32), nodes, counts
