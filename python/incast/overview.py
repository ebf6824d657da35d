"""Which figures of several choices are shown next to each other, in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from incast.choose import Ranking
from incast.contrast import means
from incast.kinds import traits
from incast.metric import Metric
from incast.metrics import JOB, PORTS
from incast.samples import Samples, Summarised, Way, samples

Choices: TypeAlias = "Mapping[str, Sequence[Summarised]]"


@dataclass(frozen=True)
class Compared:
    """A figure of all choices."""

    label: str
    metric: Metric
    samples: Mapping[str, Samples]
    """By the choices' names."""

    @cached_property
    def means(self) -> dict[str, float | None]:
        """Of each choice, all of one kind."""
        return means(self.samples)


def compared(choices: Choices, ranking: Ranking, every: bool) -> Iterator[Compared]:
    """The figures besides the one that decides: each job's, then the network's; all, or a few."""
    runs = [run for each in choices.values() for run in each]
    kinds = {job: found["kind"] for run in runs for job, found in run.summary.get("jobs", {}).items()}
    asked = [job for job, kind in kinds.items() if traits(kind).awaited]
    for job in asked:
        # With a single job, what decides is a figure of that job.
        said = {ranking.way, ("jobs", job, ranking.way[-1])} if len(asked) == 1 else {ranking.way}
        done = {("jobs", job, "duration_ps")} if len(asked) == 1 and ranking.way == ("done_ps",) else set()
        prefix = f"{job}: " if len(asked) > 1 else ""
        yield from _shown(choices, [("jobs", job, m.key) for m in JOB], JOB, prefix, every, said | done)
    yield from _shown(choices, [("ports", m.key) for m in PORTS], PORTS, "", every, {ranking.way})


def _shown(
    choices: Choices,
    ways: Sequence[Way],
    metrics: Sequence[Metric],
    prefix: str,
    every: bool,
    said: set[Way],
) -> Iterator[Compared]:
    for way, metric in zip(ways, metrics, strict=True):
        if way in said:
            continue
        found = {name: samples(runs, way) for name, runs in choices.items()}
        nonzero = any(any(each.values()) for each in found.values())
        if any(found.values()) and (every or metric.row == "always" or (metric.row == "any" and nonzero)):
            yield Compared(prefix + metric.label, metric, found)
