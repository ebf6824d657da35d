"""Whether the kept runs are what this version finds: a few of them are run again.

A kept run counts while its scenario is unchanged. Its figures are of the version that ran them, and a later
one may find others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incast.scratch import Scratch
from incast.study.cells import cell_runs
from incast.study.outcome import Outcome
from incast.study.processes import Processes
from incast.study.ran import Ran, measure
from incast.study.run import Watcher, run_missing
from incast.study.study import Study

_MOST = 8
_TOGETHER_S = 30.0
"""Processor time that these runs took when they were kept, at most."""


@dataclass(frozen=True)
class Again:
    """Kept runs that were run again."""

    runs: int
    other: Sequence[Ran]
    """Those of which this version finds other figures, as they were kept."""


def run_again(outcome: Outcome, jobs: int, watcher: Watcher | None = None) -> Again:
    """Runs some kept runs again: short ones that differ in as many values of the axes as possible."""
    study = outcome.study
    chosen = _chosen(outcome)
    runs = [each for kept in chosen for each in cell_runs(study, [kept.cell], [kept.seed])]
    with Scratch() as scratch, Processes(jobs) as processes:
        done = run_missing(runs, scratch.path, processes.run, total=len(runs), watcher=watcher)
        found = {(each.run.cell, each.run.seed): measure(study, each) for each in done}
    return Again(
        len(chosen), [kept for kept in chosen if not _same(study, kept, found[kept.cell, kept.seed])]
    )


def _chosen(outcome: Outcome) -> list[Ran]:
    """Kept runs of different cells: each has the most values of axes that those before it have not."""
    here = {(each.run.cell, each.run.seed) for each in outcome.done}
    kept = [each for each in outcome.ran if (each.cell, each.seed) not in here]
    chosen: list[Ran] = []
    seen: set[tuple[int, str]] = set()
    left_s = _TOGETHER_S
    while len(chosen) < _MOST:
        cells = {each.cell for each in chosen}
        short = [each for each in kept if each.cell not in cells and each.cost.cpu_s <= left_s]
        if not short:
            break
        best = max(short, key=lambda each: (len(_values(each) - seen), -each.cost.cpu_s))
        chosen.append(best)
        seen |= _values(best)
        left_s -= best.cost.cpu_s
    return chosen


def _values(ran: Ran) -> set[tuple[int, str]]:
    """The value of each axis, by the axis' number."""
    return set(enumerate(ran.cell.values))


def _same(study: Study, kept: Ran, found: Ran) -> bool:
    """Whether two runs found the same; what they cost may differ."""
    return (kept.end, kept.packet_hops) == (found.end, found.packet_hops) and all(
        kept.figures[name] == found.figures[name] for name in study.figures
    )
