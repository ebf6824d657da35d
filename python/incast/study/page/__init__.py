"""The page of a study: one HTML file with figures next to the published ones, pictures, claims and costs."""

from __future__ import annotations

from pathlib import Path

from incast.extras import extra
from incast.folder import REPORT, free, write_text
from incast.study.outcome import Outcome

__all__ = ["write", "write_svg"]


def write(outcome: Outcome, out: Path) -> Path:
    """Writes `report.html` into the study's result folder and returns its path."""
    # Here, because this loads what draws, and the package is imported by every command.
    with extra("study"):
        from incast.study.page.render import render

        rendered = render(outcome, out)
    target = out / REPORT
    write_text(target, rendered)
    return target


def write_svg(outcome: Outcome, out: Path, folder: Path, force: bool = False) -> list[Path]:
    """Writes each chart of bars and each picture that can be drawn as `<id>.svg` into the folder.

    Raises `OutputError`, before it writes any, where one is there and may not be overwritten.
    """
    with extra("study"):
        from incast.study.page.render import drawings
        from incast.study.page.svg import svg

    drawn = {
        folder / f"{each.asked.id}.svg": each.figure for each in drawings(outcome, out) if each.figure.charts
    }
    for target in drawn:
        free(target, force)
    folder.mkdir(parents=True, exist_ok=True)
    for target, figure in drawn.items():
        write_text(target, svg(figure))
    return list(drawn)
