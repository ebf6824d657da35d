"""What servers say of themselves while they walk, gathered: for the terminal, Prometheus, and the tables.

Not here: how servers are run (`incast.walks.servers`), and how it is shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from incast.walks.member import SAMPLED

JOB = "walk"
"""The job's name in tables."""
DROPS = ("drops_early", "drops_forced", "drops_full", "drops_wait")
LOST = ("lost_timeout", "lost_direct", "lost_remote")
_CHUNK = 4096
_BEHIND = ("job", "host")
SERIES: dict[str, Any] = {
    name: pl.String if name in _BEHIND else pl.UInt64 for name in (SAMPLED[0], *_BEHIND, *SAMPLED[1:])
}
"""The columns of the table `walks_series`."""


@dataclass
class ServerState:
    """A server, as it last was."""

    name: str
    nodes: int
    """Nodes that it owns."""
    totals: dict[str, int] = field(default_factory=dict)
    """Its counters since it was started last."""
    queue: int = 0
    """Walkers that waited at the last sample."""
    time_ps: int = 0
    """Of the last sample."""
    timeout_ps: int = 0
    """T of its source then."""
    cpu_ps: int = 0
    served_per_s: float = 0.0
    """Walkers that it served a second, lately."""

    @property
    def drops(self) -> int:
        """Walkers that it has dropped."""
        return sum(self.totals.get(name, 0) for name in DROPS)


class Board:
    """The servers of a run. One thread tells it what comes, any may read it."""

    def __init__(self, nodes: Sequence[int], room: float) -> None:
        self.servers = [ServerState(f"server{at}", owned) for at, owned in enumerate(nodes)]
        self.room = room
        """Walkers that can wait at a server."""
        self.finished = 0
        """Walks finished; it stays where it was while a server that was restarted catches up."""
        self.heard: Callable[[Sequence[tuple[Any, ...]]], None] | None = None
        """Is called with the new rows of the table `walks_series`, whenever a server has said something."""
        self._lock = threading.Lock()
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[pl.DataFrame] = []

    def hear(self, number: int, told: Mapping[str, Any]) -> None:
        """A server's progress or report: its counters, and the samples since the last time."""
        server = self.servers[number]
        with self._lock:
            server.totals = dict(told["walks"])
            # Those that the driver let nowhere near the server, by their addresses alone.
            server.totals["refused_strangers"] += told["counters"]["foreign_datagrams"]
            server.cpu_ps = told["cpu_ps"]
            first = len(self._rows)
            for sample in told["samples"]:
                self._sample(server, sample)
            rows = self._rows[first:]
            if len(self._rows) >= _CHUNK:
                self._pack()
            self.finished = max(self.finished, sum(s.totals.get("finished", 0) for s in self.servers))
        if self.heard:
            self.heard(rows)

    def _sample(self, server: ServerState, sample: Sequence[int]) -> None:
        time_ps, queue, served = sample[0], sample[1], sample[SAMPLED.index("served")]
        if time_ps <= server.time_ps:
            return  # Progress is told again while other servers' comes.
        rate = served * 1e12 / (time_ps - server.time_ps)
        server.served_per_s += (rate - server.served_per_s) * 0.3
        server.queue, server.time_ps = queue, time_ps
        server.timeout_ps = sample[SAMPLED.index("timeout_ps")]
        self._rows.append((*sample[:1], JOB, server.name, *sample[1:]))

    def _pack(self) -> None:
        self._chunks.append(pl.DataFrame(self._rows, SERIES, orient="row"))
        self._rows = []

    def series(self) -> pl.DataFrame:
        """The table `walks_series`, by time."""
        with self._lock:
            self._pack()
            self._chunks = [pl.concat(self._chunks)]
        return self._chunks[0].sort("time_ps", "host", maintain_order=True)

    def walks(self, restarts: Mapping[int, int]) -> pl.DataFrame:
        """The table `walks`: a row a server."""
        rows = []
        for number, server in enumerate(self.servers):
            totals = server.totals
            rows.append(
                {
                    "job": JOB,
                    "host": server.name,
                    "nodes": server.nodes,
                    **totals,
                    "finished_ps": totals.get("finished_ps") or None,
                    "restarts": totals.get("restarts", 0) + restarts.get(number, 0),
                }
            )
        text = {"job": pl.String, "host": pl.String}
        names = dict.fromkeys(name for row in rows for name in row)
        kinds: dict[str, Any] = {name: text.get(name, pl.UInt64) for name in names}
        return pl.DataFrame(rows, kinds, orient="row")

    def total(self, *names: str) -> int:
        """Counters of all servers, added."""
        return sum(server.totals.get(name, 0) for server in self.servers for name in names)
