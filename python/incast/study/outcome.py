"""What came out of a study, as tables and as verdicts.

Of every run of its result folder that is up to date, and of the runs that are kept with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast import folder
from incast.study import kept, tables
from incast.study.axes import Cell
from incast.study.cells import SEED, cell_runs, folder_of
from incast.study.ran import Ran, measure
from incast.study.run import RUNS, Done, found
from incast.study.study import Study
from incast.study.tables import Row
from incast.study.verdict import Finding, judge

CLAIMS = "claims.json"
_SEED = re.compile(rf"{SEED}([0-9]+)")


@dataclass(frozen=True)
class Outcome:
    """The cells that were run, and how the claims came out."""

    study: Study
    done: list[Done]
    """The runs of the folder."""
    ran: list[Ran]
    """These, and of the kept ones all others."""
    rows: list[Row]
    findings: list[Finding]

    @property
    def kept(self) -> int:
        """How many of the runs are not in the folder."""
        return len(self.ran) - len(self.done)


def collect(study: Study, out: Path, known: Collection[Done] = ()) -> Outcome:
    """All that the folder holds of the study as it is now, and what is kept with it.

    The `known` runs are not looked at again: they were run just now, or found to be up to date.
    """
    folder.check_format(out)
    there = {(each.run.cell, each.run.seed): each for each in known}
    done = [each for cell in study.cells for each in _of_cell(study, cell, out, there)]
    ran = {(each.cell, each.seed): each for each in kept.read(study)}
    ran |= {(each.run.cell, each.run.seed): measure(study, each) for each in done}
    runs = kept.in_order(study, ran.values())
    rows = tables.rows(study, runs)
    findings = judge(study, {row.cell: row.figures for row in rows})
    return Outcome(study, done, runs, rows, findings)


def _of_cell(study: Study, cell: Cell, out: Path, known: Mapping[tuple[Cell, int], Done]) -> Sequence[Done]:
    place = out / RUNS / folder_of(study, cell)
    names = [each.name for each in place.iterdir()] if place.is_dir() else []
    seeds = {int(match[1]) for name in names if (match := _SEED.fullmatch(name))}
    done = [known[cell, seed] for seed in seeds if (cell, seed) in known]
    if others := sorted(seeds - {each.run.seed for each in done}):
        done += found(out, cell_runs(study, [cell], others))
    return sorted(done, key=lambda each: each.run.seed)


def write(outcome: Outcome, out: Path) -> None:
    """The tables and claims.json, in a folder that is the study's."""
    if not (out / folder.STUDY_MARKER).is_file():
        return
    tables.write(outcome.study, outcome.rows, outcome.ran, out)
    folder.write_json(out / CLAIMS, [each.json() for each in outcome.findings])
