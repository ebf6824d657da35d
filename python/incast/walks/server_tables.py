"""What a run on servers leaves but walks: the tables `walks`, `walks_series`, `hosts`, and its figures."""

from __future__ import annotations

from typing import Any

import polars as pl

from incast.live.launch import Outcome
from incast.walks.board import DROPS, LOST
from incast.walks.output import Writer
from incast.walks.servers import OnServers

_HOST = (
    "host", "sent_bytes", "received_bytes", "retransmits", "timeouts", "core_busy_ps", "disk_busy_ps",
    "crashes",
)  # fmt: skip


def write(walker: OnServers, writer: Writer) -> dict[str, Any]:
    """Writes the tables; returns the figures for the summary."""
    outcome, board = walker.ran[0], walker.board
    walks = board.walks(outcome.crashes)
    writer.table("walks", walks)
    writer.table("walks_series", board.series())
    hosts = _hosts(outcome, [server.name for server in board.servers])
    writer.table("hosts", hosts)
    reported = {report["host"]: report["time_ps"] for report in outcome.reports}
    ends = [
        server.totals.get("finished_ps") or reported.get(number, server.time_ps)
        for number, server in enumerate(board.servers)
    ]
    seconds = max(ends) / 1e12
    cpu_s = int(hosts["core_busy_ps"].sum()) / 1e12
    finished, steps = board.total("finished"), board.total("steps")
    return {
        "servers": walker.servers,
        "settings": walker.settings.model_dump(),
        "datagrams": outcome.reports[0]["datagrams"] if outcome.reports else None,
        "seconds": round(seconds, 6),
        "cpu_seconds": round(cpu_s, 6),
        "finished": finished,
        "given_up": board.total("given_up"),
        "additional": board.total("additional"),
        "steps": steps,
        **{name: board.total(name) for name in (*DROPS, "drops_own", *LOST)},
        "restarts": sum(outcome.crashes.values()),
        "walks_per_s": round(finished / seconds, 1) if seconds else 0.0,
        "steps_per_cpu_s": round(steps / cpu_s, 1) if cpu_s else 0.0,
    }


def _hosts(outcome: Outcome, names: list[str]) -> pl.DataFrame:
    """A row a server that has reported, with what its sockets counted."""
    rows = []
    for report in outcome.reports:
        counters = report["counters"]
        rows.append(
            {
                "host": names[report["host"]],
                "sent_bytes": counters["sent_bytes"] + counters["stream_sent_bytes"],
                "received_bytes": counters["received_bytes"] + counters["stream_received_bytes"],
                "retransmits": 0,
                "timeouts": 0,
                "core_busy_ps": report["cpu_ps"],
                "disk_busy_ps": 0,
                "crashes": outcome.crashes.get(report["host"], 0),
            }
        )
    kinds: dict[str, Any] = {name: pl.String if name == "host" else pl.UInt64 for name in _HOST}
    return pl.DataFrame(rows, kinds, orient="row")
