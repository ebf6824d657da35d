"""Studies as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import show
from incast.errors import Problem, ScenarioError
from incast.folder import REPORT
from incast.hints import unknown
from incast.samples import mean, spread
from incast.study import judged, tables, words
from incast.study.calibrate import Trial, Values
from incast.study.outcome import Outcome
from incast.study.study import FILE, Study
from incast.study.tables import Row
from incast.study.verdict import Finding, Verdict

_COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.FAILS: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.UNTESTED: "dim",
}
_NAME_MAX = 32
_PLACE_MAX = 16
_TEXT_MIN = 40
"""What the document says has this width at least, so that a sentence takes few lines."""
_SAID = "what the document says"


def listed(studies: Path, name: str | None) -> list[Path]:
    """The folders of all studies, or of the one that is named."""
    names = sorted({each.parent.name for file in (FILE, judged.FILE) for each in studies.glob(f"*/{file}")})
    if name is not None and name not in names:
        if (last := Path(name).name) in names:
            message = f"{name!r} is a path: the study's name is expected, {last!r}"
            raise ScenarioError([Problem(message, file=str(studies))])
        raise ScenarioError([Problem(unknown("a study", name, names), file=str(studies))])
    if not names:
        raise ScenarioError([Problem("holds no study", file=str(studies))])
    return [studies / each for each in ([name] if name else names)]


def as_json(outcome: Outcome, rows: Sequence[Row], place: Path) -> dict[str, Any]:
    """A run of a study as plain data."""
    return {
        "study": outcome.study.name,
        "folder": str(place),
        "report": str(place / REPORT),
        "cells": tables.as_json(outcome.study, rows),
        "claims": [{"id": each.claim.id, "verdict": each.verdict} for each in outcome.findings],
    }


def cells(study: Study, rows: Sequence[Row]) -> list[Table]:
    """One row a cell: our figures, the published one, what it took; in parts where that is too wide."""
    columns = dict(_columns(study, rows))

    def part(heads: Sequence[str]) -> Table:
        table = _table(escape(study.name), "cell")
        for head in heads:
            table.add_column(escape(head), justify="right", no_wrap=True)
        for number, row in enumerate(rows):
            table.add_row(escape(_in_lines(row.cell.name)), *(columns[head][number] for head in heads))
        return table

    first, *others = show.in_parts(list(columns), part)
    for each in others:
        each.title = None
    return [first, *others]


def notes(rows: Sequence[Row]) -> str:
    """What signs in these tables mean."""
    said = ["means of the seeds, ± half of their 95 % intervals"]
    if any(row.fitted for row in rows):
        said.append("c: calibrated on this row, every other is a prediction")
    return "; ".join(said)


def _columns(study: Study, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """The heads of a table of cells, and what is below."""
    for name in study.figures:
        yield name, [_measured(study, row, name) for row in rows]
    if judged := study.judged_by:
        yield "published", [judged.metric.text(row.published) for row in rows]
        yield "difference", [words.difference(row) for row in rows]
    yield "seeds", [f"{r.seeds}{f' ({r.unfinished} unfinished)' if r.unfinished else ''}" for r in rows]
    yield "CPU", [text.time(row.cpu_s * 1e12) for row in rows]
    yield "packet-hops", [text.count(mean(row.packet_hops)) for row in rows]
    yield "memory", [text.size(row.memory_max_bytes) for row in rows]


def _in_lines(name: str) -> str:
    """A cell's name in lines that are not too wide, each of which ends with a value of an axis."""
    lines = [""]
    for value in name.split("/"):
        if lines[-1] and len(lines[-1]) + len(value) >= _NAME_MAX:
            lines.append("")
        lines[-1] += f"{value}/"
    return "\n".join(lines).removesuffix("/")


def _table(title: str, first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    return table


def _measured(study: Study, row: Row, name: str) -> str:
    values = row.figures[name]
    shown = study.figures[name].metric.text(mean(values))
    half = spread(values)
    return f"{shown} [dim]±{half:.1%}[/]" if half else shown


def parameters(study: Study, values: Values) -> Table:
    """What the calibration found."""
    table = _table("Parameters", "field")
    for head in ("cells", "from", "to", "start", "found"):
        table.add_column(head, justify="right")
    for fitted, found in zip(study.parameters, values, strict=True):
        each = fitted.parameter
        texts = (each.cells or "all", each.low, each.high, each.start, found)
        table.add_row(escape(each.field), *(escape(str(one)) for one in texts))
    return table


def residuals(study: Study, best: Trial) -> Table:
    """How far each calibration row is off."""
    judged = study.judged_by
    assert judged
    table = _table("Residuals", "cell")
    for head in ("published", "ours", "difference"):
        table.add_column(head, justify="right")
    for each in best.residuals:
        shown = [judged.metric.text(figure) for figure in (each.published, each.ours)]
        table.add_row(escape(each.cell), *shown, f"{each.part:+.1%}")
    table.caption, table.caption_justify = f"root mean square {text.percent(best.rms)}", "left"
    return table


def claims(name: str, findings: Sequence[Finding], study: Study | None = None) -> Table:
    """One row a claim; without a study where it judged itself."""
    if not show.keeps_words(_wide_claims(name, findings, study, _TEXT_MIN)):
        return _narrow_claims(name, findings, study)
    return _wide_claims(name, findings, study)


def _wide_claims(
    name: str, findings: Sequence[Finding], study: Study | None, least: int | None = None
) -> Table:
    """A column for each of its parts; `least` is the width of what the document says."""
    table = _table(escape(name), "claim")
    for head in ("place", _SAID, "published", "ours", "verdict"):
        table.add_column(head, overflow="fold", min_width=least if head == _SAID else None)
    for finding in findings:
        claim = finding.claim
        shown = (claim.id, claim.place, claim.text, *_compared(finding, study))
        table.add_row(*map(escape, shown), _verdict(finding))
    return table


def _narrow_claims(name: str, findings: Sequence[Finding], study: Study | None) -> Table:
    """The same where columns would break words: figures are below what the document says."""
    table = _table(escape(name), "claim")
    table.columns[0].max_width = _PLACE_MAX
    for head in (_SAID, "verdict"):
        table.add_column(head, overflow="fold")
    for finding in findings:
        claim = finding.claim
        figures = zip(("published", "ours"), _compared(finding, study), strict=True)
        lines = [claim.text, *(f"{head}: {figure}" for head, figure in figures if figure)]
        verdict = _verdict(finding).replace(" (", "\n(")
        table.add_row(escape(f"{claim.id}\n{claim.place}"), escape("\n".join(lines)), verdict)
    return table


def _compared(finding: Finding, study: Study | None) -> tuple[str, str]:
    """The published figure, and ours or why there is none."""
    return words.published(study, finding), words.ours(study, finding) or words.reason(finding)


def _verdict(finding: Finding) -> str:
    return f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]{words.coverage(finding)}"


def tally(findings: Sequence[Finding]) -> str:
    """How many claims came out how."""
    parts = [f"[{_COLOURS[verdict]}]{said}[/]" for verdict, said in words.tally(findings)]
    return f"Claims: {', '.join(parts) or 'none'}"
