"""How servers of walks behave: fields that a scenario's job `walk` has too, meant and checked alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from incast.document import Mark, Node, assign, change
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
from incast.lab.quantities import PositiveTime
from incast.lab.validate import problems, validate
from incast.quantity import parse_time

_SAMPLE_LEAST_PS = 10**9


class SocketRed(WalkRed):
    """Random early detection. `max` is about 5 ms of waiting, as in document 000.

    `min` lies above what one look at the sockets brings, so that a burst alone causes no drops.
    """

    min: Annotated[float, Field(ge=0, le=1e9)] = 4_000.0
    """Queue length below which no walker is dropped."""
    max: Annotated[float, Field(gt=0, le=1e9)] = 20_000.0
    """Queue length from which all walkers are dropped; with `gentle`, from twice this."""


class SocketLoss(WalkLoss):
    """How a source finds losses."""

    floor: PositiveTime = "200ms"
    """Minimum timeout T: longer than a scheduler lets a process wait."""
    attempts: Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)] = 100
    """A walk is given up after this many attempts timed out. Attempts known to be dropped don't count."""


class SocketGeneration(Generation):
    """How a source generates walkers."""

    under_way: Count | None = 4096
    """Most walkers of a source in progress: as many as sockets and queues hold, so that few are lost."""


class ServerSettings(Model):
    """Settings of servers. The defaults are those of document 000, apart from what stands for time.

    On sockets a walker takes about a hundred nanoseconds; in document 000 it took about ten thousand.
    """

    queue: Annotated[WalkTailDrop | SocketRed | WalkCodel, Field(discriminator="kind")] = SocketRed()
    """Which walkers a server drops (RQ)."""
    limit: Count = 20_000
    """Most walkers waiting at a server."""
    loss: SocketLoss = SocketLoss()
    """How a source finds losses (RG)."""
    generation: SocketGeneration = SocketGeneration()
    """How a source generates walkers (RG)."""
    datagrams: WalkDatagrams = WalkDatagrams()
    """Walkers per datagram."""
    sample: PositiveTime = "50ms"
    """Time between two samples of a server's queue and counters, in the table `walks_series`."""

    @field_validator("sample")
    @classmethod
    def _no_flood(cls, sample: str) -> str:
        if parse_time(sample) < _SAMPLE_LEAST_PS:
            raise ValueError(f"{sample} is not allowed: it must be at least 1ms")
        return sample


def changed(changes: Sequence[str], sample: str | None) -> ServerSettings | None:
    """The defaults with what `--set` and `--sample` change; nothing where they change nothing."""
    if not changes and sample is None:
        return None
    document = change(Node.of(ServerSettings().model_dump()), changes)
    if sample is not None:
        document = assign(document, "sample", Node.of(sample, Mark("--sample")))
    return validate(document, ServerSettings)


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
