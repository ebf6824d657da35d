"""What came of a study in words: figures, differences, comparisons, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from incast import text
from incast.study.again import Again
from incast.study.study import Study
from incast.study.tables import Row
from incast.study.verdict import Comparison, Finding, Verdict

_SHOWN = 3
_PLURAL = {
    Verdict.HOLDS: "hold",
    Verdict.FAILS: "do not hold",
    Verdict.UNDECIDED: "undecided",
    Verdict.UNTESTED: "not tested",
}


def difference(row: Row) -> str:
    """How far it is from the published figure; a c where the calibration was fitted to it."""
    if row.difference is None:
        return text.NONE
    return f"{row.difference:+.1%}{' c' if row.fitted else ''}"


def coverage(finding: Finding) -> str:
    """How many of its comparisons were made, like ` (1 of 2)`; nothing where there is one."""
    asked = len(finding.comparisons)
    return f" ({finding.tested} of {asked})" if asked > 1 else ""


def reason(finding: Finding) -> str:
    """Why it is not tested, or what else checks it."""
    return finding.claim.reason or ", ".join(finding.claim.checked_by)


def published(study: Study | None, finding: Finding) -> str:
    """The document's figures, at most three comparisons of them."""
    return finding.claim.figure or _figures(study, finding, "published")


def ours(study: Study | None, finding: Finding) -> str:
    """Our figures of the comparisons that decided, at most three; or as the study itself says them."""
    return finding.figures or _figures(study, finding, "ours")


def _figures(study: Study | None, finding: Finding, which: str) -> str:
    if study is None:
        return ""
    deciding = [each for each in finding.comparisons if each.verdict == finding.verdict]
    texts = [f"{each.cells[0]}: {said}" for each in deciding if (said := compared(study, each, which))]
    more = f"; … {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more


def compared(study: Study, each: Comparison, which: str) -> str:
    """The figures that are compared, `ours` or `published`; nothing where there are none."""
    metric = next((f.metric for f in study.figures.values() if f.metric.key == each.metric), None)
    figures = each.published if which == "published" else each.ours
    if all(figure is None for figure in figures):
        return ""
    return " / ".join(
        metric.text(f) if metric else text.NONE if f is None else text.digits(f) for f in figures
    )


def tally(findings: Sequence[Finding]) -> list[tuple[Verdict, str]]:
    """How many claims came out how; only verdicts that there are."""
    counted = Counter(each.verdict for each in findings)
    return [
        (verdict, f"{counted[verdict]} {_PLURAL[verdict] if counted[verdict] != 1 else verdict}")
        for verdict in Verdict
        if counted[verdict]
    ]


def kept(runs: int, of_them: int) -> str:
    """What of the runs was not run here; empty where all were."""
    if not of_them:
        return ""
    return (
        f"{text.count(of_them)} of {text.plural(runs, 'run')} not run here: kept with the study, in runs.csv."
    )


def again(again: Again) -> str:
    """Whether the kept runs that were run again were the same; empty where none were."""
    if not again.runs:
        return ""
    if not again.other:
        return f"{text.plural(again.runs, 'kept run')} run again here, with the same figures."
    first = again.other[0]
    return (
        f"The kept runs are of an earlier version: {len(again.other)} of {again.runs} that were run again "
        f"have other figures, like {first.cell.name}, seed {first.seed}."
    )
