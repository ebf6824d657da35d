"""How walkers of random walks wait, are generated and travel, and what that costs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from incast.lab.base import Count, Model, Probability
from incast.lab.quantities import PositiveTime, Time
from incast.quantity import parse_time

_Weight = Annotated[float, Field(gt=0, le=1)]
_Length = Annotated[float, Field(ge=0, le=1e9)]
ATTEMPTS_MAX = 65_535
"""Attempts at a walk, at most, that may become overdue."""


class WalkTailDrop(Model):
    """Walkers that find the queue full are dropped."""

    kind: Literal["tail-drop"] = "tail-drop"


class WalkRed(Model):
    """Random early detection on entering (Floyd & Jacobson 1993). Defaults: Takizawa (document 000)."""

    kind: Literal["red"] = "red"
    min: _Length = 5.0
    """Queue length below which no walker is dropped."""
    max: Annotated[float, Field(gt=0, le=1e9)] = 100.0
    """Queue length from which all walkers are dropped; with `gentle`, from twice this."""
    max_p: Probability = 0.1
    """Probability reached at `max`."""
    weight: _Weight = 1.0
    """Weight of a new length in the average; 1 is the current length, 0.002 the RED paper's."""
    count: bool = False
    """Drops are spaced by a count, as in the RED paper."""
    gentle: bool = False
    """The probability rises from `max_p` to 1 between `max` and twice `max`."""

    @field_validator("max")
    @classmethod
    def _above_min(cls, most: float, info: ValidationInfo) -> float:
        if most <= info.data.get("min", 0.0):
            raise ValueError(f"{most} is not above min, which is {info.data['min']}")
        return most


class WalkCodel(Model):
    """Controlled delay on leaving (RFC 8289)."""

    kind: Literal["codel"] = "codel"
    target: PositiveTime = "1ms"
    """Acceptable standing wait."""
    interval: PositiveTime = "20ms"
    """Waits above the target for this long are a standing queue."""

    @field_validator("interval")
    @classmethod
    def _at_least_target(cls, interval: str, info: ValidationInfo) -> str:
        if "target" in info.data and parse_time(interval) < parse_time(info.data["target"]):
            raise ValueError(f"{interval} is shorter than the target, which is {info.data['target']}")
        return interval


class WalkLoss(Model):
    """How a source finds losses: by timeout T = srtt + 4·rttvar of how long walks take, or by being told."""

    initial: PositiveTime = "1s"
    """The timeout before the first walk has been confirmed."""
    floor: PositiveTime = "10ms"
    """Minimum timeout."""
    window: Annotated[list[PositiveTime], Field(min_length=2, max_length=2)] | None = None
    """Instead of T to 2T: a fixed range of ages, like [2ms, 15ms]; `initial` and `floor` say nothing then."""
    repeated: bool = False
    """A walker in the window counts at every check until its end is confirmed, and is given up when the
    window has passed; otherwise it counts once, and is given up when it is found."""
    direct: bool = True
    """The source learns at once of drops on its own server."""
    remote: bool = False
    """Servers report drops to the source's server; not in the paper."""
    attempts: Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)] = 1000
    """A walk is given up after this many attempts timed out, and the job has failed. Attempts known to be
    dropped don't count."""

    @field_validator("window")
    @classmethod
    def _from_less_to_more(cls, window: list[str] | None) -> list[str] | None:
        if window and parse_time(window[0]) >= parse_time(window[1]):
            raise ValueError(f"{window[0]} is not below {window[1]}: the least age stands first")
        return window


class Generation(Model):
    """How a source generates walkers: it sleeps between them unless its last checks saw no loss."""

    sleep: Literal["never", "always", "fixed", "additive", "aimd"] = "fixed"
    """When a source sleeps: never, always, or after a loss, with a fixed length, additive steps, or by
    halving the rate."""
    checks: Count = 3
    """Checks without a loss after which it stops sleeping: the paper's x."""
    time: PositiveTime = "69us"
    """Length of a sleep, or of its step. A sleep of 1 ns is 50 to 70 us on Linux."""
    max: PositiveTime = "10ms"
    """Longest sleep, if it varies."""
    batch: Count = 1
    """Walkers between two checks."""
    under_way: Count | None = None
    """Most walkers of a source in progress: beyond them it stops generating. By default any number."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: a number of walkers under way only where there is one."""
        return {name: value for name, value in super().base_units().items() if value is not None}

    @field_validator("max")
    @classmethod
    def _at_least_a_sleep(cls, longest: str, info: ValidationInfo) -> str:
        if "time" in info.data and parse_time(longest) < parse_time(info.data["time"]):
            raise ValueError(f"{longest} is shorter than a sleep, which is {info.data['time']}")
        return longest


class WalkDatagrams(Model):
    """How walkers share datagrams."""

    walkers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Most walkers in a datagram; no more than fit the hosts' MTU."""
    linger: Time = "0s"
    """How long a walker waits for others while the server is busy."""


class WalkCosts(Model):
    """How long things take on a server."""

    step: Time = "1us"
    """A step."""
    walker: Time = "5us"
    """Receiving a walker and sending it on."""
    generate: PositiveTime = "10us"
    """Generating a walker."""
    drop: Time = "0s"
    """A dropped walker: it was received too, which keeps the server from serving others."""
    datagram: Time = "0s"
    """A datagram that comes or goes, whatever it carries."""

    @field_validator("walker")
    @classmethod
    def _takes_time(cls, walker: str, info: ValidationInfo) -> str:
        if parse_time(walker) + parse_time(info.data.get("step", "1us")) == 0:
            raise ValueError("a step and a walker that take no time: one of them has to take some")
        return walker


class WalkChange(Model):
    """Edges that come and go while walks run."""

    at: Time
    """When, since the job's start."""
    add: list[Annotated[list[float], Field(min_length=2, max_length=3)]] = []
    """Edges added then: [from, to], or [from, to, weight] if edges have weights."""
    remove: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = []
    """Edges removed then: [from, to]."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: numbers of nodes, and a weight that may be missing."""
        there = [[int(edge[0]), int(edge[1]), edge[2] if len(edge) == 3 else None] for edge in self.add]
        return {"at": parse_time(self.at), "set": there, "remove": self.remove}
