"""Which choice is best, by what, and how sure that is.

Programs on remote memory are judged by how much slower they are than with all memory local, whatever else
runs next to them. Jobs whose work is all there at the start are judged by their end; coflows that arrive over
time by how long one takes on average, and broadcasts by how long a receiver takes; other flows by the 99th
percentile of their completion times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incast.contrast import Contrast, contrast, means
from incast.kinds import KINDS, judged, traits
from incast.metric import Metric
from incast.metrics import DONE, FLOWS
from incast.samples import Summarised, Way, samples

_UNFINISHED: Way = ("flows", "unfinished")


@dataclass(frozen=True)
class Ranking:
    """The choices by the figure that decides."""

    way: Way
    metric: Metric
    figures: Mapping[str, float]
    """The mean of each choice that competes, the best first."""
    contrasts: Mapping[str, Contrast]
    """How each of the others differs from the best."""
    out: tuple[str, ...]
    """Choices that don't compete: they lack the figure, or did not do their work."""
    lacking: tuple[str, ...]
    """Those of them whose jobs are others than the one whose figure decides."""
    seeds: int
    """The most seeds that a choice has."""

    @property
    def best(self) -> str | None:
        """The choice with the best mean."""
        return next(iter(self.figures), None)

    @property
    def first(self) -> tuple[str, ...]:
        """The best, and who is surely alike."""
        alike = (name for name, each in self.contrasts.items() if each.verdict == "alike")
        return (*([] if self.best is None else [self.best]), *alike)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Choices that these seeds don't tell from the best."""
        return tuple(name for name, each in self.contrasts.items() if each.verdict == "open")

    @property
    def behind(self) -> tuple[str, ...]:
        """Choices that are surely not as good."""
        return tuple(name for name, each in self.contrasts.items() if each.verdict in ("more", "less"))


def deciding(choices: Mapping[str, Sequence[Summarised]]) -> tuple[Way, Metric]:
    """The figure that decides between the choices."""
    jobs = {
        name: job["kind"]
        for runs in choices.values()
        for run in runs
        for name, job in run.summary.get("jobs", {}).items()
    }
    kinds = set(jobs.values())
    own = [(name, KINDS[kind].metrics[0]) for name, kind in jobs.items() if traits(kind).judged == "own"]
    flows = {metric.key: metric for metric in FLOWS}
    wanted: list[tuple[Way, Metric]] = [
        *((("jobs", name, metric.key), metric) for name, metric in own),
        *([((DONE.key,), DONE)] if judged("duration", kinds) else []),
        *([(("flows", "group_mean_ps"), flows["group_mean_ps"])] if judged("groups", kinds) else []),
        (("flows", "fct_p99_ps"), flows["fct_p99_ps"]),
    ]
    for way, metric in wanted:
        if any(samples(runs, way) for runs in choices.values()):
            return way, metric
    return (DONE.key,), DONE


def rank(choices: Mapping[str, Sequence[Summarised]]) -> Ranking:
    """The choices by what decides.

    A choice that lacks it in any run is out, and so is one with an incomplete run.
    If some choices finished all their flows, only those compete: giving up early is not fast.
    """
    way, metric = deciding(choices)
    whole = {
        name: found
        for name, runs in choices.items()
        if len(found := samples(runs, way)) == len(runs)
        and not any(run.summary.get("incomplete") for run in runs)
    }
    done = [name for name in whole if not any(samples(choices[name], _UNFINISHED).values())]
    compete = means({name: whole[name] for name in done or whole})
    known = {name: mean for name, mean in compete.items() if mean is not None}
    order = sorted(known, key=known.__getitem__, reverse=metric.better > 0)
    against = {name: contrast(whole[order[0]], whole[name]) for name in order[1:]}
    return Ranking(
        way,
        metric,
        {name: known[name] for name in order},
        {name: each for name, each in against.items() if each},
        tuple(name for name in choices if name not in known),
        tuple(name for name in choices if name not in known and not _has(choices[name], way)),
        max((len(runs) for runs in choices.values()), default=0),
    )


def _has(runs: Sequence[Summarised], way: Way) -> bool:
    """Whether the runs have what the figure is of, as a job of that name."""
    return way[0] != "jobs" or any(way[1] in run.summary.get("jobs", {}) for run in runs)


def best(choices: Mapping[str, Sequence[Summarised]]) -> str | None:
    """The choice with the best mean of what decides."""
    return rank(choices).best
