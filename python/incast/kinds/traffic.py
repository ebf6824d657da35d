"""Generic traffic: flows between hosts, all at once, in rounds, by chance or at a constant rate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, ValidationInfo, WithJsonSchema, field_validator

from incast import _core
from incast.hints import unknown
from incast.kinds.job import Job, Site, Traits
from incast.lab.base import Count, InCore, Pairs, Selector
from incast.lab.quantities import PositiveSize, PositiveTime, Rate, Time
from incast.quantity import parse_bytes

SIZE_DISTRIBUTIONS = ("web-search", "data-mining")

Bytes = Annotated[PositiveSize, InCore("bytes")]
"""What the core calls bytes, and people a size."""


class Bulk(Job):
    """One flow per pair, all at once."""

    traits = Traits(judged="duration")

    kind: Literal["bulk"] = "bulk"
    pairs: Pairs
    """Pairs of sender and receiver."""
    among: Selector = "*"
    """The hosts of random pairs."""
    size: Bytes
    """Size of each flow."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {**self.settings("among"), "pairs": _pairs(self, site)}

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """The flows of all pairs."""
        return len(work["pairs"]) * int(work["bytes"])


class Incast(Job):
    """All senders answer one receiver at the same time; the next round begins after the last byte."""

    traits = Traits(judged="duration", group="round")

    kind: Literal["incast"] = "incast"
    receiver: str
    """The receiver."""
    senders: Selector = "*"
    """The senders; the receiver is left out of a pattern."""
    size: Bytes
    """Size of each answer."""
    rounds: Count = 1
    """Number of repetitions."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        site.check_host(self.receiver, "receiver")
        senders = site.hosts(self.senders, "senders")
        if isinstance(self.senders, list) and self.receiver in self.senders:
            site.refuse("senders", f"{self.receiver} is the receiver and can't be a sender")
        return {**self.settings(), "senders": [host for host in senders if host != self.receiver]}

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """The answers of all rounds."""
        return len(work["senders"]) * int(work["rounds"]) * int(work["bytes"])


class Permutation(Job):
    """Every host sends to one other and receives from one other, drawn from the seed."""

    traits = Traits(judged="duration")

    kind: Literal["permutation"] = "permutation"
    hosts: Selector = "*"
    """The participating hosts."""
    size: Bytes
    """Size of each flow."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {**self.settings(), "hosts": site.group(self.hosts, "hosts")}

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """A flow per host."""
        return len(work["hosts"]) * int(work["bytes"])


