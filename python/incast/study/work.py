"""What a cell is run as: a scenario that is simulated, or a broadcast that is planned.

A document with the field `plan` is planned (`incast.broadcast.planned`), any other is a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from incast.broadcast import planned
from incast.document import Node, dump
from incast.incomplete import STUCK, lines
from incast.runs import Watch, run_here
from incast.variants import Variant, make_variants
from incast.written import WrittenScenario


class Work(Protocol):
    """One run."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """All that its results follow from, as plain data."""

    @property
    def brief(self) -> bool:
        """Whether it is over so soon that a process of its own would cost more."""

    def run(self, place: Path, tell: Watch) -> tuple[str, float]:
        """Writes a run folder; returns why it failed (empty when it didn't), and the seconds that it took.

        `tell` is told 0 as its number.
        """


@dataclass(frozen=True)
class Simulation:
    """A scenario. Its text is made when it is run."""

    written: WrittenScenario
    variant: Variant

    brief = False

    @property
    def spec(self) -> Mapping[str, Any]:
        """The scenario in the core's terms."""
        return self.variant.resolved.spec

    def run(self, place: Path, tell: Watch) -> tuple[str, float]:
        """Simulates it."""
        written = replace(self.written, text=dump(self.written.document.plain()))
        done = run_here(written, self.variant, place, force=True, watch=tell)
        stuck = "; ".join(lines(done.summary)) if done.summary.get("end") == STUCK else ""
        return done.error or stuck, done.summary["wall_s"]


@dataclass(frozen=True)
class Planning:
    """A broadcast."""

    request: planned.PlannedFile
    seed: int
    text: str

    brief = True

    @property
    def spec(self) -> Mapping[str, Any]:
        """What is asked, and the seed."""
        return {
            "plan": self.request.model_dump(exclude_none=True),
            "seed": self.seed,
            "format": planned.FORMAT,
        }

    def run(self, place: Path, tell: Watch) -> tuple[str, float]:  # noqa: ARG002 - there is nothing to tell
        """Plans it."""
        return "", planned.write(self.request, self.seed, place, self.text)


def work(document: Node, folder: Path, seeds: Sequence[int]) -> Sequence[Work]:
    """What the document means, for each seed; `folder` is where its files are."""
    if is_planned(document):
        request, text = planned.validate(document), dump(document.plain())
        return [Planning(request, seed, text) for seed in seeds]
    written = WrittenScenario(document, folder, text="")
    return [Simulation(written, variant) for variant in make_variants(written, seeds=seeds)]


def is_planned(document: Node) -> bool:
    """Whether it is a broadcast to be planned."""
    return document.child("plan") is not None
