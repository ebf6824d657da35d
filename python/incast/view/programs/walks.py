"""Walks on servers: how many walkers wait at each server, and what servers serve and drop."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from incast import stored, text
from incast.report import points
from incast.view import places, tables
from incast.view.chart import STEPS_MAX, Chart
from incast.view.programs.program import Parts, Program
from incast.view.programs.resample import as_rows, position
from incast.view.pyramid import CELLS_MAX
from incast.view.words import Measure, Subject, Words
from incast.walks.board import DROPS, JOB

_SERVERS = tables.schema("host", "nodes required finished finished_ps additional restarts given_up")
_COUNTED = ("served", "arrived", "generated", "finished", *DROPS)
_SERIES = tables.schema("host", " ".join(("time_ps queue_max timeout_ps", *_COUNTED)))


class Walks(Program):
    """What `incast walk --servers` writes."""

    read_summary = staticmethod(stored.read_walks)
    words = Words(
        kinds={"node": "Server", "port": "Connection", "task": "Task number"},
        following="Follow a server, a connection or a task",
        of={
            "node": Subject(
                "Server",
                level=Measure("Queue", "count", "no walker waits"),
                flow=Measure("Served", "pace"),
                drops=Measure("Drops", "count", "walkers dropped"),
            ),
            "port": Subject("Connection", flow=Measure("Arriving", "pace", "many walkers arrive")),
        },
        listed="node",
        heading="Longest queues",
        picture="the longest queue of walkers, and how many were served and dropped",
        totals="What servers had at the end.",
        unsampled="No server has been sampled yet.",
    )

    def __init__(self, place: places.Place) -> None:
        super().__init__(place)
        if not self.problem and not self.in_progress and not tables.parts(self.folder, "walks"):
            self.problem = (
                f"{self.name} has walks of one process: only servers (--servers) have queues over time. "
                "incast report draws it."
            )

    @cached_property
    def servers(self) -> pl.DataFrame:
        """A row a server."""
        found = self.read("walks", _SERVERS).drop_nulls("host").unique("host", maintain_order=True)
        order = sorted(found["host"], key=text.natural_key)
        return pl.DataFrame({"host": order}, {"host": pl.String}).join(found, "host", maintain_order="left")

    @cached_property
    def series(self) -> pl.DataFrame:
        """The samples; of a long run several are joined, as many as cells can show."""
        files = tables.parts(self.folder, "walks_series")
        width = max(1, tables.latest(files, self.notes) * max(self.servers.height, 1) // CELLS_MAX)
        found = [pl.DataFrame(schema=_SERIES)]
        for part in tables.each_part(files, _SERIES, self.notes):
            joined = (
                part.drop_nulls(["time_ps", "host"])
                .group_by("host", step=pl.col("time_ps") // width)
                .agg(pl.col("time_ps", "queue_max", "timeout_ps").max(), pl.col(_COUNTED).sum())
            )
            found += tables.collected(joined.select(*_SERIES), self.notes)
        return pl.concat(found).sort("time_ps", "host")

    @cached_property
    def parts(self) -> Parts:
        """The servers below the network, which says nothing of itself."""
        return Parts.around_network("Server", self.servers["host"].to_list(), sending=False)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Servers with their queues; connections with the walkers that arrive."""
        server, drops = position("host", self.parts.measured), pl.sum_horizontal(DROPS)
        servers = as_rows(self.series, server, level="queue_max", flow="served", drops=drops)
        return pl.concat([servers, as_rows(self.series, server + len(self.parts.measured), flow="arrived")])

    @property
    def jobs(self) -> pl.DataFrame:
        """The walks."""
        return self.job(str(self.summary.get("app") or JOB), JOB, "interrupted", "given_up", "error")

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """Each server until its own walks are finished."""
        rows = []
        for n, (host, ended) in enumerate(self.servers.select("host", "finished_ps").rows()):
            # While they walk, 0 says that there is no such time.
            rows.append((JOB, host, "walking", "finished" if ended else None, n, n, 0, ended or None, None))
        return pl.DataFrame(rows, tables.TASKS, orient="row")

    def missing(self) -> list[str]:
        """What the result lacks."""
        notes = []
        if self.summary.get("interrupted"):
            notes.append("The walks were interrupted: this is how they went by then.")
        if self.summary.get("error"):
            notes.append(f"The walks failed: {self.summary['error']}")
        if self.summary.get("given_up"):
            notes.append(f"{text.count(self.summary['given_up'])} walks were given up.")
        return notes

    def node_facts(self, name: str) -> list[tuple[str, str]]:
        """What a server owns and has walked."""
        row = self.servers.filter(pl.col("host") == name).row(0, named=True)
        return [
            ("Nodes", text.count(row["nodes"])),
            ("Walks", f"{text.count(row['finished'])} of {text.count(row['required'])}"),
            ("Finished at", text.time(row["finished_ps"] or None)),
            ("Additional walkers", text.count(row["additional"])),
            ("Given up", text.count(row["given_up"])),
            ("Restarts", text.count(row["restarts"])),
        ]

    def node_charts(self, name: str) -> list[Chart]:
        """A server's queue, what it does, what it drops, and when it takes a walker to be lost."""
        own = self.series.filter(pl.col("host") == name)
        queue = points.extremes(own, "time_ps", "queue_max", STEPS_MAX // 4)
        timeout = points.extremes(own, "time_ps", "timeout_ps", STEPS_MAX // 4)
        causes = {cause: cause.removeprefix("drops_") for cause in DROPS}
        rates = self.line(own, _COUNTED).rename(causes)
        return [
            *self.drawn("Queue", "count", queue.rename({"queue_max": "longest"}), ["longest"]),
            *self.drawn("Walkers", "pace", rates, ["served", "arrived", "generated", "finished"]),
            *self.drawn("Drops", "pace", rates, list(causes.values())),
            *self.drawn("Timeout", "time", timeout.rename({"timeout_ps": "lost after"}), ["lost after"]),
        ]
