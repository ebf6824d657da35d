"""Remote procedure calls: which clients call which servers and when, sizes of messages, times of calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from incast import text
from incast.folder import scan
from incast.frames import quantile, rows, whole
from incast.incomplete import by_outcome
from incast.kinds.job import Columns, Job, Site, Traits
from incast.kinds.traffic import DISTRIBUTIONS, SIZE_DISTRIBUTIONS, check_sizes, size_points
from incast.lab.base import Count, Kind, Selector
from incast.lab.quantities import SIZE_SCHEMA, PositiveTime, Time
from incast.metric import Metric
from incast.quantity import parse_bytes
from incast.report.parts import Table, listed
from incast.report.run import Run

_PARTS = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}


class ClosedLoop(Kind):
    """Callers that think, call, and wait for the end of the call before they think again."""

    kind: Literal["closed"] = "closed"
    callers: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Callers of each client."""
    think: Time = "0s"
    """Mean time that a caller thinks, exponentially distributed."""


class OpenLoop(Kind):
    """Calls that begin as a Poisson process, whether or not earlier calls have ended."""

    kind: Literal["open"] = "open"
    every: PositiveTime
    """Mean time between two calls of a client."""


def _message(value: object) -> str | list[list[str | float]]:
    if isinstance(value, str) and value not in SIZE_DISTRIBUTIONS and not value.endswith(".txt"):
        parse_bytes(value)
        return value
    return check_sizes(value)


MessageSizes = Annotated[
    str | list[list[str | float]],
    PlainValidator(_message),
    WithJsonSchema({"anyOf": [SIZE_SCHEMA.json_schema, *DISTRIBUTIONS]}),
]
"""Sizes of messages: all the same, or drawn from a distribution."""


class Rpc(Job):
    """Remote procedure calls: clients send requests to servers and wait for all replies.

    A client that hears nothing for a minute sends a ping: a call whose server is lost fails when TCP notices.
    """

    traits = Traits(judged="own", flows="lasting")
    metrics = (
        Metric("call_p99_ps", "call p99", row="always"),
        Metric("call_mean_ps", "call mean", row="always"),
        Metric("call_p50_ps", "call p50", row="always"),
        Metric("call_p999_ps", "call p99.9"),
        Metric("call_max_ps", "call max", row="always"),
        Metric("calls", "calls", 0, row="always"),
        Metric("late", "late calls", row="any"),
        Metric("failed", "failed calls", row="any"),
    )
    columns = {"calls": Columns("job host outcome", "number start_ps end_ps bytes")}

    kind: Literal["rpc"] = "rpc"
    clients: Selector
    """Hosts that call."""
    servers: Selector
    """Hosts that reply. A host never calls itself."""
    arrivals: Annotated[ClosedLoop | OpenLoop, Field(discriminator="kind")] = ClosedLoop()
    """When calls begin."""
    calls: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Calls of each client."""
    fan_out: Count = 1
    """Servers that a call sends a request to, drawn for each call; it waits for all replies."""
    connections: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Connections of a client to each server, at most; a request waits for one that is idle."""
    request: MessageSizes = "1kB"
    """Sizes of requests."""
    reply: MessageSizes = "10kB"
    """Sizes of replies."""
    service: Time = "0s"
    """Time of one core that a request takes at its server."""
    deadline: PositiveTime | None = None
    """A call that takes longer is late, and continues all the same."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        clients, servers = site.hosts(self.clients, "clients"), site.hosts(self.servers, "servers")
        others = len(servers) - any(client in servers for client in clients)
        if clients and servers and self.fan_out > others:
            site.refuse("fan_out", f"{self.fan_out} of {others} servers besides the client itself")
        return {
            **self.settings(),
            "clients": clients,
            "servers": servers,
            **{field: size_points(getattr(self, field), site, field) for field in ("request", "reply")},
        }

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """Calls that failed or did not end; late ones did."""
        return by_outcome(folder, "calls", "call", ("finished", "late"), jobs)

    @classmethod
    def figures(cls, folder: Path) -> dict[str, dict[str, Any]]:
        """How long calls that did not fail took, and how many were late or failed."""
        import polars as pl

        took = pl.when(pl.col("outcome") != "failed").then(pl.col("end_ps") - pl.col("start_ps"))
        calls = scan(folder, "calls").with_columns(pl.col("job", "outcome").cast(pl.String))
        grouped = calls.with_columns(took=took).group_by("job")
        counted = grouped.agg(
            pl.col("took").mean().alias("call_mean_ps"),
            *(quantile("took", part).alias(f"call_{name}_ps") for name, part in _PARTS.items()),
            pl.len().alias("calls"),
            *((pl.col("outcome") == outcome).sum().alias(outcome) for outcome in ("late", "failed")),
        )
        return {
            row.pop("job"): {key: whole(figure) for key, figure in row.items()}
            for row in rows(counted.sort("job"))
        }

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """A row per client, the slowest first."""
        import polars as pl

        took = pl.when(pl.col("outcome") != "failed").then(pl.col("end_ps") - pl.col("start_ps"))
        calls = run.table("calls").with_columns(took=took)
        clients = calls.group_by("job", "host").agg(
            *(pl.col("took").quantile(part, "linear").alias(name) for name, part in _PARTS.items()),
            pl.len().alias("calls"),
            *((pl.col("outcome") == outcome).sum().alias(outcome) for outcome in ("late", "failed")),
        )
        found = listed(
            "Clients of remote procedure calls",
            clients.sort("p99", "job", "host", descending=[True, False, False], nulls_last=True),
            {
                "Client": lambda row: str(row["host"]),
                "job": lambda row: str(row["job"]),
                "calls": lambda row: text.count(row["calls"]),
                "late": lambda row: text.count(row["late"]),
                "failed": lambda row: text.count(row["failed"]),
                "p50": lambda row: text.time(row["p50"]),
                "p99": lambda row: text.time(row["p99"]),
                "p99.9": lambda row: text.time(row["p999"]),
                "max": lambda row: text.time(row["max"]),
            },
            "client",
            frozenset({"job"}),
        )
        return [found] if found.rows else []
