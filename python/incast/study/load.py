"""A study as it is on disk, all of its files read and checked against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from incast.document import Loc, Node, read_file
from incast.errors import Problem, ScenarioError
from incast.hints import allowed, unknown
from incast.lab.findings import Findings
from incast.lab.validate import validate
from incast.study import claims, drawings, figures, parameters, published
from incast.study.axes import Axes, Cell, Selection, ambiguous, expand, select
from incast.study.claims import Claim
from incast.study.figures import Figure
from incast.study.model import StudyFile, axes_of
from incast.study.parameters import Fitted
from incast.study.study import FILE, Study
from incast.study.verdict import check

CLAIMS = "claims.toml"


def load(folder: Path, calibrated: bool = True) -> Study:
    """The study in a folder; `ScenarioError` names all problems of a file together.

    Unless `calibrated`, what an earlier calibration found is not read: another one begins.
    """
    file = folder / FILE
    if not file.is_file():
        raise ScenarioError([Problem(_no_study(folder), file=str(folder))])
    document = read_file(file)
    model = validate(document, StudyFile)
    findings = Findings(document)
    cells = _cells(model, findings)
    named = _figures(model, findings)
    fitted = _parameters(model, findings)
    drawings.check(model, cells, findings)
    drawings.check_images(model, folder, findings)
    findings.stop_if_any()
    base = _base(model, document, folder)
    calibration = model.calibration
    values = parameters.read if calibrated else parameters.starts
    study = Study(
        folder, document, model, base, cells, named, {}, fitted,
        values(folder / calibration.file, calibration) if calibration else [], [],
    )  # fmt: skip
    study = replace(study, published=_published(study))
    _check_calibration(study)
    study = replace(study, claims=_claims(study))
    drawings.check_claims(model, [claim.id for claim in study.claims], findings)
    findings.stop_if_any()
    return study


def _no_study(folder: Path) -> str:
    """Why the path leads to no study."""
    if folder.is_dir():
        return f"is not a study: it has no {FILE}"
    if not folder.exists():
        return "there is no such folder"
    of = f": {folder.parent}" if (folder.parent / FILE).is_file() else ""
    return f"is a file, and a study is a folder with {FILE}{of}"


def _cells(model: StudyFile, findings: Findings) -> list[Cell]:
    axes = axes_of(model)
    for value in ambiguous(axes):
        findings.add(("axes",), f"two axes have a value {value!r}: a selection could not tell which is meant")
    for axis, values in axes.items():
        if not values:
            findings.add(("axes", axis), "has no values: at least one is needed")
    selections = _selections(model.cells, axes, ("cells",), findings)
    if model.calibration:
        _selections(model.calibration.cells, axes, ("calibration", "cells"), findings)
    return expand(axes, selections)


def _selections(texts: Sequence[str], axes: Axes, loc: Loc, findings: Findings) -> list[Selection]:
    found = []
    for number, text in enumerate(texts):
        try:
            found.append(select(text, axes))
        except ValueError as error:
            findings.add((*loc, number), str(error))
    return found


def _figures(model: StudyFile, findings: Findings) -> dict[str, Figure]:
    named: dict[str, Figure] = {}
    for name, source in model.metrics.items():
        try:
            named |= figures.named({name: source})
        except ValueError as error:
            findings.add(("metrics", name), str(error))
    if model.published and model.published.metric not in model.metrics:
        message = unknown("one of metrics", model.published.metric, model.metrics)
        findings.add(("published", "metric"), message)
    return named


def _parameters(model: StudyFile, findings: Findings) -> list[Fitted]:
    found = []
    for number, each in enumerate(model.calibration.parameters if model.calibration else []):
        place = ("calibration", "parameters", number)
        _selections([each.cells], axes_of(model), (*place, "cells"), findings)
        try:
            found.append(parameters.fitted(each))
        except ValueError as error:
            findings.add(place, str(error))
    return found


def _base(model: StudyFile, document: Node, folder: Path) -> Node:
    """The base scenario."""
    written = document.child("base")
    assert written
    base = read_file(folder / model.base) if isinstance(model.base, str) else written
    if not isinstance(base.value, dict):
        raise ScenarioError([Problem("expected a mapping of fields", file=base.mark.file)])
    if choices := base.child("choices"):
        message = "a study's base has no choices: write them as the values of an axis"
        raise ScenarioError([Problem(message, "choices", choices.mark.file, choices.mark.line)])
    return base


def _published(study: Study) -> dict[str, float]:
    if not study.model.published or not study.judged_by:
        return {}
    table = published.read(study.folder / study.model.published.file)
    return published.figures(study.model, table, study.cells, study.judged_by.metric)


def _check_calibration(study: Study) -> None:
    """Refuses a fit without published rows, or with more unknowns than rows."""
    calibration = study.model.calibration
    if not calibration:
        return
    findings = Findings(study.document)
    if missing := [cell.name for cell in study.fitted_cells if cell.name not in study.published]:
        findings.add(("calibration", "cells"), f"no published row answers to {allowed(missing)}")
    unknowns, rows = len(calibration.parameters), len(study.fitted_cells)
    if unknowns > rows:
        message = f"{unknowns} parameters can't be fitted to {rows} published rows: at most one a row"
        findings.add(("calibration", "parameters"), message)
    findings.stop_if_any()


def _claims(study: Study) -> list[Claim]:
    file = study.folder / CLAIMS
    if not file.exists():
        return []
    found, document = claims.read(file)
    findings = Findings(document)
    for number, claim in enumerate(found.claim):
        for position, test in enumerate(claim.tests):
            try:
                check(test, study)
            except ValueError as error:
                findings.add(("claim", number, "tests", position), f"claim {claim.id}: {error}")
    findings.stop_if_any()
    return found.claim
