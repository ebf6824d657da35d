"""How servers of walks behave: fields that a scenario's job `walk` has too, meant and checked alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from incast.document import Node
from incast.errors import Problem, ScenarioError
from incast.kinds.walk.settings import (
    ATTEMPTS_MAX,
    Generation,
    WalkCodel,
    WalkDatagrams,
    WalkLoss,
    WalkRed,
    WalkTailDrop,
)
from incast.lab.base import Count, Model
from incast.lab.validate import problems
from incast.quantity import PositiveTime, parse_time

_SAMPLE_LEAST_PS = 10**9


class SocketRed(WalkRed):
    """Random early detection: `max` stands for some 5 ms of waiting, as the document's does.

    `min` lies above what one look at the sockets brings: a burst alone drops nobody.
    """

    min: Annotated[float, Field(ge=0, le=1e9)] = 4_000.0
    """Walkers below which none is dropped."""
    max: Annotated[float, Field(gt=0, le=1e9)] = 20_000.0
    """Walkers from which all are dropped; with `gentle`, from twice as many."""


class SocketLoss(WalkLoss):
    """How a source finds losses."""

    floor: PositiveTime = "200ms"
    """Least T: more than a scheduler leaves a process out."""
    attempts: Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)] = 100
    """A walk of which so many attempts timed out is given up. Those that are known to be dropped
    don't count."""


class SocketGeneration(Generation):
    """How a source generates walkers."""

    under_way: Count | None = 4096
    """Most walkers of a source that are under way: what sockets and queues hold, so that few are lost."""


class ServerSettings(Model):
    """Settings of servers; the defaults are those of document 000, but for what stands for time.

    On sockets a walker takes some hundred nanoseconds, where the document's took some ten thousand.
    """

    queue: Annotated[WalkTailDrop | SocketRed | WalkCodel, Field(discriminator="kind")] = SocketRed()
    """Which walkers a server drops (RQ)."""
    limit: Count = 20_000
    """Most walkers that wait at a server."""
    loss: SocketLoss = SocketLoss()
    """How a source finds losses (RG)."""
    generation: SocketGeneration = SocketGeneration()
    """How a source generates walkers (RG)."""
    datagrams: WalkDatagrams = WalkDatagrams()
    """One walker a datagram, or several."""
    sample: PositiveTime = "50ms"
    """Time between two looks at a server's queue and counters, for the table `walks_series`."""

    @field_validator("sample")
    @classmethod
    def _no_flood(cls, sample: str) -> str:
        if parse_time(sample) < _SAMPLE_LEAST_PS:
            raise ValueError(f"{sample} is not allowed: it must be at least 1ms")
        return sample


def make(said: ServerSettings | Mapping[str, Any] | None) -> ServerSettings:
    """The settings that are said; raises `ScenarioError` with all that can't be, below `settings`."""
    if isinstance(said, ServerSettings):
        return said
    given = dict(said or {})
    try:
        return ServerSettings.model_validate(given)
    except ValidationError as error:
        found = problems(error, Node.of(given), of=ServerSettings)
        raise ScenarioError([Problem(each.message, f"settings.{each.path}") for each in found]) from None