class AllToAll(Job):
    """Every host sends to every other."""

    traits = Traits(judged="duration")

    kind: Literal["all-to-all"] = "all-to-all"
    hosts: Selector = "*"
    """The participating hosts."""
    size: Bytes
    """Size of each flow."""
    parallel: Count | None = None
    """Flows that a host has open at a time; without a value, all."""
    order: Literal["rotated", "same"] = "rotated"
    """Order of destinations: rotated, each host starts with the next host; same, all start with the first
    host."""
    skew: Time = "0s"
    """Each host begins at a random time between `start` and this long after it."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        hosts = site.group(self.hosts, "hosts")
        return {**self.settings(), "hosts": hosts, "parallel": self.parallel or max(1, len(hosts) - 1)}

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """A flow per ordered pair of hosts."""
        return len(work["hosts"]) * (len(work["hosts"]) - 1) * int(work["bytes"])


def check_sizes(value: object) -> str | list[list[str | float]]:
    """What people write of sizes, where it can be one."""
    if isinstance(value, str):
        if value in SIZE_DISTRIBUTIONS or value.endswith(".txt"):
            return value
        raise ValueError(
            unknown("a size distribution", value, SIZE_DISTRIBUTIONS)
            + ", a file *.txt with 'bytes probability' lines, or a list of [size, probability up to it]"
        )
    if not isinstance(value, list) or not value:
        raise ValueError("expected a name or a list of [size, probability up to it]")
    for point in value:
        if not (isinstance(point, list) and len(point) == 2 and isinstance(point[1], int | float)):
            raise ValueError(f"{point!r} is not a point: expected [size, probability up to it]")
        parse_bytes(str(point[0]))
    return value


DISTRIBUTIONS: list[dict[str, Any]] = [
    {"enum": list(SIZE_DISTRIBUTIONS)},
    {"type": "string", "pattern": r"\.txt$"},
    {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}},
]
"""What editors are told of a distribution of sizes: its name, a file, or [size, probability up to it]."""

Sizes = Annotated[
    str | list[list[str | float]],
    PlainValidator(check_sizes),
    WithJsonSchema({"anyOf": DISTRIBUTIONS}),
]


def size_points(sizes: str | list[list[str | float]], site: Site, field: str) -> list[tuple[int, float]]:
    """The points of a distribution: (bytes, probability of at most so many)."""
    if isinstance(sizes, str) and sizes.endswith(".txt"):
        from incast.kinds.flow_files import FlowFile  # Few scenarios need its libraries.

        return FlowFile(site.folder / sizes, (*site.loc, field), site.findings).sizes()
    if isinstance(sizes, str):
        return _core.published_sizes(sizes) if sizes in SIZE_DISTRIBUTIONS else [(parse_bytes(sizes), 1.0)]
    points = [(parse_bytes(str(size)), float(part)) for size, part in sizes]
    try:
        _core.check_sizes(points)
    except ValueError as error:
        site.refuse(field, str(error))
    return points


class Load(Job):
    """Flows between random pairs, Poisson arrivals, sizes from a distribution."""

    traits = Traits(judged="flows", cut=True)

    kind: Literal["load"] = "load"
    hosts: Selector = "*"
    """The participating hosts."""
    sizes: Sizes = "web-search"
    """Flow sizes as a cumulative distribution: sizes, each with the part of flows that are at most this
    large, ascending up to 1. Sizes in between are interpolated."""
    load: Annotated[float, Field(gt=0, le=10)] = 0.5
    """Part of the hosts' link rate that is offered."""
    duration: PositiveTime
    """Arrivals end after it."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {
            **self.settings(),
            "hosts": site.group(self.hosts, "hosts"),
            "sizes": size_points(self.sizes, site, "sizes"),
        }

    @classmethod
    def arrives(cls, work: Mapping[str, Any]) -> int:
        """Until arrivals end."""
        return int(work["duration"])


class Background(Job):
    """Datagrams or streams at a constant rate between pairs, until the run ends."""

    traits = Traits(judged="flows", awaited=False)

    kind: Literal["background"] = "background"
    pairs: Pairs = "random"
    """Pairs of sender and receiver."""
    among: Selector = "*"
    """The hosts of random pairs."""
    rate: Rate
    """Rate per pair, in IP bytes."""
    over: Literal["udp", "tcp"] = "udp"
    """Transport: datagrams without congestion control, or a stream written to at the rate."""
    model: Literal["packets", "fluid"] = "packets"
    """Packet by packet, or (datagrams only) a rate at each port on its path: cheaper, nearly exact."""
    duration: PositiveTime | None = None
    """Ends this long after `start`; without a value, with the run."""

    @field_validator("model")
    @classmethod
    def _nothing_slows_it_down(cls, model: str, info: ValidationInfo) -> str:
        if model == "fluid" and info.data.get("over") == "tcp":
            raise ValueError("a fluid is what nothing slows down: over udp, or model packets")
        return model

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {**self.settings("among"), "pairs": _pairs(self, site)}


def _pairs(job: Bulk | Background, site: Site) -> list[list[str]]:
    """Pairs of sender and receiver."""
    if isinstance(job.pairs, str):
        return _random_pairs(site.group(job.among, "among"), site.seed, job.name)
    found = []
    for index, ends in enumerate(job.pairs):
        senders, receivers = (site.hosts(end, "pairs", index) for end in ends)
        each = [[a, b] for a in senders for b in receivers if a != b]
        if senders and receivers and not each:
            site.refuse(("pairs", index), f"{senders[0]} sends to itself: two hosts are needed")
        found += each
    return found


def _random_pairs(hosts: list[str], seed: int, name: str) -> list[list[str]]:
    """Every host sends to one other: neighbours in an order drawn from the seed and the job's name."""

    def draw(host: str) -> bytes:
        return hashlib.sha256(f"{seed}/{name}/{host}".encode()).digest()

    order = sorted(hosts, key=draw)
    to = dict(zip(order, order[1:] + order[:1], strict=True))
    return [[host, to[host]] for host in hosts]
