"""How far nodes are, in the folder of their result: for `incast view`, while they mine and afterwards.

`passes` is the table of a simulated run. `passes_series` has samples of each node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incast.recording import Recording

if TYPE_CHECKING:
    import polars as pl

JOB = "mine"
PASSES, SERIES = "passes", "passes_series"
_PASS = (
    "pass", "candidates", "large", "scans", "sent_bytes", "received_bytes", "sent_entries", "begin", "end",
)  # fmt: skip
_SERIES = (
    "time_ps", "job", "host", "pass", "done", "transactions", "scanned", "sent_bytes", "received_bytes",
)  # fmt: skip


class Record:
    """Writes what nodes say of themselves to a recording."""

    def __init__(self, recording: Recording, nodes: int) -> None:
        """Of so many nodes."""
        self._recording = recording
        self._names = [f"node{node}" for node in range(nodes)]
        self._before: dict[int, Mapping[str, Any]] = {}

    def see(self, said: Mapping[int, Mapping[str, Any]], *, last: bool = False) -> None:
        """Is told what each node said last; for the last time, whatever the time is."""
        if not self._recording.going:
            return
        if last or self._recording.due():
            rows = [row for node, own in said.items() for row in self._sample(node, own)]
            self._recording.add(SERIES, _frame(rows, _SERIES))
        self._recording.flush(lambda: self._known(said), now=last)

    def _sample(self, node: int, said: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The row of a node that has said something since its row before."""
        before = self._before.get(node, {"time_ps": 0, "pass": 0, "done": 0, "passes": []})
        if said["time_ps"] <= before["time_ps"]:
            return []
        self._before[node] = said
        scanned = said["done"] - (before["done"] if said["pass"] == before["pass"] else 0)
        moved = [max(0, _sum(said, name) - _sum(before, name)) for name in ("sent_bytes", "received_bytes")]
        done, of = min(said["done"], said["of"]), said["of"]
        host = self._names[node]
        return [(said["time_ps"], JOB, host, said["pass"], done, of, max(0, scanned), *moved)]

    def _known(self, said: Mapping[int, Mapping[str, Any]]) -> dict[str, pl.DataFrame]:
        rows = [
            (JOB, self._names[node], *(each[name] for name in _PASS[:-1]), each["end"] or None)
            for node, own in said.items()
            for each in own["passes"]
        ]
        # A node that has not said anything yet is there too.
        rows += [(JOB, name, *[None] * len(_PASS)) for n, name in enumerate(self._names) if n not in said]
        return {PASSES: _frame(rows, ("job", "host", *_PASS[:-2], "begin_ps", "end_ps"))}


def _sum(said: Mapping[str, Any], name: str) -> int:
    return sum(each[name] for each in said["passes"])


def _frame(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl  # `incast mine` on one node does without.

    kinds: dict[str, Any] = {name: pl.String if name in ("job", "host") else pl.UInt64 for name in names}
    return pl.DataFrame(rows, kinds, orient="row")
