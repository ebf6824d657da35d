"""Priority-based flow control (802.1Qbb) of a switch."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from incast.lab.base import Model, TrafficClass, default_kind
from incast.lab.quantities import PositiveSize, PositiveTime, Size
from incast.quantity import parse_bytes, parse_time


class StaticXoff(Model):
    """XOFF at a number of bytes."""

    kind: Literal["static"] = "static"
    limit: Size
    """The threshold of an ingress port and class."""


class DynamicXoff(Model):
    """XOFF at a factor times the shared memory that is free."""

    kind: Literal["dynamic"] = "dynamic"
    alpha: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """Threshold factor."""


Xoff = Annotated[StaticXoff | DynamicXoff, Field(discriminator="kind"), default_kind("dynamic")]


class Watchdog(Model):
    """Finds storms of PAUSE frames and acts; the times mean what SONiC's do."""

    poll: PositiveTime = "100ms"
    """Time between checks of the queues."""
    detection: PositiveTime = "200ms"
    """A queue that is paused and sends nothing for this long is in a storm; at least a poll and a pause."""
    restoration: PositiveTime = "200ms"
    """The storm is over when no PAUSE has come for this long; at least a poll."""
    action: Literal["drop", "forward"] = "drop"
    """`drop` discards the queue's packets meanwhile, `forward` sends them although it is paused."""

    @field_validator("detection", "restoration")
    @classmethod
    def _a_poll(cls, text: str, info: ValidationInfo) -> str:
        poll = info.data.get("poll")
        if poll and parse_time(text) < parse_time(poll):
            raise ValueError(f"{text} is shorter than the poll interval: at least {poll}")
        return text


class Pfc(Model):
    """Which classes are lossless, and how: a switch asks its peers to pause before its memory is full."""

    classes: Annotated[list[TrafficClass], Field(min_length=1)] = [3, 4]
    """Lossless classes (0–7)."""
    xoff: Xoff = DynamicXoff()
    """Threshold at which an ingress port and class asks its peer to pause."""
    xon: Size = "4608B"
    """The peer may resume when no more than this is held, and no headroom is in use."""
    headroom: Size = "160000B"
    """Memory of each ingress port and class for packets after XOFF, set aside from the buffer; above 0."""
    headroom_pool: PositiveSize | None = None
    """Headroom that all ports and classes share; without it, each has its own."""
    quanta: Annotated[int, Field(ge=1, le=65_535)] = 65_535
    """Length of a pause, in quanta of 512 bit times of the link; renewed while it is needed."""
    watchdog: Watchdog | None = None
    """Finds storms of PAUSE frames and acts."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: classes in order."""
        return {**super().base_units(), "classes": sorted(self.classes)}

    @field_validator("classes")
    @classmethod
    def _once(cls, classes: list[int]) -> list[int]:
        for c in classes:
            if classes.count(c) > 1:
                raise ValueError(f"class {c} is there twice")
        return classes

    @field_validator("xon")
    @classmethod
    def _below_xoff(cls, text: str, info: ValidationInfo) -> str:
        xoff = info.data.get("xoff")
        if isinstance(xoff, StaticXoff) and parse_bytes(text) > parse_bytes(xoff.limit):
            raise ValueError(f"XON at {text} is above XOFF: at most {xoff.limit}")
        return text

    @field_validator("headroom_pool")
    @classmethod
    def _one_group(cls, text: str | None, info: ValidationInfo) -> str | None:
        headroom = info.data.get("headroom")
        if text and headroom and parse_bytes(text) < parse_bytes(headroom):
            raise ValueError(f"{text} is less than the headroom of one ingress port and class, {headroom}")
        return text
