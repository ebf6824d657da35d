"""The folder of a broadcast on hosts: its tables while it goes on, and its result.

The tables are those of a simulated broadcast; `transfers_series` has what each host got from each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from incast.broadcast.send import SOURCE, Sent, Status
from incast.folder import BROADCAST_MARKER, SUMMARY, mark, taken, write_json
from incast.recording import Recording, is_free

if TYPE_CHECKING:
    import polars as pl

JOB = "broadcast"
HOSTS, SERIES, TRANSFERS = "broadcasts", "broadcasts_series", "transfers_series"
_HOSTS = {
    "job": "String", "host": "String", "outcome": "String", "reason": "String", "complete_ps": "UInt64",
    "bytes": "UInt64", "resumed_bytes": "UInt64", "received_bytes": "UInt64", "sent_bytes": "UInt64",
    "damaged": "UInt64", "plans": "UInt64",
}  # fmt: skip
_SERIES = {
    "time_ps": "UInt64", "job": "String", "host": "String", "bytes": "UInt64",
    "received_bytes": "UInt64", "sent_bytes": "UInt64", "planned_bps": "UInt64",
}  # fmt: skip
_TRANSFERS = {
    "time_ps": "UInt64", "job": "String", "from": "String", "to": "String", "bytes": "UInt64",
}  # fmt: skip
_OUTCOMES = {
    "complete": "complete",
    "failed": "failed",
    "unreachable": "gone",
    "interrupted": "unfinished",
}
"""Of a receipt's states, in the words of the table."""
_NOTHING: Mapping[str, Any] = {
    "bytes": 0, "resumed": 0, "received": 0, "sent": 0, "damaged": 0, "plans": 0, "planned": 0,
    "completed_ps": None, "failed": None, "named": "no", "state": "waiting", "parents": {},
}  # fmt: skip
"""The status of a host that has said nothing yet."""


class Record:
    """A broadcast's folder, while it is entered; without a folder nothing is written."""

    def __init__(
        self,
        folder: Path | None,
        source: str,
        names: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Of a broadcast from `source` to these hosts. Raises `OutputExistsError`."""
        if folder is not None and not is_free(folder):
            raise taken(folder, BROADCAST_MARKER)
        self._folder = folder
        self._names = [source, *names]
        self._recording = Recording(folder, BROADCAST_MARKER, clock)
        self._statuses: dict[int, Status] = {}
        self._time_ps = 0
        self._before: dict[tuple[str, int, int], int] = {}
        self._reasons: dict[int, tuple[str, str]] = {}

    def see(self, statuses: Mapping[int, Status]) -> None:
        """Is told where every host stands, by number."""
        self._statuses = dict(statuses)
        if self._recording.due():
            self._sample()
        self._recording.flush(self._known)

    def end(self, sent: Sent) -> None:
        """Writes the result."""
        if self._folder is None:
            return
        for number, receipt in enumerate(sent.receipts, 1):
            self._reasons[number] = (_OUTCOMES[receipt.state], receipt.why)
        done = not sent.interrupted and sent.failed is None
        self._reasons[SOURCE] = ("complete" if done else "failed", sent.failed or "")
        self._sample()
        self._recording.flush(self._known, now=True)
        mark(self._folder, BROADCAST_MARKER)
        self._recording.keep(HOSTS, SERIES, TRANSFERS)
        write_json(self._folder / SUMMARY, sent.json())

    def _sample(self) -> None:
        # One time for all: what a host says of itself is at most a report's interval older.
        latest = max((status["time_ps"] for status in self._statuses.values()), default=0)
        self._time_ps = max(latest, self._time_ps + 1)
        series, transfers = [], []
        for number, status in self._statuses.items():
            received = self._since("received", number, number, status["received"])
            sent = self._since("sent", number, number, status["sent"])
            host = self._names[number]
            series.append((self._time_ps, JOB, host, status["bytes"], received, sent, status["planned"]))
            for parent, total in status["parents"].items():
                moved = self._since("parent", int(parent), number, total)
                if moved and int(parent) < len(self._names):
                    transfers.append((self._time_ps, JOB, self._names[int(parent)], host, moved))
        self._recording.add(SERIES, _frame(series, _SERIES))
        self._recording.add(TRANSFERS, _frame(transfers, _TRANSFERS))

    def _since(self, what: str, first: int, second: int, total: int) -> int:
        """How much a counter has grown since the sample before; a host that was restarted counts from 0."""
        before = self._before.get((what, first, second), 0)
        self._before[what, first, second] = total
        return total - before if total >= before else total

    def _known(self) -> dict[str, pl.DataFrame]:
        rows = []
        for number, name in enumerate(self._names):
            status = self._statuses.get(number, _NOTHING)
            outcome, why = self._reasons.get(number, _outcome(status))
            figures = (status[key] for key in ("bytes", "resumed", "received", "sent", "damaged", "plans"))
            rows.append((JOB, name, outcome, why or None, status["completed_ps"], *figures))
        return {HOSTS: _frame(rows, _HOSTS)}

    def __enter__(self) -> Self:
        self._recording.__enter__()
        self._recording.flush(self._known, now=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.__exit__(kind, error, trace)


def _frame(rows: list[tuple[Any, ...]], columns: Mapping[str, str]) -> pl.DataFrame:
    """A table; `columns` are their names and the names of their types."""
    import polars as pl

    return pl.DataFrame(rows, {name: getattr(pl, kind) for name, kind in columns.items()}, orient="row")


def _outcome(status: Status) -> tuple[str, str]:
    """While it goes on: how it ended, if it has, and why."""
    if status["failed"] is not None:
        return "failed", status["failed"]
    return ("complete" if status["named"] == "done" else "unfinished"), ""
