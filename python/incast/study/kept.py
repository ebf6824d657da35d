"""The runs that are kept with a study, a row a run in `runs.csv`: claims are checked without days of running.

A row counts while its cell's scenario is what it was: `scenario` is a hash of the cell's document. It says
nothing of the build: figures are of the version that ran them (`again.py` looks whether this one agrees).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from incast.document import dump
from incast.errors import Problem, ScenarioError
from incast.folder import write_text
from incast.hints import allowed, shortened
from incast.study import cells, published
from incast.study.axes import Cell
from incast.study.noted import Cost
from incast.study.ran import Ran
from incast.study.study import Study

FILE = "runs.csv"
_COST = ("wall_s", "cpu_s", "memory_max_bytes")
_DIGITS = 16  # of the hash: enough to see a change


def read(study: Study) -> list[Ran]:
    """The kept runs of the study as it is now, in its order. `ScenarioError` names the line that is wrong."""
    file = study.folder / FILE
    if not file.is_file():
        return []
    table = published.read(file)
    if missing := [name for name in _columns(study) if name not in table.columns]:
        raise ScenarioError([Problem(f"has no column {allowed(missing)}", file=str(file), line=1)])
    known = {cell.name: cell for cell in study.cells}
    asked = _Asked(study)
    found = {}
    for line, row in table.rows:
        cell = known.get(row["cell"])
        if cell is None or asked[cell] != row["scenario"]:
            continue
        try:
            ran = _run(study, cell, row)
        except ValueError as error:
            raise ScenarioError([Problem(str(error), file=str(file), line=line)]) from None
        if (cell, ran.seed) in found:
            message = f"{cell.name} has seed {ran.seed} twice: a row a run is expected"
            raise ScenarioError([Problem(message, file=str(file), line=line)])
        found[cell, ran.seed] = ran
    return in_order(study, found.values())


def write(study: Study, runs: Iterable[Ran]) -> Path:
    """Keeps these runs, and only these."""
    asked = _Asked(study)
    listed: list[dict[str, Any]] = [
        {"cell": each.cell.name, "seed": each.seed, "scenario": asked[each.cell], "end": each.end}
        | {figure.metric.key: each.figures[name] for name, figure in study.figures.items()}
        | {"packet_hops": each.packet_hops}
        | {name: getattr(each.cost, name) for name in _COST}
        for each in in_order(study, runs)
    ]
    table = pl.DataFrame(listed, schema=list(_columns(study)), infer_schema_length=None)
    file = study.folder / FILE
    write_text(file, table.write_csv())
    return file


def in_order(study: Study, runs: Iterable[Ran]) -> list[Ran]:
    """By cell as the study has them, then by seed."""
    position = {cell: number for number, cell in enumerate(study.cells)}
    return sorted(runs, key=lambda each: (position[each.cell], each.seed))


class _Asked(dict[Cell, str]):
    """The hash of each cell's document, made when it is asked for."""

    def __init__(self, study: Study) -> None:
        super().__init__()
        self._document = partial(cells.document, study)

    def __missing__(self, cell: Cell) -> str:
        text = dump(self._document(cell).plain())
        self[cell] = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
        return self[cell]


def _columns(study: Study) -> Sequence[str]:
    figures = [figure.metric.key for figure in study.figures.values()]
    return ["cell", "seed", "scenario", "end", *figures, "packet_hops", *_COST]


def _run(study: Study, cell: Cell, row: Mapping[str, str]) -> Ran:
    figures = {
        name: _number(row, figure.metric.key) if row[figure.metric.key] else None
        for name, figure in study.figures.items()
    }
    cost = Cost(_number(row, "wall_s"), _number(row, "cpu_s"), _whole(row, "memory_max_bytes"))
    return Ran(cell, _whole(row, "seed"), row["end"], figures, _whole(row, "packet_hops"), cost)


def _number(row: Mapping[str, str], name: str) -> float:
    text = row[name]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} is {shortened(text)!r}: a number is expected")
    # Whole numbers beyond 2^53 are kept exactly.
    return int(text) if text.isdecimal() else value


def _whole(row: Mapping[str, str], name: str) -> int:
    value = _number(row, name)
    if value < 0 or value != int(value):
        raise ValueError(f"{name} is {row[name]!r}: a whole number from 0 is expected")
    return int(value)
