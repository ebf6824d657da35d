"""What the page calls what it draws: ports with queues, servers with walkers, hosts with copies of a file.

A subject is what has a colour: a port, a node, a connection. Of each kind of subjects the samples have a
level (its colour), a flow (its width), drops and pauses; a measure that is missing here is not shown.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """What is measured of a subject."""

    name: str
    unit: str
    """A key of `units` in words.js."""
    key: str = ""
    """What the legend says of it; of a level, what it says of none."""
    most: float | None = None
    """The level of the darkest colour; without it, the highest that was seen."""
    times: int = 1
    """What is counted, times this, is a flow a second in `unit`: 8 for bytes and bits."""


@dataclass(frozen=True)
class Subject:
    """What is measured of subjects of a kind."""

    name: str
    flow: Measure
    level: Measure | None = None
    drops: Measure | None = None
    paused: Measure | None = None


@dataclass(frozen=True)
class Words:
    """What a run calls its own."""

    kinds: dict[str, str]
    """What can be followed, by its kind in addresses."""
    following: str
    """The heading of the form."""
    of: dict[str, Subject]
    """The kinds of subjects."""
    listed: str
    """The kind of subjects in the table."""
    heading: str
    """Of the table."""
    picture: str
    """What a picture says of its step of time."""
    totals: str
    """What it says without samples."""
    unsampled: str
    """What is said where there are no samples."""
    rising: bool = False
    """The table begins with the lowest level."""
    ramp: str = "u"
    """The colours of levels in view.css: `u` for queues, `p` for progress."""

    def json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)
