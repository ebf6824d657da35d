"""TeraSort on Hadoop: MapReduce or Tez, its roles, settings and costs, and the framework's defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from incast.kinds.job import Job, Site, Traits
from incast.lab.base import Count, InCore, Model, Selector
from incast.lab.quantities import PositiveSize, PositiveTime, Rate, Size, Time
from incast.quantity import parse_time

_PARALLEL_COPIES = {"mapreduce": 5, "tez": 20}
_SLOW_START = {"mapreduce": 0.05, "tez": 0.25}
_SLOW_START_END = 0.75
_UMBILICAL = {"mapreduce": "1s", "tez": "100ms"}
_CALLS = {
    "mapreduce": {
        "master_rpcs": 62,
        "localisation_rpcs": 20,
        "container_rpcs": 20,
        "map_rpcs": 13,
        "reduce_rpcs": 30,
        "commit_rpcs": 62,
    },
    "tez": {
        "master_rpcs": 78,
        "localisation_rpcs": 32,
        "container_rpcs": 21,
        "map_rpcs": 10,
        "reduce_rpcs": 22,
        "commit_rpcs": 14,
    },
}
"""Measured on Hadoop 3.4.2 and Tez 0.10.5: studies/datacentre-hadoop/real-hadoop."""
_REDUCES_A_SLOT = 0.95
"""Reduces by which all run at once, with room for a failed node (Hadoop's MapReduce tutorial)."""

_Part = Annotated[float, Field(ge=0, le=1)]
_PartAboveZero = Annotated[float, Field(gt=0, le=1)]
_Calls = Annotated[int, Field(ge=0, le=10_000)]


class ShuffleCosts(Model):
    """How long the parts of a TeraSort take on a host. Rates are a core's; disks have the host's rate."""

    map_rate: Rate = "100MB/s"
    """Reading records and the map function."""
    sort_rate: Rate = "200MB/s"
    """Sorting a full buffer."""
    merge_rate: Rate = "400MB/s"
    """Merging sorted runs."""
    reduce_rate: Rate = "100MB/s"
    """The reduce function and writing records."""
    variation: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """A task's rates differ from these by up to this part, drawn for each task."""
    page_cache: _Part = 1.0
    """Part of the local reads (map output, runs) that the page cache answers."""
    job_submit: Time = "2s"
    """The client computes the splits and submits the job."""
    master_start: Time = "4s"
    """The application master's container starts."""
    master_rpcs: _Calls | None = None
    """Calls of the application master's start, one after the other, over the link of the first compute node.
    Without a value 62, with Tez 78: these and the others are measured, see the explanation of shuffle."""
    container_start: Time = "1500ms"
    """A container starts: localisation and a JVM."""
    localisation_rpcs: _Calls | None = None
    """Calls to the master by which a node gets the job's files: its first containers wait for them.
    Without a value 20, with Tez 32."""
    container_rpcs: _Calls | None = None
    """Calls to the master that a new container makes before its task starts, one after the other.
    Without a value 20, with Tez 21."""
    task_setup: Time = "300ms"
    """A task starts in its container."""
    task_commit: Time = "100ms"
    """A task commits its output."""
    map_rpcs: _Calls | None = None
    """Calls to the master that a map makes one after the other: half at its start, half at its commit.
    Without a value 13, with Tez 10."""
    reduce_rpcs: _Calls | None = None
    """Calls to the master that a reduce makes one after the other: half at its start, half at its commit.
    Without a value 30, with Tez 22."""
    job_commit: Time = "500ms"
    """The job commits its output."""
    commit_rpcs: _Calls | None = None
    """Calls of the application master at the job's commit, one after the other, over its compute node's link.
    Without a value 62, with Tez 14."""
    heartbeat: PositiveTime = "1s"
    """Time between a NodeManager's heartbeats: containers are assigned in answer to them."""
    master_heartbeat: Time = "1s"
    """Time between the application master's heartbeats: it asks for containers with one and hears of them
    with a later one (`yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms`). With 0s it hears at once."""
    umbilical: PositiveTime | None = None
    """Time between a node's polls for finished maps; without a value 1s, with Tez 100ms."""
    assignments: Count = 100
    """Most containers that an answer to a heartbeat assigns."""
    socket_timeout: PositiveTime = "60s"
    """A transfer without progress for this long is given up and tried again."""
    fetch_penalty: PositiveTime = "10s"
    """A node where a fetch failed is not tried again for this long."""
    node_expiry: PositiveTime = "600s"
    """A node that is silent for this long is lost, and its tasks run elsewhere."""


class Shuffle(Job):
    """TeraSort on Hadoop: maps read from data nodes, reduces fetch from maps and write to data nodes."""

    traits = Traits(judged="duration")

    kind: Literal["shuffle"] = "shuffle"
    framework: Literal["mapreduce", "tez"] = "mapreduce"
    """Framework: MapReduce starts one container per task, Tez reuses containers."""
    size: Annotated[PositiveSize, InCore("bytes")]
    """Input size; the same amount is shuffled and written."""
    block: PositiveSize = "128MiB"
    """HDFS block: a map reads one."""
    master: str
    """Where the application master and the metadata are; no other role."""
    compute: Selector
    """Where containers run."""
    data: Selector
    """Where blocks are; no compute nodes."""
    slots: Count = 8
    """Containers that a compute node runs at a time."""
    reduces: Count | None = None
    """Reduce tasks; without a value, 0.95 of all slots."""
    input_replication: Count = 3
    """Copies of each input block."""
    output_replication: Count = 1
    """Copies of the output (`mapreduce.terasort.output.replication`)."""
    log_size: Annotated[Size, InCore("log_bytes")] = "0B"
    """Log that a container uploads at its end."""
    log_nodes: Selector | None = None
    """Where logs go: data nodes, these or others; without a value, the job's."""
    parallel_copies: Count | None = None
    """Fetches that a reduce has open at a time; without a value 5, with Tez 20."""
    slow_start: _Part | None = None
    """Part of the maps after which reduces begin to be started; without a value 0.05, with Tez 0.25."""
    slow_start_end: _Part | None = None
    """Tez only: part of the maps after which all reduces may have started; without a value 0.75."""
    io_sort: PositiveSize = "100MiB"
    """A map's sort buffer (`io.sort.mb`); it spills at 0.80."""
    reduce_memory: PositiveSize = "1GiB"
    """Memory of a reduce."""
    shuffle_buffer: _PartAboveZero = 0.7
    """Part of the memory that fetched map output may fill."""
    merge_at: _PartAboveZero = 0.66
    """Part of that buffer at which it is merged to disk."""
    costs: ShuffleCosts = ShuffleCosts()
    """How long things take on a host."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads: roles of hosts, and the framework's defaults."""
        compute = site.hosts(self.compute, "compute")
        data = site.hosts(self.data, "data")
        log_nodes = site.hosts(self.log_nodes, "log_nodes") if self.log_nodes else data
        self._check_roles(site, compute, data, log_nodes if self.log_nodes else [])
        for field in ("input_replication", "output_replication"):
            copies = getattr(self, field)
            if data and copies > len(data):
                site.refuse(field, f"{copies} copies on {len(data)} data nodes: at most {len(data)}")
        return {
            **self.settings("slow_start_end"),
            "compute": compute,
            "data": data,
            "log_nodes": log_nodes,
            "reduces": self.reduces or max(1, int(len(compute) * self.slots * _REDUCES_A_SLOT)),
            "parallel_copies": self.parallel_copies or _PARALLEL_COPIES[self.framework],
            "slow_start": self._slow_start(site),
            "costs": self._costs(site),
        }

    def _check_roles(self, site: Site, compute: list[str], data: list[str], log_nodes: list[str]) -> None:
        site.check_host(self.master, "master")
        for field, members in (("compute", compute), ("data", data), ("log_nodes", log_nodes)):
            if self.master in members:
                site.refuse(field, f"{self.master} is the master: it can have no other role")
        for field, members in (("data", data), ("log_nodes", log_nodes)):
            both = [host for host in members if host in compute]
            if both:
                site.refuse(field, f"{both[0]} is a compute node: it can't be a data node too")

    def _slow_start(self, site: Site) -> tuple[float, float]:
        start = _SLOW_START[self.framework] if self.slow_start is None else self.slow_start
        if self.framework == "mapreduce":
            if self.slow_start_end is not None:
                site.refuse("slow_start_end", "MapReduce ramps up by a rule of its own: only Tez has it")
            return start, 1.0
        end = max(start, _SLOW_START_END) if self.slow_start_end is None else self.slow_start_end
        if end < start:
            site.refuse("slow_start_end", f"{end} is below slow_start, which is {start}")
        return start, end

    def _costs(self, site: Site) -> dict[str, Any]:
        if parse_time(self.costs.node_expiry) <= parse_time(self.costs.heartbeat):
            site.refuse("costs.node_expiry", "it has to be longer than a heartbeat")
        said = {name: value for name, value in self.costs.base_units().items() if value is not None}
        return {"umbilical": parse_time(_UMBILICAL[self.framework]), **_CALLS[self.framework], **said}
