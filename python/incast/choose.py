"""Which choice is best, and by what.

Programs on remote memory are judged by how much slower they are than with all memory local, whatever else
runs next to them. Jobs whose work is all there at the start are judged by their end; coflows that arrive over
time by how long one takes on average, and broadcasts by how long a receiver takes; other flows by the 99th
percentile of their completion times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incast.comparison import Way, mean, samples
from incast.kinds import KINDS, judged, traits
from incast.metric import Metric
from incast.metrics import DONE, FLOWS
from incast.result import Result

_UNFINISHED: Way = ("flows", "unfinished")


def deciding(choices: Mapping[str, Sequence[Result]]) -> tuple[Way, Metric]:
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
        (("flows", "p99_ps"), flows["p99_ps"]),
    ]
    for way, metric in wanted:
        if any(samples(runs, way) for runs in choices.values()):
            return way, metric
    return (DONE.key,), DONE


def best(choices: Mapping[str, Sequence[Result]]) -> str | None:
    """The choice with the least of what decides.

    A choice that lacks it in any run is out, and so is one with an incomplete run.
    If some choices finished all their flows, only those compete: giving up early is not fast.
    """
    way, _ = deciding(choices)
    figures = {
        name: mean(samples(runs, way))
        for name, runs in choices.items()
        if len(samples(runs, way)) == len(runs) and not any(run.summary.get("incomplete") for run in runs)
    }
    known = {name: figure for name, figure in figures.items() if figure is not None}
    whole = [name for name in known if not any(samples(choices[name], _UNFINISHED).values())]
    return min(whole or known, key=known.__getitem__) if known else None
