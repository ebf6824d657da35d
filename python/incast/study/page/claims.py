"""The claims as the page shows them: by the place in the document, with verdict and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from incast import text
from incast.report.parts import Cell, Table
from incast.study import words
from incast.study.outcome import Outcome
from incast.study.page.drawing import command
from incast.study.verdict import Comparison, Finding, Verdict

KEYS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
    Verdict.UNTESTED: "untested",
}
"""How the page calls verdicts in its mark-up."""


@dataclass(frozen=True)
class Shown:
    """A claim."""

    finding: Finding
    key: str
    coverage: str
    published: str
    ours: str
    reason: str
    comparisons: Table | None
    command: str
    """What runs its cells, where none of them was run."""


@dataclass(frozen=True)
class Group:
    """The claims of one place in the document."""

    title: str
    claims: tuple[Shown, ...]


def groups(outcome: Outcome, out: Path) -> list[Group]:
    """All claims, in their order. Claims whose ids begin alike are of one place: S53.1 and S53.2."""
    found = []
    for _, members in groupby(
        outcome.findings, lambda each: each.claim.id.rpartition(".")[0] or each.claim.id
    ):
        findings = list(members)
        place = min((each.claim.place for each in findings), key=len)
        shown = tuple(_shown(each, outcome, out) for each in findings)
        found.append(Group(f"{place[:1].upper()}{place[1:]}", shown))
    return found


def _shown(finding: Finding, outcome: Outcome, out: Path) -> Shown:
    untested = finding.verdict == Verdict.UNTESTED and bool(finding.comparisons)
    return Shown(
        finding,
        KEYS[finding.verdict],
        words.coverage(finding),
        words.published(outcome.study, finding),
        "" if finding.verdict == Verdict.UNTESTED else words.ours(outcome.study, finding),
        finding.claim.reason,
        _comparisons(finding, outcome),
        _command(finding, outcome, out) if untested else "",
    )


def _command(finding: Finding, outcome: Outcome, out: Path) -> str:
    names = {name for each in finding.comparisons for name in each.cells}
    cells = [cell for cell in outcome.study.cells if cell.name in names]
    return command(outcome.study, out, cells)


def _comparisons(finding: Finding, outcome: Outcome) -> Table | None:
    """Those that were made, where there is more than one or the claim's figures leave something out."""
    made = [each for each in finding.comparisons if each.verdict != Verdict.UNTESTED]
    if not made:
        return None
    rows = tuple(_row(each, outcome) for each in made)
    columns = ("Cells", "Test", "Published", "Ours", "Verdict")
    left = len(finding.comparisons) - len(made)
    more = f"{text.plural(left, 'more comparison')} not run." if left else ""
    return Table(f"Comparisons of {finding.claim.id}", columns, rows, frozenset(columns), more)


def _row(each: Comparison, outcome: Outcome) -> tuple[Cell, ...]:
    return (
        Cell(" against ".join(each.cells)),
        Cell(each.test, each.metric),
        Cell(words.compared(outcome.study, each, "published") or text.NONE),
        Cell(words.compared(outcome.study, each, "ours") or text.NONE),
        Cell(each.verdict, each.why, "bad" if each.verdict == Verdict.FAILS else ""),
    )


def tally(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """(key, words) of each verdict that there is."""
    return [(KEYS[verdict], said) for verdict, said in words.tally(findings)]
