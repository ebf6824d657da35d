"""From a cell to its runs.

The base, then the cell's values in the order of the axes, then what was calibrated, then the seed. All cells
are checked before any runs. What a run does, simulate or plan, is in `incast.study.work`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast._version import __version__
from incast.document import Node, assign, lay_over
from incast.errors import Problem, ScenarioError
from incast.study.axes import Cell, select
from incast.study.study import Study
from incast.study.work import Work, work

SEED = "seed="
"""Begins the folder of a run."""


@dataclass(frozen=True)
class CellRun:
    """One seed of one cell."""

    cell: Cell
    seed: int
    work: Work
    place: Path
    """Its folder within the study's results."""

    @property
    def digest(self) -> str:
        """Equal for runs that have to give the same results."""
        text = json.dumps({"version": __version__, "spec": self.work.spec}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def document(study: Study, cell: Cell) -> Node:
    """The cell's scenario as a document that knows where each value was written."""
    found = study.base
    for axis, name in zip(study.axes, cell.values, strict=True):
        node = study.document
        for step in ("axes", axis, name, "set"):
            node = node.child(step) or Node({}, node.mark)
        if isinstance(node.value, dict):
            found = lay_over(found, node.value)
    for each, value in zip(study.parameters, study.values, strict=True):
        if cell in select(each.parameter.cells, study.axes):
            found = assign(found, each.parameter.field, value)
    return found


def folder_of(study: Study, cell: Cell) -> Path:
    """The folder of the cell's runs. Its path says what they are, as in partitioned data sets (Hive's)."""
    return Path(*(f"{axis}={value}" for axis, value in zip(study.axes, cell.values, strict=True)))


def cell_runs(study: Study, cells: Sequence[Cell], seeds: Sequence[int]) -> list[CellRun]:
    """All runs of the cells; all problems of all cells together otherwise."""
    runs: list[CellRun] = []
    wrong: dict[Problem, list[str]] = {}
    for cell in cells:
        try:
            found = work(document(study, cell), _files(study), seeds)
        except ScenarioError as error:
            for problem in error.problems:
                wrong.setdefault(problem, []).append(cell.name)
            continue
        place = folder_of(study, cell)
        runs += [
            CellRun(cell, seed, each, place / f"{SEED}{seed}")
            for seed, each in zip(seeds, found, strict=True)
        ]
    if wrong:
        raise ScenarioError([_in_cells(problem, where, len(cells)) for problem, where in wrong.items()])
    return runs


def _files(study: Study) -> Path:
    """The folder of the files that the base names: the base's own."""
    base = study.model.base
    return (study.folder / base).parent if isinstance(base, str) else study.folder


def _in_cells(problem: Problem, where: Sequence[str], cells: int) -> Problem:
    """Says which cells have the problem, unless all have."""
    if len(where) == cells:
        return problem
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return replace(problem, message=f"{problem.message} (cell {where[0]}{more})")
