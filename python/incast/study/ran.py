"""What was found of a run: read from its folder, or kept with the study (`incast.study.kept`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from incast.errors import ResultError
from incast.folder import SUMMARY
from incast.hints import allowed
from incast.result import Result
from incast.study.axes import Cell
from incast.study.noted import Cost
from incast.study.run import Done
from incast.study.study import Study

FINISHED = "finished"
INCOMPLETE = "incomplete"
"""All jobs ended, but one gave up a part of its work."""


@dataclass(frozen=True)
class Ran:
    """One seed of one cell, and what came out."""

    cell: Cell
    seed: int
    end: str
    """Why it ended: `finished`, `incomplete`, or what the summary says."""
    figures: Mapping[str, float | None]
    """Each figure of the study by name, in base units; nothing where it was not measured."""
    packet_hops: int
    cost: Cost


def measure(study: Study, done: Done) -> Ran:
    """Reads the run's folder."""
    summary = Result.open(done.folder).summary
    if missing := [name for name in ("end", "packet_hops") if name not in summary]:
        raise ResultError(f"{done.folder / SUMMARY}: of a run that did not end: no {allowed(missing)}")
    return Ran(
        cell=done.run.cell,
        seed=done.run.seed,
        end=INCOMPLETE if summary["end"] == FINISHED and summary.get("incomplete") else summary["end"],
        figures={name: figure.of(done.folder) for name, figure in study.figures.items()},
        packet_hops=summary["packet_hops"],
        cost=done.cost,
    )
