"""Traffic that was recorded: a list of flows, or of coflows, written down or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from incast import _core
from incast.hints import unknown
from incast.kinds.job import Job, Site, Traits
from incast.lab.base import Count, Model, Selector
from incast.lab.cluster import Cluster
from incast.lab.quantities import PositiveSize, Time
from incast.quantity import (
    RUN_MAX,
    SIZE_MAX,
    TIME_MAX,
    format_bytes,
    format_rate,
    format_time,
    parse_bytes,
    parse_time,
)

if TYPE_CHECKING:
    from incast.kinds.flow_files import FlowFile, Flows


class ReplayFlow(Model):
    """A flow to replay."""

    at: Time = "0s"
    """When it begins, since the job's start."""
    from_: str = Field(alias="from")
    """Sender."""
    to: str
    """Receiver."""
    size: PositiveSize
    """Size."""
    group: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Ties flows together."""


_Scale = Annotated[float, Field(gt=0, le=1e9)]
_SHOWN = 5
"""So many lines of a trace are named where the same is wrong."""


class _LongestRun:
    """What a run can see the end of: when an entry begins, and how many bytes go to or from a host."""

    def __init__(self, cluster: Cluster, start: int) -> None:
        self._rates = dict.fromkeys(cluster.hosts, 0)
        for link in cluster.links:
            for end, way in (("a", "ab"), ("b", "ba")):
                if link[end] in self._rates:
                    self._rates[link[end]] += link[way]["rate"]
        self._start = start
        # A start that is too late is refused by itself.
        self.latest = RUN_MAX - start if start <= RUN_MAX else TIME_MAX
        """No entry begins later, since the job's start."""
        self.carried = min(SIZE_MAX, min(map(self._most, self._rates), default=0))
        """Every host's links carry so many bytes."""

    def _most(self, host: str) -> int:
        return self._rates[host] * RUN_MAX // (8 * 10**12)

    def refuses(self, at: int, size: int, hosts: Iterable[str]) -> tuple[str, str] | None:
        """The field of an entry that is too large, and what is allowed.

        What scales make of it may be more than there are times or sizes: that is said of the scales.
        """
        if self._start + at > TIME_MAX or size > SIZE_MAX:
            return None
        if at > self.latest:
            begins = format_time(self._start + at)
            return "at", f"{begins} after the run's start is beyond the longest run (106 days)"
        for host in hosts:
            if host in self._rates and size > (most := self._most(host)):
                rate = f"{format_rate(self._rates[host])}, the rate of {host}"
                return "size", (
                    f"{format_bytes(size)} take longer than the longest run (106 days) at {rate}: "
                    f"at most {format_bytes(_rounded(most))} are allowed"
                )
        return None


class _Trace(Job):
    """A list of what begins when, scaled and placed on hosts."""

    scale: _Scale = 1.0
    """Sizes are multiplied by it."""
    time_scale: _Scale = 1.0
    """Times are multiplied by it: 0.1 replays ten times as fast."""
    first: Count | None = None
    """Only this many entries of the trace."""
    place: Selector = "*"
    """The hosts that the trace's numbers stand for, in order; more numbers than hosts wrap around. A flow
    between two numbers of one host goes over its loopback, not over the network."""

    def _check_scales(self, site: Site, last: int, largest: int) -> None:
        """Notes an entry that begins too late, so long after the job's start, or a size that is too large."""
        if parse_time(self.start) + last > TIME_MAX:
            field = "start" if self.time_scale == 1 else "time_scale"
            site.refuse(field, f"an entry begins after {format_time(TIME_MAX)}, the longest time")
        if largest > SIZE_MAX:
            most = format_bytes(SIZE_MAX)
            site.refuse("scale", f"with {self.scale:g} a size is above {most}, the largest")


