"""Studies of measured programs: no simulator runs their cells, and they judge their claims themselves.

Such a folder has claims.toml, the cells that are kept with it, and instead of study.yaml a script,
verdicts.py: run there, it prints as JSON, of each claim that it can judge, whether it `holds` and the
`figures` behind that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from incast.errors import Problem, RunError, ScenarioError
from incast.lab.base import Model
from incast.study import claims
from incast.study.load import CLAIMS
from incast.study.verdict import Finding, Verdict

__all__ = ["FILE", "judge"]

FILE = "verdicts.py"


class Judged(Model):
    """What the script says of a claim."""

    holds: bool
    figures: str


_SAID = TypeAdapter(dict[str, Judged])


def judge(folder: Path) -> list[Finding]:
    """Every claim of the study. Raises `RunError` when its script fails."""
    listed = claims.read(folder / CLAIMS)[0].claim
    if tested := next((claim.id for claim in listed if claim.tests), None):
        message = f"claim {tested} has tests, which need cells of a study.yaml: {FILE} judges here"
        raise ScenarioError([Problem(message, file=str(folder / CLAIMS))])
    said = _said(folder / FILE)
    if strangers := said.keys() - {claim.id for claim in listed}:
        raise RunError(f"{folder / FILE} judges {min(strangers)}, which is no claim of {CLAIMS}")
    found = []
    for claim in listed:
        own = said.get(claim.id)
        verdict = Verdict.UNTESTED if own is None else Verdict.HOLDS if own.holds else Verdict.FAILS
        found.append(Finding(claim, verdict, (), own.figures if own else ""))
    return found


def _said(script: Path) -> dict[str, Judged]:
    ran = subprocess.run(
        [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        why = ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"]
        raise RunError(f"{script} fails: {why[-1]}")
    try:
        return _SAID.validate_json(ran.stdout)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RunError(
            f"{script} prints no verdicts: {where + ': ' if where else ''}{first['msg']}"
        ) from None
