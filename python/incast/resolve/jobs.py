"""Jobs in the core's terms: hosts by name, traces read, sizes and times in base units."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from incast import _core
from incast.document import Loc
from incast.hints import unknown
from incast.kinds.traces import Flow, TraceFile
from incast.kinds.traffic import (
    AllToAll,
    Background,
    Broadcast,
    Bulk,
    Coflows,
    Farmem,
    Incast,
    Job,
    Load,
    Mine,
    Permutation,
    Replay,
    Shuffle,
    Walk,
)
from incast.lab.cluster import Cluster
from incast.lab.findings import Findings
from incast.lab.select import SelectError, select
from incast.quantity import (
    SIZE_MAX,
    TIME_MAX,
    format_bytes,
    format_time,
    parse_bytes,
    parse_rate,
    parse_time,
)
from incast.resolve.broadcast import BroadcastResolver
from incast.resolve.farmem import FarmemResolver
from incast.resolve.mine import MineResolver
from incast.resolve.shuffle import ShuffleResolver
from incast.resolve.walk import WalkResolver


class JobResolver:
    """Resolves the jobs of one scenario."""

    def __init__(self, cluster: Cluster, seed: int, folder: Path, findings: Findings) -> None:
        self.cluster = cluster
        self.seed = seed
        self.folder = folder
        self.findings = findings

    def spec(self, job: Job, loc: Loc) -> dict[str, Any]:
        """The job in base units."""
        return {
            "name": job.name,
            "start": parse_time(job.start),
            "class": job.class_,
            "work": {"kind": job.kind, **self._work(job, loc)},
        }

    def _work(self, job: Job, loc: Loc) -> dict[str, Any]:
        match job:
            case Bulk():
                pairs = self._pairs(job.pairs, job.among, job.name, loc)
                return {"pairs": pairs, "bytes": parse_bytes(job.size)}
            case Incast():
                return self._incast(job, loc)
            case Permutation():
                return {"hosts": self._group(job.hosts, loc), "bytes": parse_bytes(job.size)}
            case AllToAll():
                hosts = self._group(job.hosts, loc)
                parallel = job.parallel or max(1, len(hosts) - 1)
                bytes_ = parse_bytes(job.size)
                skew = parse_time(job.skew)
                return {
                    "hosts": hosts, "bytes": bytes_, "parallel": parallel, "order": job.order, "skew": skew,
                }  # fmt: skip
            case Load():
                return {
                    "hosts": self._group(job.hosts, loc),
                    "sizes": self._sizes(job, loc),
                    "load": float(job.load),
                    "duration": parse_time(job.duration),
                }
            case Replay():
                return {"flows": self._replay(job, loc)}
            case Coflows():
                return {"coflows": self._coflows(job, loc)}
            case Shuffle() | Walk() | Broadcast() | Mine() | Farmem():
                return self._own(job, loc)
            case Background():
                return {
                    "pairs": self._pairs(job.pairs, job.among, job.name, loc),
                    "rate": parse_rate(job.rate),
                    "over": job.over,
                    "model": job.model,
                    "duration": parse_time(job.duration) if job.duration else None,
                }

    def _own(self, job: Shuffle | Walk | Broadcast | Mine | Farmem, loc: Loc) -> dict[str, Any]:
        """Jobs with algorithms of their own."""
        if isinstance(job, Shuffle):
            return ShuffleResolver(job, loc, self._hosts, self.cluster, self.findings).spec()
        if isinstance(job, Broadcast):
            to = self._hosts(job.destinations, (*loc, "destinations"))
            return BroadcastResolver(job, loc, to, self.cluster, self.folder, self.findings).spec()
        if isinstance(job, Mine):
            nodes = self._hosts(job.nodes, (*loc, "nodes"))
            return MineResolver(job, loc, nodes, self.folder, self.findings).spec()
        if isinstance(job, Farmem):
            hosts = (
                self._hosts(job.programs, (*loc, "programs")),
                self._hosts(job.memory, (*loc, "memory")),
            )
            return FarmemResolver(job, loc, hosts, self.folder, self.findings).spec()
        servers = self._hosts(job.servers, (*loc, "servers"))
        return WalkResolver(job, loc, servers, self.folder, self.findings).spec()

    def _hosts(self, selector: str | list[str], loc: Loc) -> list[str]:
        try:
            return select(selector, self.cluster.hosts, "a host")
        except SelectError as error:
            self.findings.add(loc, str(error))
            return []

    def _group(self, selector: str | list[str], loc: Loc, field: str = "hosts") -> list[str]:
        hosts = self._hosts(selector, (*loc, field))
        if len(hosts) == 1:
            self.findings.add((*loc, field), f"only {hosts[0]} takes part: at least 2 hosts are needed")
        return hosts

    def _pairs(
        self, pairs: str | list[list[str]], among: str | list[str], name: str, loc: Loc
    ) -> list[list[str]]:
        if isinstance(pairs, str):
            return _random_pairs(self._group(among, loc, "among"), self.seed, name)
        found = []
        for index, ends in enumerate(pairs):
            place = (*loc, "pairs", index)
            sources, sinks = (self._hosts(end, place) for end in ends)
            each = [[a, b] for a in sources for b in sinks if a != b]
            if sources and sinks and not each:
                self.findings.add(place, f"{sources[0]} sends to itself: two hosts are needed")
            found += each
        return found

    def _incast(self, job: Incast, loc: Loc) -> dict[str, Any]:
        if job.receiver not in self.cluster.hosts:
            self.findings.add((*loc, "receiver"), unknown("a host", job.receiver, self.cluster.hosts))
        senders = self._hosts(job.senders, (*loc, "senders"))
        if isinstance(job.senders, list) and job.receiver in job.senders:
            self.findings.add((*loc, "senders"), f"{job.receiver} is the receiver and can't be a sender")
        senders = [host for host in senders if host != job.receiver]
        return {
            "senders": senders,
            "receiver": job.receiver,
            "bytes": parse_bytes(job.size),
            "rounds": job.rounds,
        }

    def _sizes(self, job: Load, loc: Loc) -> list[tuple[int, float]]:
        place = (*loc, "sizes")
        if isinstance(job.sizes, str) and job.sizes.endswith(".txt"):
            return TraceFile(self.folder / job.sizes, place, self.findings).sizes()
        if isinstance(job.sizes, str):
            return _core.published_sizes(job.sizes)
        points = [(parse_bytes(str(size)), float(part)) for size, part in job.sizes]
        try:
            _core.check_sizes(points)
        except ValueError as error:
            self.findings.add(place, str(error))
        return points

    def _replay(self, job: Replay, loc: Loc) -> list[dict[str, Any]]:
        if (job.trace is None) == (not job.flows):
            self.findings.add(loc, "either flows or trace is required, with at least one flow")
            return []
        place = self._hosts(job.place, (*loc, "place"))
        if job.trace is not None:
            trace = TraceFile(self.folder / job.trace, (*loc, "trace"), self.findings)
            flows = trace.flows()[: job.first]
            self._check_ends(flows, trace)
        else:
            flows = [
                Flow(parse_time(f.at), f.from_, f.to, parse_bytes(f.size), f.group, 0)
                for f in job.flows[: job.first]
            ]
            for index, flow in enumerate(flows):
                for field, end in (("from", flow.source), ("to", flow.sink)):
                    if not self._known(end):
                        message = unknown("a host", end, self.cluster.hosts)
                        self.findings.add((*loc, "flows", index, field), message)
                if flow.source == flow.sink:
                    message = f"{flow.source} sends to itself: two hosts are needed"
                    self.findings.add((*loc, "flows", index), message)
        spec: list[dict[str, Any]] = [
            {
                "at": _scaled(flow.at, job.time_scale, 0),
                "from": _placed(flow.source, place),
                "to": _placed(flow.sink, place),
                "bytes": _scaled(flow.size, job.scale, 1),
                "group": flow.group,
            }
            for flow in flows
        ]
        self._check_scales(job, spec, [flow["bytes"] for flow in spec], loc)
        return sorted(spec, key=lambda flow: flow["at"])

    def _known(self, end: str) -> bool:
        return end.isdecimal() or end in self.cluster.hosts

    def _check_ends(self, flows: list[Flow], trace: TraceFile) -> None:
        wrong = {
            end: flow.line
            for flow in reversed(flows)
            for end in (flow.source, flow.sink)
            if not self._known(end)
        }
        for end, line in sorted(wrong.items(), key=lambda item: item[1])[:5]:
            trace.problem(unknown("a host", end, self.cluster.hosts), line)
        alone = [flow for flow in flows if flow.source == flow.sink]
        for flow in alone[:5]:
            trace.problem(f"{flow.source} sends to itself: two hosts are needed", flow.line)

    def _coflows(self, job: Coflows, loc: Loc) -> list[dict[str, Any]]:
        place = self._hosts(job.place, (*loc, "place"))
        trace = TraceFile(self.folder / job.trace, (*loc, "trace"), self.findings)
        coflows = trace.coflows()[: job.first]
        if not place:
            return []
        spec: list[dict[str, Any]] = [
            {
                "id": coflow.id,
                "at": _scaled(coflow.at, job.time_scale, 0),
                "mappers": [place[rack % len(place)] for rack in coflow.mappers],
                "reducers": [
                    [place[rack % len(place)], _scaled(size, job.scale, 1)] for rack, size in coflow.reducers
                ],
            }
            for coflow in coflows
        ]
        self._check_scales(job, spec, [size for each in spec for _, size in each["reducers"]], loc)
        return sorted(spec, key=lambda coflow: coflow["at"])

    def _check_scales(
        self, job: Replay | Coflows, entries: list[dict[str, Any]], sizes: list[int], loc: Loc
    ) -> None:
        last = parse_time(job.start) + max((entry["at"] for entry in entries), default=0)
        if last > TIME_MAX:
            field = "start" if job.time_scale == 1 else "time_scale"
            most = format_time(TIME_MAX)
            self.findings.add((*loc, field), f"an entry begins after {most}, the longest time")
        if max(sizes, default=0) > SIZE_MAX:
            most = format_bytes(SIZE_MAX)
            self.findings.add((*loc, "scale"), f"with {job.scale:g} a size is above {most}, the largest")


def _random_pairs(hosts: list[str], seed: int, name: str) -> list[list[str]]:
    """Every host sends to one other: neighbours in an order drawn from the seed and the job's name."""

    def draw(host: str) -> bytes:
        return hashlib.sha256(f"{seed}/{name}/{host}".encode()).digest()

    order = sorted(hosts, key=draw)
    to = dict(zip(order, order[1:] + order[:1], strict=True))
    return [[host, to[host]] for host in hosts]


def _placed(end: str, place: list[str]) -> str:
    """The host that a number stands for, or the name itself."""
    return place[int(end) % len(place)] if end.isdecimal() and place else end


def _scaled(value: int, scale: float, least: int) -> int:
    return value if scale == 1 else max(least, round(value * scale))