class Replay(_Trace):
    """A list of flows."""

    traits = Traits(judged="flows")

    kind: Literal["replay"] = "replay"
    flows: list[ReplayFlow] = []
    """The flows, written here."""
    trace: str | None = None
    """The flows in a file: CSV or Parquet with the columns at, from, to, size and optionally group."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        hosts, rows = _core.pack_flows(self._replayed(site))
        return {"kind": self.kind, "flows": {"hosts": hosts, "rows": rows}}

    def _replayed(self, site: Site) -> Iterator[tuple[Sequence[Any], ...]]:
        """Times, senders, receivers, sizes and groups of some at a time.

        After the last ones, notes what is wrong.
        """
        if (self.trace is None) == (not self.flows):
            site.refuse((), "either flows or trace is required, with at least one flow")
            return
        placed = _Placed(site.hosts(self.place, "place"))
        last = largest = 0
        run = _LongestRun(site.cluster, parse_time(self.start))
        wrong: list[tuple[int, str, str]] = []
        for flows in [self._listed(site)] if self.trace is None else self._read(self.trace, site):
            at, sizes = _all_scaled(flows.at, self.time_scale, 0), _all_scaled(flows.sizes, self.scale, 1)
            senders = list(map(placed.__getitem__, flows.senders))
            receivers = list(map(placed.__getitem__, flows.receivers))
            last, largest = max(last, *at), max(largest, *sizes)
            if last > run.latest or largest > run.carried:
                ends = zip(senders, receivers, strict=True)
                for each, size, hosts, line in zip(at, sizes, ends, flows.lines, strict=True):
                    if refused := run.refuses(each, size, hosts):
                        wrong.append((line, *refused))
                at, sizes = [min(each, TIME_MAX) for each in at], [min(size, SIZE_MAX) for size in sizes]
            yield at, senders, receivers, sizes, flows.groups
        self._check_scales(site, last, largest)
        self._refuse(site, wrong)

    def _refuse(self, site: Site, wrong: Sequence[tuple[int, str, str]]) -> None:
        """Notes lines of the trace, or flows written here, with the field and what is wrong."""
        for line, field, message in wrong[:_SHOWN]:
            if self.trace is None:
                site.refuse(("flows", line, field), message)
            else:
                _trace(self.trace, site).problem(f"{field}: {message}", line)

    def _listed(self, site: Site) -> Flows:
        from incast.kinds.flow_files import Flows

        listed = self.flows[: self.first]
        for index, flow in enumerate(listed):
            for field, end in (("from", flow.from_), ("to", flow.to)):
                if not end.isdecimal():
                    site.check_host(end, "flows", index, field)
            if flow.from_ == flow.to:
                site.refuse(("flows", index), f"{flow.from_} sends to itself: two hosts are needed")
        return Flows(
            [parse_time(flow.at) for flow in listed],
            [flow.from_ for flow in listed],
            [flow.to for flow in listed],
            [parse_bytes(flow.size) for flow in listed],
            [flow.group for flow in listed],
            range(len(listed)),
        )

    def _read(self, file: str, site: Site) -> Iterator[Flows]:
        trace = _trace(file, site)
        lines: dict[str, int] = {}
        alone: list[tuple[str, int]] = []
        taken = 0
        for part in trace.flows():  # All of them: what is wrong is noted after the last.
            flows = part if self.first is None else part.first(self.first - taken)
            taken += len(flows.at)
            rows = list(zip(flows.senders, flows.receivers, flows.lines, strict=True))
            alone += [(sender, line) for sender, receiver, line in rows if sender == receiver]
            if not lines.keys() >= {*flows.senders, *flows.receivers}:
                for *ends, line in rows:
                    for end in ends:
                        lines.setdefault(end, line)
            if rows:
                yield flows
        hosts = site.cluster.hosts
        wrong = [end for end in lines if not (end.isdecimal() or end in hosts)]
        for end in wrong[:_SHOWN]:
            trace.problem(unknown("a host", end, hosts), lines[end])
        for end, line in alone[:_SHOWN]:
            trace.problem(f"{end} sends to itself: two hosts are needed", line)

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """All flows."""
        return _core.packed_bytes(work["flows"]["rows"])


class Coflows(_Trace):
    """Coflows: every mapper sends each reducer its part at the same time."""

    traits = Traits(judged="groups", group="coflow")

    kind: Literal["coflows"] = "coflows"
    trace: str
    """A file in the format of the public FB2010 coflow trace."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {"kind": self.kind, "coflows": self._replayed(site)}

    def _replayed(self, site: Site) -> list[dict[str, Any]]:
        place = site.hosts(self.place, "place")
        trace = _trace(self.trace, site)
        coflows = trace.coflows()[: self.first]
        if not place:
            return []
        found: list[dict[str, Any]] = [
            {
                "id": coflow.id,
                "at": _scaled(coflow.at, self.time_scale, 0),
                "mappers": [place[rack % len(place)] for rack in coflow.mappers],
                "reducers": [
                    [place[rack % len(place)], _scaled(size, self.scale, 1)] for rack, size in coflow.reducers
                ],
            }
            for coflow in coflows
        ]
        last = max((coflow["at"] for coflow in found), default=0)
        sizes = (size for coflow in found for _, size in coflow["reducers"])
        self._check_scales(site, last, max(sizes, default=0))
        self._check_ends(site, trace, found)
        return sorted(found, key=lambda coflow: coflow["at"])

    def _check_ends(self, site: Site, trace: FlowFile, coflows: Iterable[dict[str, Any]]) -> None:
        """Notes coflows of which no run can see the end."""
        run = _LongestRun(site.cluster, parse_time(self.start))
        wrong = (
            f"coflow {coflow['id']}: {refused[0]}: {refused[1]}"
            for coflow in coflows
            for host, size in coflow["reducers"]
            if (refused := run.refuses(coflow["at"], size, [host]))
        )
        for message in islice(dict.fromkeys(wrong), _SHOWN):
            trace.problem(message)

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """All coflows."""
        return sum(size for each in work["coflows"] for _, size in each["reducers"])


def _trace(file: str, site: Site) -> FlowFile:
    from incast.kinds.flow_files import FlowFile  # Few scenarios need its libraries.

    return FlowFile(site.folder / file, (*site.loc, "trace"), site.findings)


class _Placed(dict[str, str]):
    """The host that each number of a trace stands for; a name stands for itself."""

    def __init__(self, place: list[str]) -> None:
        super().__init__()
        self._place = place

    def __missing__(self, end: str) -> str:
        place = self._place
        self[end] = host = place[int(end) % len(place)] if end.isdecimal() and place else end
        return host


def _rounded(size: int) -> int:
    """Down to five digits."""
    step = int("1" + "0" * (len(str(size)) - 5))
    return size // step * step


def _scaled(value: int, scale: float, least: int) -> int:
    return value if scale == 1 else max(least, round(value * scale))


def _all_scaled(values: Sequence[int], scale: float, least: int) -> Sequence[int]:
    return values if scale == 1 else [_scaled(value, scale, least) for value in values]
