"""What bars and pictures have in common: a figure of the page, what is missing, the command that runs it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.report.parts import Figure
from incast.study.axes import Cell, joined
from incast.study.model import Bars, Picture
from incast.study.study import Study


@dataclass(frozen=True)
class Drawing:
    """A chart of bars, or a picture."""

    asked: Bars | Picture
    figure: Figure
    """Without charts where nothing of it was run."""
    said: str = ""
    """What is not there, and why."""
    command: str = ""
    """What runs it."""


def command(study: Study, out: Path, cells: Sequence[Cell] = (), seeds: int | None = None) -> str:
    """The command that runs what is missing of these cells; of all where none are named."""
    parts = ["incast", "study", "run", str(study.folder)]
    for selection in filter(None, joined(cells, study.cells, study.axes) if cells else []):
        parts += ["--cells", selection]
    parts += ["--seeds", str(seeds)] if seeds else []
    parts += ["--out", str(out)] if out != Path("results") / study.name else []
    return shlex.join(parts)


def short(cells: Sequence[Cell]) -> tuple[str, list[str]]:
    """What these cells have in common, and of each what it has of its own."""
    if len(cells) < 2:
        return "", [cell.name for cell in cells]
    same = [len(set(values)) == 1 for values in zip(*(cell.values for cell in cells), strict=True)]
    common = [value for value, equal in zip(cells[0].values, same, strict=True) if equal]
    own = ([value for value, equal in zip(cell.values, same, strict=True) if not equal] for cell in cells)
    return "/".join(common), ["/".join(values) for values in own]
