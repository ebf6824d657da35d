"""Walks on servers: one process a server, each with its own part of the graph (crates/walk).

A server reads its part from a file, and leaves its finished walks in another. One that dies is restarted
from its part and its journal, if that is there; what is not in it is walked again, with the same result. When
servers fail for good, the walks that were finished are kept.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from incast import _core
from incast.errors import RunError
from incast.kinds.walk.settings import WalkRed
from incast.live.control import Frame
from incast.live.launch import FailedRunError, Host, Launch, Outcome
from incast.live.place import Place
from incast.live.running import Running
from incast.stop import Stop
from incast.walks.board import LOST, Board
from incast.walks.changes import Changes
from incast.walks.graph import U32
from incast.walks.member import JOURNAL, LEFT, PART, WALKS
from incast.walks.memory import Ends, Paths, Tell
from incast.walks.partition import U16
from incast.walks.problem import refuse
from incast.walks.request import Request
from incast.walks.settings import ServerSettings

DATAGRAM_MAX_BYTES = 65_507
"""The longest UDP datagram over IPv4."""
GATHER_BYTES = 16_384
"""A server that so many have come to, and that has nothing left to do, lets more come before it looks again:
then they leave together too, and fewer servers are woken."""
PATH_STEPS_MAX = 16_000
"""Steps of a path that fits a datagram."""
PATH_STOP_MIN = 0.005
"""With it, one walk in 10^34 would be longer."""
HERE = "127.0.0.1"
FRAME_BYTES = 1472
"""Of UDP in an Ethernet frame."""
NEVER_PS = 2**63
SLOW_S = 5.0
"""When no walk is finished for so long, something is lost again and again."""
LOST_MIN = 0.01
"""Of fewer lost walkers nothing is said."""
START_S = 0.5
"""Patience for each server: all of them may start on the same core."""


@dataclass(frozen=True)
class OnServers:
    """Walks of a request on servers: all of them are walked when the first are asked for."""

    graph: _core.WalkGraph
    request: Request
    starts: U32
    """Where walks begin, ascending."""
    owners: U16
    servers: int
    place: Place
    tell: Tell
    warn: Callable[[str], None] = lambda _: None
    settings: ServerSettings = field(default_factory=ServerSettings)
    changes: Changes = field(default_factory=Changes)
    stop: Stop = field(default_factory=Stop)
    ran: list[Outcome] = field(default_factory=list)
    """How the run went, once it is over."""
    failed: list[RunError] = field(default_factory=list)
    """Why it failed, if it did."""
    _rose: list[float] = field(default_factory=lambda: [time.monotonic()])
    """When a walk was last seen to be finished; empty once somebody was warned."""
    handed: list[int] = field(default_factory=list)
    """Walks that the servers have handed over, once they have."""

    @cached_property
    def board(self) -> Board:
        """What the servers say of themselves."""
        owned = np.bincount(self.owners, minlength=self.servers).tolist()
        queue, limit = self.settings.queue, self.settings.limit
        full = queue.max * (2 if queue.gentle else 1) if isinstance(queue, WalkRed) else limit
        return Board(owned, min(full, limit))

    @property
    def interrupted(self) -> bool:
        """Walks were stopped before all were finished."""
        return bool(self.ran) and not self.ran[0].finished

    @property
    def given_up(self) -> int:
        """Walks that were given up: as many attempts as are allowed have timed out."""
        return self.board.total("given_up")

    @property
    def unwritten(self) -> list[str]:
        """Files that could not be written; the walks went on without."""
        said = [report["unwritten"] for report in self.ran[0].reports if "unwritten" in report]
        for number, server in enumerate(self.board.servers):
            if server.totals.get("refused_snapshots"):
                journal = Path(self.place.folder(number)) / JOURNAL
                said.append(f"{journal}, the journal of {server.name}, could not be kept")
        return said

    def check(self) -> None:
        """Refuses walks whose paths fit no datagram."""
        if self.request.takes == "ends":
            return
        if self.request.steps is not None and self.request.steps > PATH_STEPS_MAX:
            refuse(f"{self.request.steps}: with --servers, 1 to {PATH_STEPS_MAX} is allowed", "--length")
        if self.request.stop is not None and self.request.stop < PATH_STOP_MIN:
            refuse(f"{self.request.stop:g}: with --servers, {PATH_STOP_MIN} to 1 is allowed", "--restart")

    def ends(self, starts: U32) -> Iterator[Ends]:
        """Where walks end, all at once."""
        found, nodes, counts = self._ends
        if len(starts) < len(self.starts):
            wanted = np.isin(found, starts)
            found, nodes, counts = found[wanted], nodes[wanted], counts[wanted]
        yield found, nodes, counts

    def paths(self, starts: U32) -> Iterator[Paths]:
        """All paths, in the order of their starts and numbers."""
        assert len(starts) == len(self.starts)
        yield self._paths

    @cached_property
    def _ends(self) -> Ends:
        parts = [_arrays(each, (np.uint32, np.uint32, np.uint64)) for each in self._walked()]
        found, nodes, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._complete(int(counts.sum()))
        order = np.lexsort((nodes, found))
        return found[order], nodes[order], counts[order]

    @cached_property
    def _paths(self) -> Paths:
        kinds = (np.uint32, np.uint32, np.uint32, np.uint64)
        parts = [_arrays(each, kinds) for each in self._walked()]
        begins, numbers, nodes = (np.concatenate([part[at] for part in parts]) for at in range(3))
        self._complete(len(begins))
        lengths = np.concatenate([np.diff(part[3].astype(np.int64)) for part in parts])
        order = np.lexsort((numbers, begins))
        firsts = (np.cumsum(lengths) - lengths)[order]
        lengths = lengths[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(firsts - offsets[:-1], lengths) + np.arange(len(nodes))
        return nodes[places], offsets.astype(np.uint64)

    def _complete(self, walks: int) -> None:
        self.handed.append(walks)
        wanted = len(self.starts) * self.request.walks - self.given_up
        if walks != wanted and not self.interrupted:
            raise RunError(f"the servers handed over {walks} walks of {wanted}")

    def _walked(self) -> list[Any]:
        """Runs the servers; what each of them has left."""
        place = self.place
        hosts = [self._host(server) for server in range(self.servers)]
        wanted = {"datagram_max_bytes": DATAGRAM_MAX_BYTES, "gather_bytes": GATHER_BYTES}
        settings = json.loads(_core.live_settings(json.dumps(wanted)))
        launch = Launch(
            hosts,
            "incast.walks.member:prepare",
            settings,
            restarts=self.servers,
            patience_s=place.patience_s + START_S * self.servers,
            farewell_s=place.farewell_s,
            start=place.start,
            ip=place.ip,
        )
        try:
            outcome = Running(launch, self._hear, self.stop.event, self._tick).run()
        except FailedRunError as error:
            self.failed.append(error)
            outcome = error.outcome
        self.ran.append(outcome)
        for report in outcome.reports:
            self.board.hear(report["host"], report)
        if len(outcome.reports) < self.servers and not self.failed:
            # Stopped before all of them had begun.
            raise KeyboardInterrupt
        reports = {report["host"]: report for report in outcome.reports}
        return [
            self._handed(server, reports[server]) if server in reports else self._rescued(server)
            for server in range(self.servers)
        ]

    def _handed(self, server: int, report: Mapping[str, Any]) -> list[Any]:
        """What a server has left in good order."""
        if LEFT in report:
            return [np.frombuffer(base64.b64decode(each), np.uint8) for each in report[LEFT]]
        with self.place.take(server, WALKS) as file, np.load(file) as left:
            return [left[key] for key in left]

    def _rescued(self, server: int) -> list[Any]:
        """What a server that is gone had finished, as far as its journal is there to tell."""
        paths = self.request.takes == "paths"
        starts = self.starts[self.owners[self.starts] == server]
        try:
            with self.place.take(server, JOURNAL) as file:
                found = _core.walk_journal(str(file.name), starts, self.request.walks, paths)
        except (OSError, RunError, ValueError):
            found = [b"", b"", b"", bytes(8)] if paths else [b"", b"", b""]
        arrays = [np.frombuffer(each, np.uint8) for each in found]
        finished = arrays[0].nbytes // 4 if paths else int(arrays[2].view(np.uint64).sum())
        self.board.servers[server].totals["finished"] = finished
        return arrays

    def _hear(self, progress: Mapping[int, Mapping[str, Any]]) -> None:
        before = self.board.finished
        for server, told in progress.items():
            self.board.hear(server, told)
        if self.board.finished > before:
            self.tell(self.board.finished - before)
            self._rose[:] = [time.monotonic()]
        elif self._rose and time.monotonic() - self._rose[0] > SLOW_S and self._lost >= LOST_MIN:
            self._rose.clear()
            self.warn(self._losing())

    @property
    def _lost(self) -> float:
        """The share of walkers that were lost."""
        return self.board.total(*LOST) / max(1, self.board.total("generated"))

    def _losing(self) -> str:
        """Why it takes so long, and when it ends at the latest."""
        board, attempts = self.board, self.settings.loss.attempts
        left = len(self.starts) * self.request.walks - board.finished - self.given_up
        # A walker counts as lost when it is older than T, and at most 2 T.
        seconds = 2 * attempts * max(server.timeout_ps for server in board.servers) / 1e12
        return (
            f"{left:,} walks are left, and none was finished within {SLOW_S:g} s: {self._lost:.0%} of all "
            "walkers were lost. Walks that cross servers often are lost again and again; one that has timed "
            f"out {attempts:,} times (loss.attempts) is given up, in some {_about(seconds)} at the latest"
        )

    def _tick(self, tell: Callable[[Frame], None]) -> None:
        """Hands out what has come due: what waits for a time at once, servers know what time it is."""
        for batch in self.changes.due(NEVER_PS, self.board.finished):
            owners = sorted((node, int(self.owners[node])) for node in batch.nodes())
            tell({"changes": batch.spec(), "owners": owners})

    def _host(self, server: int) -> Host:
        """A server, and the file of its part."""
        sources, targets, weights = self.graph.part(self.owners, server)
        part: dict[str, Any] = {
            "sources": np.frombuffer(sources, np.uint32),
            "targets": np.frombuffer(targets, np.uint32),
            "owners": self.owners,
            "starts": self.starts[self.owners[self.starts] == server],
        }
        if weights is not None:
            part["weights"] = np.frombuffer(weights, np.float32)
        self.place.give(server, PART, lambda file: np.savez(file, **part))
        request = self.request
        spec = {
            "server": server,
            "servers": self.servers,
            "nodes": self.graph.nodes(),
            "directed": self.graph.directed(),
            "walks": request.walks,
            "steps": request.steps,
            "stop": request.stop,
            "bias": request.bias,
            "seed": request.seed,
            "paths": request.takes == "paths",
            **self.settings.base_units(),
            # Within a machine no datagram is cut.
            "shared_bytes": DATAGRAM_MAX_BYTES if self.place.ip == HERE else FRAME_BYTES,
        }
        return Host(server, f"server{server}", [1], {"folder": self.place.folder(server), "spec": spec})


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _arrays(left: list[Any], kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.frombuffer(each.tobytes(), kind) for each, kind in zip(left, kinds, strict=True))
