"""Mining on several nodes: a process a node, each with its part of the transactions (crates/mine).

One that dies is restarted, with its part and its journal. The journal of finished passes is also
kept in the result's folder: a run that is started again after an interruption goes on from there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from incast import _core
from incast.errors import RunError
from incast.live.launch import FailedRunError, Host, Launch, Outcome
from incast.live.place import Place
from incast.live.running import Running
from incast.mining import words
from incast.mining.member import JOURNAL, LEFT, PART
from incast.mining.passes import KEPT_PASSES, keep
from incast.mining.record import Record
from incast.mining.request import NODES_MAX, Request, refuse
from incast.recording import Recording
from incast.scratch import Scratch
from incast.walks.where import place as place_of

PROGRESS_MS = 100
_ROWS_BYTES_MAX = 1 << 20
"""Bytes of the line of finished passes in a result's folder, at most: a pass takes some 150."""
START_S = 0.5
"""Patience for each node: all of them may start on the same core."""


@dataclass
class Board:
    """How far nodes are, as one looks at it that mines alone."""

    said: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What each node said last."""
    before: list[dict[str, Any]] = field(default_factory=list)
    """Passes of an interrupted run."""

    def hear(self, node: int, told: Mapping[str, Any]) -> None:
        """What a node says of itself; after a crash it has no more passes than it did since."""
        if "mine" in told:
            found = {**told["mine"], "time_ps": told["time_ps"]}
            known = {each["pass"]: each for each in self.said.get(node, {}).get("passes", [])}
            passes = known | {each["pass"]: each for each in found["passes"]}
            found["passes"] = [passes[number] for number in sorted(passes)]
            self.said[node] = found

    def said_of(self, what: str) -> dict[str, Any] | None:
        """What some node said of it."""
        return next((said[what] for said in self.said.values() if said[what]), None)

    def finished(self) -> list[dict[str, Any]]:
        """Each pass that is over: bytes of all nodes together, seconds of the slowest."""
        rows = list(self.before)
        done = {row["pass"] for row in rows}
        by_pass: dict[int, list[dict[str, Any]]] = {}
        for said in self.said.values():
            for each in said["passes"]:
                by_pass.setdefault(each["pass"], []).append(each)
        for number in sorted(set(by_pass) - done):
            parts = by_pass[number]
            ended = [each for each in parts if each["end"] > 0]
            if not ended:
                break
            begin, end = min(each["begin"] for each in ended), max(each["end"] for each in ended)
            rows.append(
                {
                    "pass": number,
                    "candidates": ended[0]["candidates"],
                    "large": ended[0]["large"],
                    "scans": max(each["scans"] for each in parts),
                    "sent_bytes": sum(each["sent_bytes"] for each in parts),
                    "seconds": (end - begin) / 1e12,
                }
            )
        return rows

    def of_pass(self) -> tuple[int, int]:
        """Transactions that the pass has gone over, and that it will have, over all nodes."""
        last = max((said["pass"] for said in self.said.values()), default=0)
        here = [said for said in self.said.values() if said["pass"] == last]
        return sum(min(said["done"], said["of"]) for said in here), sum(said["of"] for said in here)

    def passes(self) -> list[tuple[int, int | None, int, int]]:
        """The passes that are over: number, candidates, large itemsets, scans."""
        return [(row["pass"], row["candidates"], row["large"], row["scans"]) for row in self.finished()]


@dataclass
class Nodes:
    """A run over nodes."""

    core: _core.MineTransactions | None
    """Until nodes have them."""
    minimum: int
    request: Request
    watch: Any
    folder: Path | None
    """Where finished passes are kept."""
    recording: Recording
    """What `incast view` sees meanwhile."""
    board: Board = field(default_factory=Board)
    crashes: dict[int, int] = field(default_factory=dict)
    nodes: int = 0
    """How many there were."""
    _saved: int = 0
    _warned: bool = False
    _begun: int | None = None
    """Where the journal of an interrupted run begins in the file of kept passes."""

    def mine(self) -> _core.MineItemsets:
        """The large itemsets."""
        self._count(self.core)
        with ExitStack() as places:
            place, nodes = place_of(self.request.cluster, self.request.nodes, places)
            if not 1 <= nodes <= NODES_MAX:
                refuse(f"{nodes} nodes: 1 to {NODES_MAX} are allowed", "--nodes")
            self.nodes = nodes
            self._recall()
            self._record = Record(self.recording, nodes)
            outcome = self._run(place, nodes)
            self.crashes = outcome.crashes
            for report in outcome.reports:
                self.board.hear(report["host"], report)
            self._record.see(self.board.said, last=True)
            self._keep(place, nodes)
            if not outcome.finished:
                raise KeyboardInterrupt
            with self._journal(place, nodes) as journal:
                found, count = _core.mine_journal(journal, self._transactions, self.board.passes())
        if count < len(self.board.finished()):
            # Nodes that have reported have it all: these died before, and far away.
            raise RunError(f"all nodes are gone with what they found from pass {count + 1} on")
        return found

    def _count(self, core: _core.MineTransactions | None) -> None:
        """What is needed of the transactions when nodes have them. Another support has other passes."""
        assert core is not None, "a run is made once"
        self._transactions = core.transactions()
        self._job = (core.digest() ^ (self.minimum << 20) ^ (self.request.longest or 0)) & (2**63 - 1)

    def summary(self) -> dict[str, Any]:
        """What the summary says of the nodes."""
        said = self.board.said.values()
        return {
            "count": self.nodes,
            "algorithm": self.request.algorithm,
            "exchange": self.request.exchange,
            "crashes": sum(self.crashes.values()),
            "sent_bytes": sum(each["sent_bytes"] for node in said for each in node["passes"]),
        }

    def _run(self, place: Place, nodes: int) -> Outcome:
        hosts = self._hosts(place, nodes)
        launch = Launch(
            hosts,
            "incast.mining.member:prepare",
            json.loads(_core.live_settings(json.dumps({"progress_ms": PROGRESS_MS}))),
            restarts=2 * nodes,
            shared=True,
            patience_s=place.patience_s + START_S * nodes,
            farewell_s=place.farewell_s,
            start=place.start,
            ip=place.ip,
        )

        def hear(progress: Mapping[int, Mapping[str, Any]]) -> None:
            for node, told in progress.items():
                self.board.hear(node, told)
            self._record.see(self.board.said)
            self.watch.mining(self._transactions, self.board)
            self._check_memory()
            if len(self.board.finished()) > self._saved:
                self._saved = len(self.board.finished())
                self._keep(place, nodes)

        try:
            return Running(launch, hear).run()
        except KeyboardInterrupt:
            self._keep(place, nodes)
            raise
        except FailedRunError as error:
            self._keep(place, nodes)
            kept = f"; {self.folder} keeps the passes that were finished" if self.folder else ""
            raise RunError(f"{error}{kept}") from error

    def _check_memory(self) -> None:
        """Warns of large itemsets to come that may not fit, and ends the run when they do not."""
        outlook = self.board.said_of("outlook")
        if outlook and not self._warned:
            self._warned = True
            self.watch.warn(words.many(outlook["pass"], outlook["large"], outlook["most"]))
        if full := self.board.said_of("full"):
            most = outlook["most"] if outlook else None
            raise RunError(words.full(full["length"], full["before"], most, self.request.memory))

    def _hosts(self, place: Place, nodes: int) -> list[Host]:
        """A host a node, with its part of the transactions."""
        shares: list[int] = []
        core, self.core = self.core, None
        assert core is not None, "nodes are given their parts once"
        for node in range(nodes):

            def write(file: IO[bytes], node: int = node) -> None:
                shares.append(core.share(node, nodes, file.write))

            place.give(node, PART, write)
            if self._begun is not None:
                place.give(node, JOURNAL, self._give_journal)
        request = self.request
        spec = {
            "job": self._job,
            "algorithm": request.algorithm,
            "exchange": {"combined": {"transactions": None}}
            if request.exchange == "combined"
            else request.exchange,
            "minimum": self.minimum,
            "longest": request.longest,
            "transactions": shares,
            "memory": request.memory,
            "duplicated": request.duplicated,
        }
        return [
            Host(node, f"node{node}", [1], {"folder": place.folder(node), "spec": {**spec, "node": node}})
            for node in range(nodes)
        ]

    def _give_journal(self, file: IO[bytes]) -> None:
        assert self.folder is not None, "the journal is there"
        assert self._begun is not None, "the journal is there"
        with (self.folder / KEPT_PASSES).open("rb") as kept:
            kept.seek(self._begun)
            shutil.copyfileobj(kept, file)

    def _head(self) -> bytes:
        return f"{self._job:016x}\n".encode()

    def _recall(self) -> None:
        """The passes that an interrupted run had finished, if it was the same."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError, ValueError), (self.folder / KEPT_PASSES).open("rb") as kept:
            if kept.read(len(self._head())) == self._head():
                self.board.before, self._begun = json.loads(kept.readline(_ROWS_BYTES_MAX)), kept.tell()
                self._saved = len(self.board.before)

    def _keep(self, place: Place, nodes: int) -> None:
        """Finished passes go to the result's folder."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError, RunError), self._journal(place, nodes) as journal:
            count = _core.mine_journal_passes(journal)
            rows = [row for row in self.board.finished() if row["pass"] <= count]

            def write(file: Path) -> None:
                with file.open("wb") as kept, Path(journal).open("rb") as found:
                    kept.write(self._head() + json.dumps(rows).encode() + b"\n")
                    shutil.copyfileobj(found, kept)

            keep(write, self.folder)

    @contextlib.contextmanager
    def _journal(self, place: Place, nodes: int) -> Iterator[str]:
        """A copy of the longest journal."""
        found = []
        for node in range(nodes):
            # Before the end there is only the journal itself, where that is within reach.
            for name in (LEFT, JOURNAL):
                with contextlib.suppress(OSError, RunError), place.take(node, name) as file:
                    found.append((file.seek(0, os.SEEK_END), node, name))
        if not found:
            raise RunError("no node has kept what it found")
        _, node, name = max(found)
        with Scratch() as scratch:
            copy = scratch.path / LEFT
            with place.take(node, name) as file, copy.open("wb") as out:
                shutil.copyfileobj(file, out)
            yield str(copy)
