"""Programs and memory nodes in base units, and what each program loses at each node.

A program has one node; nodes have memory and a link. What a program loses there is what prediction says
(`_core.farmem_waits`), so it is linear in the node's latency and in the time of a page on its link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incast import _core
from incast.farmem.traced import Counts

__all__ = ["Floats", "Instance", "Place", "Task"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Task:
    """A program."""

    name: str
    memory: int
    """Bytes that it needs of a node."""
    time: int
    """Picoseconds with all memory local."""
    page: int
    """Bytes."""
    counts: Counts
    """Exchanges in that time."""
    at: str | None = None
    """Where it runs."""
    latency: int | None = None
    """Of a request, at most: picoseconds."""
    degradation: float | None = None
    """At most: 0.2 is a fifth."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Place:
    """A node with memory."""

    name: str
    memory: int
    """Bytes."""
    distances: dict[str | None, int]
    """Millimetres from wherever programs run."""
    latencies: dict[str | None, int]
    """Picoseconds of a request from there."""
    rate: int
    """bit/s that programs may use, each direction."""


@dataclass(frozen=True)
class Instance:
    """The question."""

    tasks: tuple[Task, ...]
    places: tuple[Place, ...]
    fixed: int = 0
    """Picoseconds of each request apart from distance, switches and congestion."""
    write_back: bool = True

    @cached_property
    def degradation(self) -> Floats:
        """Of each program (row) at each node (column)."""
        return np.array(
            [[self._waits(task, place) / task.time for place in self.places] for task in self.tasks]
        )

    @cached_property
    def cost(self) -> Floats:
        """The same by weight: what is to be little in all."""
        cost: Floats = self.degradation * np.array([task.weight for task in self.tasks])[:, None]
        return cost

    @cached_property
    def load(self) -> Floats:
        """bit/s of each program at each node, in the busier direction."""
        pages = np.array(
            [max(task.counts.fetched, task.counts.written_back) * task.page for task in self.tasks]
        )
        times = np.array([task.time for task in self.tasks])
        load: Floats = pages[:, None] * 8e12 / (times[:, None] * (1 + self.degradation))
        return load

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Whether a program may be at a node, were it alone there."""
        return np.array(
            [[self.refusal(i, j) is None for j in range(len(self.places))] for i in range(len(self.tasks))]
        )

    @cached_property
    def sensitivity(self) -> Floats:
        """What a microsecond of latency costs each program, by its weight."""
        return np.array([task.weight * self._requests(task) * 1e6 / task.time for task in self.tasks])

    def refusal(self, i: int, j: int) -> str | None:
        """Why a program may not be at a node; nothing where it may."""
        task, place = self.tasks[i], self.places[j]
        if task.memory > place.memory:
            return "has too little memory"
        if task.latency is not None and place.latencies[task.at] > task.latency:
            return "is too far"
        if task.degradation is not None and self.degradation[i, j] > task.degradation:
            return "slows it too much"
        return "has too slow a link" if self.load[i, j] > place.rate else None

    def _requests(self, task: Task) -> int:
        return task.counts.requests + (task.counts.sends if self.write_back else 0)

    def _waits(self, task: Task, place: Place) -> int:
        latency = place.latencies[task.at]
        return sum(_core.farmem_waits(task.counts, task.page, latency, place.rate, self.write_back, 0))
