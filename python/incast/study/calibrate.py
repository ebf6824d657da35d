"""Finds the parameters of a study that bring its calibration cells nearest to their published figures.

Least squares of the relative differences within the parameters' bounds, by the trust region reflective method
(Branch, Coleman & Li 1999) of SciPy. An evaluation is a run of all calibration cells; values are rounded
before they are tried, so that what is frozen is exactly what was run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from incast.errors import Problem, RunError, ScenarioError
from incast.extras import extra
from incast.samples import mean
from incast.study import parameters, tables
from incast.study.parameters import Fitted
from incast.study.ran import measure
from incast.study.run import Watcher, claim, run_study
from incast.study.study import FILE, Study

Values: TypeAlias = "tuple[str | int | float, ...]"
# The search runs in 1..2 for each parameter, so that a relative step is never zero; noise hides shorter ones.
_STEP = 0.05
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Residual:
    """How far a calibration cell is from its published figure."""

    cell: str
    published: float
    """In base units."""
    ours: float
    part: float
    """(ours − published) / published."""


@dataclass(frozen=True)
class Trial:
    """Values that were tried, and what came of them."""

    values: Values
    residuals: tuple[Residual, ...]

    @property
    def rms(self) -> float:
        """Root of the mean of the squared relative differences."""
        return math.sqrt(sum(each.part**2 for each in self.residuals) / len(self.residuals))


Evaluate: TypeAlias = "Callable[[Values], Trial]"


class _EnoughError(Exception):
    """As many values as allowed were tried."""


def calibrate(study: Study, out: Path, jobs: int, watcher: Callable[[int, Trial | None], Watcher]) -> Trial:
    """Finds the values and freezes them in the study's folder.

    `watcher` makes what watches a trial, from the number of trials before it and the best of them.
    """
    calibration = study.model.calibration
    if not calibration:
        raise ScenarioError([Problem("has no calibration", file=str(study.folder / FILE))])
    claim(out, study)
    tried: dict[Values, Trial] = {}

    def evaluate(values: Values) -> Trial:
        if values not in tried:
            if len(tried) >= calibration.evaluations:
                raise _EnoughError
            shown = watcher(len(tried), _best(tried) if tried else None)
            tried[values] = trial(study, values, out, jobs, shown)
        return tried[values]

    search(study.parameters, evaluate)
    best = _best(tried)
    residuals: list[dict[str, object]] = [
        {"cell": each.cell, "difference": round(each.part, 4)} for each in best.residuals
    ]
    parameters.write(study.folder / calibration.file, calibration, best.values, residuals)
    return best


def _best(tried: dict[Values, Trial]) -> Trial:
    return min(tried.values(), key=lambda each: each.rms)


def search(fitted: Sequence[Fitted], evaluate: Evaluate) -> None:
    """Tries values until they get no better, or enough were tried."""
    with extra("study"):
        from scipy.optimize import least_squares

    start = [_to_unit(each, each.start) for each in fitted]

    def differences(point: Sequence[float]) -> list[float]:
        values = tuple(each.value(_from_unit(each, x)) for each, x in zip(fitted, point, strict=True))
        return [each.part for each in evaluate(values).residuals]

    try:
        least_squares(differences, start, bounds=(1, 2), diff_step=_STEP, ftol=_TOLERANCE, xtol=_TOLERANCE)
    except _EnoughError:
        return


def _to_unit(fitted: Fitted, value: float) -> float:
    """1 at the lowest value, 2 at the highest; by ratio where all are above zero."""
    if fitted.low > 0:
        return 1 + math.log(value / fitted.low) / math.log(fitted.high / fitted.low)
    return 1 + (value - fitted.low) / (fitted.high - fitted.low)


def _from_unit(fitted: Fitted, x: float) -> float:
    if fitted.low > 0:
        return float(fitted.low * (fitted.high / fitted.low) ** (x - 1))
    return float(fitted.low + (x - 1) * (fitted.high - fitted.low))


def trial(study: Study, values: Values, out: Path, jobs: int, watcher: Watcher) -> Trial:
    """Runs the calibration cells with these values; what was run before is not run again."""
    assert study.model.calibration
    key = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
    tried = study.with_values(values)
    seeds = list(range(1, study.model.calibration.seeds + 1))
    done = run_study(
        tried, out / "calibration" / key, cells=tried.fitted_cells, seeds=seeds, jobs=jobs, watcher=watcher
    )
    return Trial(values, tuple(residuals(tried, tables.rows(tried, [measure(tried, each) for each in done]))))


def residuals(study: Study, rows: Sequence[tables.Row]) -> list[Residual]:
    """How far each row is from what was published."""
    judged = study.judged_by
    assert judged
    found = []
    for row in rows:
        ours = mean(row.figures[judged.name])
        if ours is None or row.published is None or row.difference is None:
            raise RunError(f"{row.cell.name}: {judged.name} was not measured, so nothing can be fitted to it")
        found.append(Residual(row.cell.name, row.published, ours, row.difference))
    return found
