"""A broadcast on hosts: how much of the file each host has, and who sends it to whom."""

from __future__ import annotations

import heapq
from functools import cached_property

import polars as pl

from incast import stored, text
from incast.broadcast.record import JOB
from incast.report import points
from incast.view import tables
from incast.view.chart import STEPS_MAX, Chart
from incast.view.programs.program import ARROW, Node, Parts, Program
from incast.view.programs.resample import as_rows, position
from incast.view.words import Measure, Subject, Words

EDGES_MAX = 1_000
"""Connections that are drawn, those that carried most."""
_DEEP_MAX = 6
"""Rows of receivers: of a longer chain the rest shares the last."""
_HOSTS = tables.schema(
    "host outcome reason", "complete_ps bytes resumed_bytes received_bytes sent_bytes damaged plans"
)
_SERIES = tables.schema("host", "time_ps bytes received_bytes sent_bytes planned_bps")
_TRANSFERS = tables.schema("from to", "time_ps bytes")


class Broadcast(Program):
    """What `incast broadcast send --out` writes."""

    read_summary = staticmethod(stored.read_broadcast)
    words = Words(
        kinds={"node": "Host", "port": "Connection", "task": "Task number"},
        following="Follow a host, a connection or a task",
        of={
            "node": Subject(
                "Host",
                level=Measure("Share there", "share", "nothing there", most=1),
                flow=Measure("Receiving", "rate", times=8),
            ),
            "port": Subject("Connection", flow=Measure("Carrying", "rate", "much is sent", times=8)),
        },
        listed="node",
        heading="Hosts that have the least",
        picture="the share of the file that is there, and what was sent",
        totals="What hosts had at the end.",
        unsampled="No host has reported yet.",
        rising=True,
        ramp="p",
    )

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """A row a host, the source first."""
        found = self.read("broadcasts", _HOSTS).drop_nulls("host").unique("host", maintain_order=True)
        return found if found.height else pl.DataFrame(schema=_HOSTS)

    @cached_property
    def bytes(self) -> int:
        """Of the whole."""
        own = self.hosts["bytes"].max()
        return int(self.summary.get("bytes") or (own if isinstance(own, int) else 0) or 1)

    @cached_property
    def series(self) -> pl.DataFrame:
        """The samples of hosts."""
        return self.read("broadcasts_series", _SERIES).drop_nulls(["time_ps", "host"])

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """What went from host to host, of the connections that are drawn."""
        known = set(self.hosts["host"])
        found = self.read("transfers_series", _TRANSFERS).drop_nulls()
        found = found.filter(pl.col("from").is_in(known) & pl.col("to").is_in(known))
        ends = ["from", "to"]
        most = found.group_by(ends).agg(pl.col("bytes").sum()).sort("bytes", *ends, descending=True)
        if most.height > EDGES_MAX:
            self.notes.append(f"{EDGES_MAX} of {text.count(most.height)} connections are drawn.")
        return found.join(most.head(EDGES_MAX).select(ends), on=ends)

    @cached_property
    def parts(self) -> Parts:
        """The source on top; below each host those that got most from it."""
        names = self.hosts["host"].to_list()
        carried = self.transfers.group_by("from", "to").agg(pl.col("bytes").sum())
        order = {name: position for position, name in enumerate(names)}
        edges = {(order[sender], order[to]): moved for sender, to, moved in carried.sort("from", "to").rows()}
        tiers = _tiers(len(names), edges)
        nodes = tuple(
            Node(name, "Receiver" if position else "Source", tiers[position])
            for position, name in enumerate(names)
        )
        return Parts(nodes, tuple(edges))

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Hosts with the share that they have; connections with what they carry."""
        there = (pl.col("bytes") / self.bytes).clip(0, 1)
        hosts = as_rows(
            self.series, position("host", self.parts.measured), level=there, flow="received_bytes"
        )
        # Only what has moved is there; it has moved since the sample before of any host.
        times = self.series.select(pl.col("time_ps").unique().sort())
        before = times.with_columns(since_ps=pl.col("time_ps").shift(fill_value=0))
        named = self.transfers.join(before, on="time_ps", how="left").with_columns(
            name=pl.concat_str("from", "to", separator=ARROW)
        )
        connection = position("name", self.parts.connections)
        return pl.concat([hosts, as_rows(named, connection, since_ps="since_ps", flow="bytes")])

    @property
    def jobs(self) -> pl.DataFrame:
        """The broadcast."""
        return self.job(JOB, JOB, "failed", "interrupted")

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """Each receiver from its first report until it had everything."""
        began = dict(self.series.group_by("host").agg(pl.col("time_ps").min()).iter_rows())
        rows = []
        for n, (host, outcome, end) in enumerate(self.hosts.select("host", "outcome", "complete_ps").rows()):
            if n and host in began:
                rows.append((JOB, host, "receiving", outcome, n, n, began[host], end, None))
        return pl.DataFrame(rows, tables.TASKS, orient="row")

    def missing(self) -> list[str]:
        """Hosts that did not get it, and why."""
        notes = []
        if self.summary.get("interrupted"):
            notes.append("The broadcast was interrupted.")
        if self.summary.get("failed"):
            notes.append(f"The broadcast failed: {self.summary['failed']}")
        lost = self.hosts.filter(pl.col("outcome").is_in(["failed", "gone"]))
        for host, outcome, why in lost.head(20).select("host", "outcome", "reason").iter_rows():
            notes.append(f"{host}: {outcome}: {why or 'no reason is known'}")
        return notes

    def node_facts(self, name: str) -> list[tuple[str, str]]:
        """How a host ended, and what it has moved."""
        row = self.hosts.filter(pl.col("host") == name).row(0, named=True)
        said = [
            ("Outcome", row["outcome"] or text.NONE),
            ("Has", f"{text.size(row['bytes'])} of {text.size(self.bytes)}"),
            ("Complete at", text.time(row["complete_ps"])),
            ("Received", text.size(row["received_bytes"])),
            ("Sent", text.size(row["sent_bytes"])),
            ("Had before", text.size(row["resumed_bytes"])),
            ("Damaged chunks", text.count(row["damaged"])),
            ("Plans", text.count(row["plans"])),
        ]
        return said + ([("Why", row["reason"])] if row["reason"] else [])

    def node_charts(self, name: str) -> list[Chart]:
        """What a host has, receives and sends."""
        own = self.series.filter(pl.col("host") == name)
        there = own.with_columns(there=(pl.col("bytes") / self.bytes).clip(0, 1))
        share = points.extremes(there, "time_ps", "there", STEPS_MAX // 4)
        columns = {"received_bytes": "received", "sent_bytes": "sent"}
        rates = self.line(own, list(columns), 8).rename(columns)
        planned = points.extremes(own, "time_ps", "planned_bps", STEPS_MAX // 4)
        return [
            *self.drawn("Share there", "share", share, ["there"]),
            *self.drawn("Rate", "rate", rates, list(columns.values())),
            *self.drawn("Planned rate", "rate", planned.rename({"planned_bps": "planned"}), ["planned"]),
        ]


def _tiers(nodes: int, carried: dict[tuple[int, int], int]) -> list[int]:
    """A node's row: one below the node that it got most from, as far as that leads to the source.

    The tree grows from the source by the connection that carried most (Prim). Hosts that nothing has come to
    are below the source.
    """
    tiers = [0] + [1] * (nodes - 1)
    from_: dict[int, list[tuple[int, int]]] = {}
    for (sender, to), moved in carried.items():
        from_.setdefault(sender, []).append((moved, to))
    placed = {0}
    waiting: list[tuple[int, int, int]] = []
    newest = 0
    while True:
        for moved, to in from_.get(newest, []):
            heapq.heappush(waiting, (-moved, to, newest))
        while waiting and waiting[0][1] in placed:
            heapq.heappop(waiting)
        if not waiting:
            return tiers[:nodes]
        _, newest, parent = heapq.heappop(waiting)
        placed.add(newest)
        tiers[newest] = min(_DEEP_MAX, tiers[parent] + 1)
