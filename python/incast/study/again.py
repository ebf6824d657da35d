"""Whether the kept runs are what this version finds: a few of them are run again.

A kept run counts while its scenario is unchanged. Its figures are of the version that ran them, and a later
one may find others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incast.scratch import Scratch
from incast.study.cells import plan
from incast.study.load import Study
from incast.study.outcome import Outcome
from incast.study.ran import Ran, measure
from incast.study.run import Watcher, run_missing

_MOST = 8
_EACH_S = 5.0
"""Only runs that took less processor time are run again."""


@dataclass(frozen=True)
class Again:
    """Kept runs that were run again."""

    runs: int
    other: Sequence[Ran]
    """Those of which this version finds other figures, as they were kept."""


def run_again(outcome: Outcome, jobs: int, watcher: Watcher | None = None) -> Again:
    """Runs some kept runs again: short ones, from all over the study."""
    study = outcome.study
    chosen = _chosen(outcome)
    runs = [each for kept in chosen for each in plan(study, [kept.cell], [kept.seed])]
    with Scratch() as scratch:
        done = run_missing(runs, scratch.path, jobs=jobs, total=len(runs), watcher=watcher)
        found = {(each.run.cell, each.run.seed): measure(study, each) for each in done}
    return Again(
        len(chosen), [kept for kept in chosen if not _same(study, kept, found[kept.cell, kept.seed])]
    )


def _chosen(outcome: Outcome) -> list[Ran]:
    """The shortest kept run of each cell; of these that are short enough, some at even distances."""
    here = {(each.run.cell, each.run.seed) for each in outcome.done}
    shortest: dict[str, Ran] = {}
    for each in outcome.ran:
        before = shortest.get(each.cell.name)
        if (each.cell, each.seed) not in here and (before is None or each.cost.cpu_s < before.cost.cpu_s):
            shortest[each.cell.name] = each
    short = [each for each in shortest.values() if each.cost.cpu_s <= _EACH_S]
    count = min(_MOST, len(short))
    return [short[number * len(short) // count] for number in range(count)]


def _same(study: Study, kept: Ran, found: Ran) -> bool:
    """Whether two runs found the same; what they cost may differ."""
    return (kept.end, kept.packet_hops) == (found.end, found.packet_hops) and all(
        kept.figures[name] == found.figures[name] for name in study.figures
    )
