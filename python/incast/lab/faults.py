"""What goes wrong, and comes right again; for the core, `for` and `flap` become changes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from incast.document import Loc
from incast.hints import unknown
from incast.lab.base import Count, Ends, Model, Probability, TrafficClass
from incast.lab.findings import Findings
from incast.lab.quantities import PositiveTime, Rate, Time
from incast.quantity import TIME_MAX, format_time, parse_rate, parse_time

if TYPE_CHECKING:
    from incast.lab.cluster import Cluster


class Slow(Model):
    """A host that is slower than it was."""

    host: str
    """The host."""
    speed: Annotated[float, Field(gt=0, le=1000)]
    """Factor on the rate of cores and disk."""


class LinkProbability(Model):
    """Packets that don't get over a link."""

    link: Ends
    """The link."""
    probability: Probability
    """Probability per packet."""


class LinkRate(Model):
    """A link whose rate changes."""

    link: Ends
    """The link."""
    rate: Rate
    """The new rate."""


class Flap(Model):
    """A link that goes down and up again and again."""

    link: Ends
    """The link."""
    down: PositiveTime
    """Duration of each outage."""
    up: PositiveTime
    """Time between outages."""
    times: Count = 1
    """Number of outages."""


class PauseStorm(Model):
    """A broken host that asks its switch to pause a class, again and again."""

    host: str
    """The host."""
    class_: TrafficClass = Field(3, alias="class")
    """The class."""


CHANGES = (
    "crash",
    "restart",
    "slow",
    "link_down",
    "link_up",
    "loss",
    "corrupt",
    "rate",
    "flap",
    "pause_storm",
)


class Fault(Model):
    """Something that goes wrong at a time: exactly one of the fields other than `at` and `for`."""

    at: Time
    """When."""
    for_: PositiveTime | None = Field(None, alias="for")
    """The fault is undone after this time."""
    crash: str | None = None
    """The host loses its processes and connections, silently."""
    restart: str | None = None
    """A crashed host comes back; its processes restart."""
    slow: Slow | None = None
    """Cores and disk of a host run slower."""
    link_down: Ends | None = None
    """The link carries nothing; routes avoid it."""
    link_up: Ends | None = None
    """The link is back."""
    loss: LinkProbability | None = None
    """Packets vanish on the link."""
    corrupt: LinkProbability | None = None
    """Packets arrive with a bad checksum and are discarded."""
    rate: LinkRate | None = None
    """The link's rate changes."""
    flap: Flap | None = None
    """The link goes down and up."""
    pause_storm: PauseStorm | None = None
    """A host sends PAUSE frames without end; its switch obeys them if it has PFC."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Fault:
        said = [change for change in CHANGES if getattr(self, change) is not None]
        if len(said) != 1:
            found = f"found {' and '.join(said)}" if said else "found none"
            raise ValueError(f"exactly one change is expected, {found}. Allowed: {', '.join(CHANGES)}")
        if self.for_ and said[0] in ("restart", "link_up", "flap"):
            raise ValueError(f"`for` has no meaning with {said[0]}")
        return self

    @property
    def change(self) -> str:
        """The name of what goes wrong."""
        return next(change for change in CHANGES if getattr(self, change) is not None)


def fault_specs(fault: Fault, loc: Loc, cluster: Cluster, findings: Findings) -> list[dict[str, Any]]:
    """The changes that a fault consists of, by time."""
    before = len(findings.problems)
    _check(fault, loc, cluster, findings)
    if len(findings.problems) > before:
        return []
    changes = _changes(fault, loc, cluster, findings)
    if changes and changes[-1]["at"] > TIME_MAX:
        findings.add(
            (*loc, fault.change if fault.flap else "for"),
            f"ends after {format_time(TIME_MAX)}, the longest time",
        )
        return []
    return changes


def _changes(fault: Fault, loc: Loc, cluster: Cluster, findings: Findings) -> list[dict[str, Any]]:
    at = parse_time(fault.at)
    if fault.flap:
        link = _ends(fault.flap.link)
        down, up = parse_time(fault.flap.down), parse_time(fault.flap.up)
        starts = [at + number * (down + up) for number in range(fault.flap.times)]
        return [
            {"at": time, "change": {"kind": kind, **link}}
            for start in starts
            for time, kind in ((start, "link-down"), (start + down, "link-up"))
        ]
    there, back = _change(fault, loc, cluster, findings)
    changes = [{"at": at, "change": there}]
    if fault.for_ and back:
        changes.append({"at": at + parse_time(fault.for_), "change": back})
    return changes


def _change(
    fault: Fault, loc: Loc, cluster: Cluster, findings: Findings
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The change, and the one that undoes it."""
    if fault.crash:
        return {"kind": "crash", "host": fault.crash}, {"kind": "restart", "host": fault.crash}
    if fault.restart:
        return {"kind": "restart", "host": fault.restart}, None
    if fault.slow:
        slow = {"kind": "slow", "host": fault.slow.host}
        return {**slow, "speed": float(fault.slow.speed)}, {**slow, "speed": 1.0}
    if fault.link_down:
        link = _ends(fault.link_down)
        return {"kind": "link-down", **link}, {"kind": "link-up", **link}
    if fault.pause_storm:
        storm = {"host": fault.pause_storm.host, "class": fault.pause_storm.class_}
        return {"kind": "pause-storm", **storm}, {"kind": "pause-storm-end", **storm}
    if fault.link_up:
        return {"kind": "link-up", **_ends(fault.link_up)}, None
    if chance := fault.loss or fault.corrupt:
        link = {"kind": "loss" if fault.loss else "corrupt", **_ends(chance.link)}
        return {**link, "probability": float(chance.probability)}, {**link, "probability": 0.0}
    assert fault.rate
    link = {"kind": "rate", **_ends(fault.rate.link)}
    rates = {
        way["rate"] for each in cluster.pairs[frozenset(fault.rate.link)] for way in (each["ab"], each["ba"])
    }
    if fault.for_ and len(rates) > 1:
        findings.add(
            (*loc, "for"), "the link's rates differ by direction: give the rate back by a fault of its own"
        )
    return {**link, "rate": parse_rate(fault.rate.rate)}, {**link, "rate": min(rates)}


def _check(fault: Fault, loc: Loc, cluster: Cluster, findings: Findings) -> None:
    part = fault.slow or fault.pause_storm
    host = fault.crash or fault.restart or (part and part.host)
    if host and host not in cluster.hosts:
        place = (fault.change, "host") if part else (fault.change,)
        findings.add((*loc, *place), unknown("a host", host, cluster.hosts))
    direct = fault.link_down or fault.link_up
    inner = fault.loss or fault.corrupt or fault.rate or fault.flap
    ends = direct or (inner and inner.link)
    if not ends:
        return
    place = (fault.change,) if direct else (fault.change, "link")
    a, b = ends
    for end in ends:
        if end not in cluster.nodes:
            findings.add((*loc, *place), unknown("a node", end, cluster.nodes))
            return
    if frozenset(ends) not in cluster.pairs:
        peers = [other for pair in cluster.pairs if a in pair for other in pair if other != a]
        findings.add(
            (*loc, *place),
            f"there is no link between {a} and {b}. {unknown(f'a neighbour of {a}', b, peers)}",
        )


def _ends(link: list[str]) -> dict[str, str]:
    a, b = link
    return {"a": a, "b": b}
