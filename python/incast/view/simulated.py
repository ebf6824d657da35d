"""A run with a simulated network: its ports, jobs and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import polars as pl

from incast import stored, text
from incast.folder import GRAPH
from incast.report import run as report_run
from incast.report.graph import Graph, graph
from incast.report.scheme import scheme
from incast.report.topology import picture
from incast.view import tables
from incast.view.pyramid import Pyramid, Stored
from incast.view.run import Run
from incast.view.words import Measure, Subject, Words

NODES_MAX = 1200
"""Larger networks are drawn in groups."""
WORDS = Words(
    kinds={"port": "Port", "node": "Host or switch", "flow": "Flow number", "task": "Task number"},
    following="Follow a port, host, flow or task",
    of={
        "port": Subject(
            "Port",
            level=Measure("Queue", "size", "no queue"),
            flow=Measure("In use", "share", "much of the rate in use"),
            drops=Measure("Drops", "count", "drops"),
            paused=Measure("Paused", "share", "paused by PFC"),
        )
    },
    listed="port",
    heading="Longest queues",
    picture="the longest queue, and what was sent and dropped",
    totals="Totals of the whole run: the longest queue, the share of the time in use, drops.",
    unsampled="The run has no samples of ports: links show their totals. measure.interval takes samples.",
)


class Simulated(Run):
    """A run of the simulator, or of jobs on sockets."""

    words = WORDS
    read_summary = staticmethod(stored.read_run)

    @cached_property
    def recorded(self) -> pl.DataFrame:
        """The table `ports`; empty before the end of the run."""
        found = self.read("ports", tables.PORTS).drop_nulls(["port", "node", "peer"])
        return found.unique("port").sort("port")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """The table `ports`; before the end of the run, as much as the names of sampled ports say."""
        if self.recorded.height:
            return self.recorded
        names = [name for name in self.pyramid.ports if ":" in name]
        ends = [name.partition("#")[0].partition(":") for name in names]
        files = tables.parts(self.folder, "hosts_series")[:1]
        hosts = set(tables.collect(files, {"host": pl.String()}, self.notes)["host"])
        said: dict[str, Any] = dict.fromkeys(tables.PORTS)
        said |= {"port": names, "node": [a for a, _, _ in ends], "peer": [b for _, _, b in ends]}
        said["kind"] = ["host" if node in hosts else "switch" for node in said["node"]]
        return pl.DataFrame(said, schema=tables.PORTS)

    @cached_property
    def graph(self) -> Graph:
        """Nodes and ports."""
        nodes = None if self.recorded.height else self.object(GRAPH).get("nodes")
        named = (each for each in nodes if isinstance(each, dict)) if isinstance(nodes, list) else ()
        listed = [str(each.get("name")) for each in named if each.get("kind") == "host"]
        return graph(self.ports, frozenset(listed or self.ports.filter(kind="host")["node"]))

    @cached_property
    def flows(self) -> int:
        """How many flows the table has."""
        return self.read("flows", {"flow": pl.Int64()}).height

    @cached_property
    def pyramid(self) -> Pyramid:
        """The samples of its ports."""
        return Stored.of(self.folder)

    @property
    def sampled(self) -> list[int]:
        """Each port's position among the samples, or -1."""
        at = {name: position for position, name in enumerate(self.pyramid.ports)}
        return [at.get(port.name, -1) for port in self.graph.ports]

    @property
    def subjects(self) -> dict[str, list[Any]]:
        """The graph's ports in its order, with their totals."""
        names = [port.name for port in self.graph.ports]
        table = pl.DataFrame({"port": names}, schema={"port": pl.String})
        table = table.join(self.ports, on="port", how="left", maintain_order="left")
        drops = pl.sum_horizontal("in_discards", "out_discards")
        chosen = table.select(
            of=pl.lit("port"),
            name="port",
            node="node",
            rate_bps="rate_bps",
            flow="utilisation",
            level="queue_max_bytes",
            drops=drops,
        )
        return chosen.to_dict(as_series=False)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The table `jobs`."""
        return self.read("jobs", tables.JOBS).drop_nulls(["job", "start_ps"]).sort("start_ps", "job")

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """The table `tasks`."""
        return self.read("tasks", tables.TASKS).drop_nulls(["task", "job", "host", "kind", "start_ps"])

    @property
    def events(self) -> pl.DataFrame:
        """The table `events`."""
        return self.read("events", tables.EVENTS).drop_nulls("time_ps").sort("time_ps", maintain_order=True)

    def drawing(self, width: int) -> dict[str, Any]:
        """Nodes with their places, and the halves of links with the positions of their ports."""
        return picture(scheme(self.graph, NODES_MAX), width)

    @property
    def alerts(self) -> Sequence[str]:
        """What stands above everything else, as in the report."""
        return report_run.Run(self.name, self.folder, {}, self.summary).alerts

    def missing(self) -> list[str]:
        """What a reader might look for in vain."""
        notes = []
        if self.summary.get("end") == "interrupted":
            notes.append("The run was interrupted: this is what it had measured by then.")
        if self.summary.get("error"):
            notes.append(f"The run failed: {self.summary['error']}")
        if not self.flows:
            notes.append("The run has no flows.")
        if not self.tasks.height:
            notes.append("No job reported tasks: the timeline shows jobs.")
        if not self.graph.ports:
            notes.append("The network is not known: there is neither a table of ports nor a sample of one.")
        elif len(self.graph.tiers) > NODES_MAX:
            notes.append(_grouped(self.graph))
        return notes


def _grouped(net: Graph) -> str:
    return (
        f"The network has {text.count(len(net.tiers))} nodes and {text.count(len(net.ports))} ports: "
        "nodes are drawn in groups. Follow finds each port by its name."
    )
