"""Puts a study's page together: what is on it, in which order."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from incast import text
from incast.report import html
from incast.study import words
from incast.study.outcome import Outcome
from incast.study.page import tables
from incast.study.page.bars import bars
from incast.study.page.claims import groups, tally
from incast.study.page.drawing import Drawing, command
from incast.study.page.images import images
from incast.study.page.pictures import pictures
from incast.study.study import Study
from incast.study.tables import Row


def render(outcome: Outcome, out: Path) -> str:
    """The whole page."""
    study, rows = outcome.study, outcome.rows
    missing = len(study.cells) - len(rows)
    book = html.Book()
    by_place = groups(outcome, out)
    context: dict[str, Any] = {
        "study": study,
        "source": study.model.published.source if study.model.published else "",
        "headline": " ".join(
            filter(None, [_headline(study, rows), words.kept(len(outcome.ran), outcome.kept)])
        ),
        "missing": f"{missing} of {text.plural(len(study.cells), 'cell')} were not run." if missing else "",
        "command": command(study, out),
        "shown": {claim.finding.claim.id: claim for group in by_place for claim in group.claims},
        "bars": [(each, book.add(each.figure)) for each in bars(outcome, out)],
        "published": tables.published(study, rows) if study.judged_by else None,
        "one_seed": any(row.seeds == 1 for row in rows),
        "fitted": any(row.fitted for row in rows),
        "figures": tables.figures(study, rows),
        "pictures": [(each, book.add(each.figure)) for each in pictures(outcome, out)],
        "images": images(study),
        "tally": tally(outcome.findings),
        "groups": by_place,
        "costs": tables.costs(rows),
    }
    data = {"charts": book.charts}
    return html.page("study.html.j2", context, data, scripts=("study.js",), styles=("study.css",))


def drawings(outcome: Outcome, out: Path) -> list[Drawing]:
    """Bars and pictures."""
    return [*bars(outcome, out), *pictures(outcome, out)]


def _headline(study: Study, rows: list[Row]) -> str:
    """How near ours are to what was published."""
    if not rows:
        return "Nothing was run yet."
    if not study.judged_by:
        return f"{text.plural(len(rows), 'cell')} of {len(study.cells)} were run."
    parts = []
    for fitted, what in ((False, "predicted"), (True, "calibrated")):
        off = [abs(row.difference) for row in rows if row.difference is not None and row.fitted == fitted]
        if off:
            parts.append(
                f"{text.plural(len(off), f'{what} row')}: {text.percent(fmean(off))} off what was published "
                f"on average, {text.percent(max(off))} at most"
            )
    return f"{'; '.join(parts)}." if parts else "No cell with a published figure was run."
