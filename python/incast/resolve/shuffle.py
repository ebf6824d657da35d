"""A TeraSort in the core's terms: roles of hosts, the framework's defaults, base units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incast.document import Loc
from incast.hints import unknown
from incast.kinds.traffic import Shuffle, ShuffleCosts
from incast.lab.cluster import Cluster
from incast.lab.findings import Findings
from incast.quantity import parse_bytes, parse_rate, parse_time

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
"""Measured on Hadoop 3.4.2 and Tez 0.10.5: studies/datacentre-hadoop/round-trips."""
_REDUCES_A_SLOT = 0.95
"""Reduces by which all run at once, with room for a failed node (Hadoop's MapReduce tutorial)."""

_RATES = ("map_rate", "sort_rate", "merge_rate", "reduce_rate")
_PLAIN = ("variation", "page_cache", "assignments", *_CALLS["mapreduce"])


class ShuffleResolver:
    """Resolves one job."""

    def __init__(
        self,
        job: Shuffle,
        loc: Loc,
        hosts: Callable[[str | list[str], Loc], list[str]],
        cluster: Cluster,
        findings: Findings,
    ) -> None:
        self.job = job
        self.loc = loc
        self.hosts = hosts
        self.cluster = cluster
        self.findings = findings

    def spec(self) -> dict[str, Any]:
        """The job's work."""
        job = self.job
        compute = self.hosts(job.compute, (*self.loc, "compute"))
        data = self.hosts(job.data, (*self.loc, "data"))
        log_nodes = self.hosts(job.log_nodes, (*self.loc, "log_nodes")) if job.log_nodes else data
        self._check_roles(compute, data, log_nodes if job.log_nodes else [])
        for field in ("input_replication", "output_replication"):
            copies = getattr(job, field)
            if data and copies > len(data):
                self._refuse(field, f"{copies} copies on {len(data)} data nodes: at most {len(data)}")
        return {
            "framework": job.framework,
            "bytes": parse_bytes(job.size),
            "block": parse_bytes(job.block),
            "master": job.master,
            "compute": compute,
            "data": data,
            "log_nodes": log_nodes,
            "slots": job.slots,
            "reduces": job.reduces or max(1, int(len(compute) * job.slots * _REDUCES_A_SLOT)),
            "input_replication": job.input_replication,
            "output_replication": job.output_replication,
            "log_bytes": parse_bytes(job.log_size),
            "parallel_copies": job.parallel_copies or _PARALLEL_COPIES[job.framework],
            "slow_start": self._slow_start(),
            "io_sort": parse_bytes(job.io_sort),
            "reduce_memory": parse_bytes(job.reduce_memory),
            "shuffle_buffer": float(job.shuffle_buffer),
            "merge_at": float(job.merge_at),
            "costs": self._costs(job.costs),
        }

    def _refuse(self, field: str, message: str) -> None:
        self.findings.add((*self.loc, field), message)

    def _check_roles(self, compute: list[str], data: list[str], log_nodes: list[str]) -> None:
        master = self.job.master
        if master not in self.cluster.hosts:
            self._refuse("master", unknown("a host", master, self.cluster.hosts))
        for field, members in (("compute", compute), ("data", data), ("log_nodes", log_nodes)):
            if master in members:
                self._refuse(field, f"{master} is the master: it can have no other role")
        for field, members in (("data", data), ("log_nodes", log_nodes)):
            both = [host for host in members if host in compute]
            if both:
                self._refuse(field, f"{both[0]} is a compute node: it can't be a data node too")

    def _slow_start(self) -> tuple[float, float]:
        job = self.job
        start = _SLOW_START[job.framework] if job.slow_start is None else float(job.slow_start)
        if job.framework == "mapreduce":
            if job.slow_start_end is not None:
                self._refuse("slow_start_end", "MapReduce ramps up by a rule of its own: only Tez has it")
            return start, 1.0
        end = max(start, _SLOW_START_END) if job.slow_start_end is None else float(job.slow_start_end)
        if end < start:
            self._refuse("slow_start_end", f"{end} is below slow_start, which is {start}")
        return start, end

    def _costs(self, costs: ShuffleCosts) -> dict[str, Any]:
        said = {**costs.model_dump(), "umbilical": costs.umbilical or _UMBILICAL[self.job.framework]}
        said |= {field: n for field, n in _CALLS[self.job.framework].items() if said[field] is None}
        if parse_time(costs.node_expiry) <= parse_time(costs.heartbeat):
            self.findings.add((*self.loc, "costs", "node_expiry"), "it has to be longer than a heartbeat")
        return {field: _base(field, value) for field, value in said.items()}


def _base(field: str, value: Any) -> Any:
    if field in _RATES:
        return parse_rate(value)
    return value if field in _PLAIN else parse_time(value)
