"""What the page draws next to the tables: checks of `bars` and `pictures`, and the cells that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from incast.hints import unknown
from incast.lab.findings import Findings
from incast.study.axes import Cell, select
from incast.study.model import Bars, Picture, StudyFile, axes_of

CELLS_MAX = 6
"""A picture compares at most so many."""
IMAGE_MAX = 2_000_000
"""Bytes of a file that is shown: the page holds it."""


def check(model: StudyFile, cells: Sequence[Cell], findings: Findings) -> None:
    """Notes what can't be drawn."""
    named: set[str] = set()
    for section, number, each in _listed(model):
        if each.id in named:
            findings.add((section, number, "id"), f"{each.id!r} is there twice: ids must differ")
        named.add(each.id)
        _check_cells(section, number, each, model, cells, findings)
    for number, bars in enumerate(model.bars):
        if not model.published and not bars.metric:
            findings.add(("bars", number), "there is nothing to compare with: the study has no `published`")
        if bars.metric and bars.metric not in model.metrics:
            findings.add(("bars", number, "metric"), unknown("one of metrics", bars.metric, model.metrics))
        for position, axis in enumerate(bars.panels):
            if axis not in model.axes:
                message = unknown("an axis of the study", axis, model.axes)
                findings.add(("bars", number, "panels", position), message)


def check_images(model: StudyFile, folder: Path, findings: Findings) -> None:
    """Notes files that can't be shown."""
    for number, image in enumerate(model.images):
        place, file = ("images", number, "file"), folder / image.file
        if not file.is_file():
            findings.add(place, f"{image.file}: there is no such file next to study.yaml")
        elif file.stat().st_size > IMAGE_MAX:
            findings.add(place, f"{image.file}: at most {IMAGE_MAX // 1_000_000} MB are allowed")


def check_claims(model: StudyFile, ids: Sequence[str], findings: Findings) -> None:
    """Notes claims to be shown that there are not."""
    for section, number, each in _listed(model):
        for position, claim in enumerate(each.claims):
            if claim not in ids:
                findings.add((section, number, "claims", position), unknown("a claim's id", claim, ids))


def _listed(model: StudyFile) -> Iterator[tuple[str, int, Bars | Picture]]:
    """All that is drawn: its section and number."""
    sections: dict[str, Sequence[Bars | Picture]] = {"bars": model.bars, "pictures": model.pictures}
    for section, listed in sections.items():
        for number, each in enumerate(listed):
            yield section, number, each


def _check_cells(
    section: str,
    number: int,
    drawn: Bars | Picture,
    model: StudyFile,
    cells: Sequence[Cell],
    findings: Findings,
) -> None:
    for position, text in enumerate(drawn.cells):
        place = (section, number, "cells", position)
        try:
            selection = select(text, axes_of(model))
        except ValueError as error:
            findings.add(place, str(error))
            return
        if not any(cell in selection for cell in cells):
            findings.add(place, f"{text!r} selects no cell of the study")
    chosen = cells_of(drawn, model, cells)
    if isinstance(drawn, Picture) and len(chosen) > CELLS_MAX:
        message = f"{len(chosen)} cells are selected: at most {CELLS_MAX} can be compared"
        findings.add((section, number, "cells"), message)


def cells_of(drawn: Bars | Picture, model: StudyFile, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that are drawn, each once, in the order of the selections."""
    selections = [select(text, axes_of(model)) for text in drawn.cells]
    return list(dict.fromkeys(cell for each in selections for cell in cells if cell in each))


def panels_of(bars: Bars, model: StudyFile, cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """Each panel's heading and cells; panels without cells are left out."""
    axes = axes_of(model)
    positions = [list(axes).index(axis) for axis in bars.panels]
    found = []
    for values in product(*(axes[axis] for axis in bars.panels)):
        kept = [c for c in cells if all(c.values[p] == v for p, v in zip(positions, values, strict=True))]
        if kept:
            found.append((", ".join(values), kept))
    return found
