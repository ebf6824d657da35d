"""What goes wrong, and comes right again."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from incast.lab.base import Count, Ends, Model, Probability, TrafficClass
from incast.quantity import PositiveTime, Rate, Time


class Slow(Model):
    """A host that is slower than it was."""

    host: str
    """The host."""
    speed: Annotated[float, Field(gt=0, le=1000)]
    """Cores and disk run at so many times their rate."""


class LinkProbability(Model):
    """Packets that don't get over a link."""

    link: Ends
    """The link."""
    probability: Probability
    """How likely it happens to a packet."""


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
    """So long down each time."""
    up: PositiveTime
    """So long up in between."""
    times: Count = 1
    """How often it goes down."""


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
    """Something that goes wrong at a time: exactly one of the fields beside `at` and `for`."""

    at: Time
    """When."""
    for_: PositiveTime | None = Field(None, alias="for")
    """It is undone after so long."""
    crash: str | None = None
    """The host loses its processes and connections, silently."""
    restart: str | None = None
    """A crashed host comes back; its processes start anew."""
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
    """A host sends PAUSE frames without end; its switch heeds them where it has PFC."""

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
