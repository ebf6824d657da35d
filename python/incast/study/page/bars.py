"""Published figures next to ours as grouped bars with error bars: one panel per value of some axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incast import text
from incast.report import charts
from incast.report.charts import Chart
from incast.report.parts import Figure, Key
from incast.report.vega import Spec, channel, layer, layered
from incast.samples import half_interval, mean
from incast.study.axes import Cell
from incast.study.drawings import cells_of, panels_of
from incast.study.figures import Figure as Metered
from incast.study.model import Bars
from incast.study.outcome import Outcome
from incast.study.page.drawing import Drawing, command
from incast.study.study import Study
from incast.study.tables import Row

_HEIGHT = 190
_HEADROOM = 1.12  # figures stand above their bars
_KINDS = {"_ps": "time", "_bytes": "size", "_bps": "rate"}
_SIDES = {"published": 6, "ours": 0}
"""Whose bars, and their colours' positions."""


def bars(outcome: Outcome, out: Path) -> list[Drawing]:
    """All charts of bars of the study."""
    return [_drawing(each, outcome, out) for each in outcome.study.model.bars]


def _drawing(asked: Bars, outcome: Outcome, out: Path) -> Drawing:
    study = outcome.study
    judged = study.figures[asked.metric] if asked.metric else study.judged_by
    assert judged
    cells = cells_of(asked, study.model, study.cells)
    published = study.published if judged is study.judged_by else {}
    known = {cell.name: published[cell.name] for cell in cells if cell.name in published}
    rows = {row.cell: row for row in outcome.rows}
    top = max((_highest(cell, rows, known, judged) for cell in cells), default=0.0)
    labels = _labels(asked, study, cells)
    panels = [
        (heading, _chart(kept, labels, rows, known, judged, top * _HEADROOM))
        for heading, kept in panels_of(asked, study.model, cells)
    ]
    missing = [cell for cell in cells if cell not in rows]
    title = f"{asked.place[:1].upper()}{asked.place[1:]}: {asked.text}".removesuffix(": ")
    keys = tuple(Key(name, color, block=True) for name, color in _sides(known).items())
    note = "Ours are means over the seeds with their 95 % intervals."
    figure = Figure(title, tuple(panels), keys, note, columns=min(2, len(panels)))
    if not missing:
        return Drawing(asked, figure)
    said = f"{len(missing)} of {text.plural(len(cells), 'cell')} were not run: these have no bar of ours."
    return Drawing(asked, figure, said, command(study, out, cells))


def _sides(known: Mapping[str, float]) -> Mapping[str, int]:
    """Both, or ours only where the figure is not what was published."""
    return _SIDES if known else {"ours": _SIDES["ours"]}


def _labels(asked: Bars, study: Study, cells: Sequence[Cell]) -> dict[Cell, str]:
    """What distinguishes a cell within its panel, one line per axis."""
    kept = [
        number
        for number, axis in enumerate(study.axes)
        if axis not in asked.panels and len({cell.values[number] for cell in cells}) > 1
    ]
    return {cell: "\n".join(cell.values[number] for number in kept) for cell in cells}


def _highest(cell: Cell, rows: Mapping[Cell, Row], known: Mapping[str, float], judged: Metered) -> float:
    values = rows[cell].figures[judged.name] if cell in rows else {}
    return max(known.get(cell.name, 0.0), (mean(values) or 0) + (half_interval(values) or 0))


def _chart(
    cells: Sequence[Cell],
    labels: Mapping[Cell, str],
    rows: Mapping[Cell, Row],
    published: Mapping[str, float],
    judged: Metered,
    top: float,
) -> Chart:
    kind = _KINDS.get(judged.metric.unit, "")
    scale, unit = charts.UNITS[kind](top) if kind else (1.0, "")
    listed: list[dict[str, Any]] = []
    for cell in cells:
        values = rows[cell].figures[judged.name] if cell in rows else {}
        middle, half = mean(values), half_interval(values)
        known = published.get(cell.name)
        listed += [_bar(labels[cell], "published", known, None, scale)] if known is not None else []
        listed += [_bar(labels[cell], "ours", middle, half, scale)] if middle is not None else []
    columns = {key: [bar[key] for bar in listed] for key in ("label", "who", "y", "low", "high", "end")}
    title = f"{judged.name} ({unit})" if unit else judged.name
    layers = _layers(list(dict.fromkeys(labels.values())), title, top / scale, _sides(published))
    return Chart(layered(layers, _HEIGHT), {"bars": columns})


def _bar(label: str, who: str, value: float, half: float | None, scale: float) -> dict[str, Any]:
    low, high = (value - half, value + half) if half is not None else (None, None)
    ends = {"y": value, "low": low, "high": high, "end": high if high is not None else value}
    digits = {key: None if end is None else float(f"{end / scale:.4g}") for key, end in ends.items()}
    return {"label": label, "who": who, **digits}


def _layers(labels: list[str], title: str, top: float, sides: Mapping[str, int]) -> list[Spec]:
    """Bars, their figures above them, and the intervals of ours."""
    lines = {"labelExpr": "split(datum.label, '\\n')", "labelOverlap": False}
    axis = {"labelAngle": 0, **lines, "ticks": False}
    base = {
        "x": channel("label:N", title=None, scale={"domain": labels}, axis=axis),
        "xOffset": channel("who:N", scale={"domain": list(sides)}),
        "tooltip": [
            channel("label:N", title="cell"),
            channel("who:N", title="whose"),
            channel("y:Q", title=title),
            channel("low:Q", title="95 % from"),
            channel("high:Q", title="to"),
        ],
    }
    colors = {"domain": list(sides), "range": [charts.color(c) for c in sides.values()]}
    y = channel("y:Q", title=title, scale={"domain": [0, top], "nice": False}, axis={"tickCount": 4})
    blocks = {**base, "y": y, "color": channel("who:N", scale=colors, legend=None)}
    spans = {**base, "y": channel("low:Q"), "y2": {"field": "high"}}
    figures = {**base, "y": channel("end:Q"), "text": channel("y:Q", format=".3~g")}
    line = {"type": "rule", "clip": True, "color": "var(--ink)", "strokeWidth": 1.2}
    return [
        layer("bars", {"type": "bar"}, blocks),
        layer("bars", line, spans, transform=[{"filter": "datum.low !== null"}]),
        layer("bars", {"type": "text", "dy": -5, "fontSize": 9, "color": "var(--soft)"}, figures),
    ]
