"""The report of a run, or of a scenario's choices: one HTML file that opens without a network."""

from pathlib import Path

from incast.report.load import load
from incast.report.page import render

__all__ = ["write"]


def write(run_folder: Path) -> Path:
    """Writes `report.html` into a run folder, or into a folder of choices, and returns its path.

    The same tables give the same bytes. Raises `incast.ResultError` where there is no run.
    """
    target = run_folder / "report.html"
    part = run_folder / ".report.html.part"
    part.write_text(render(load(run_folder)), encoding="utf-8")
    part.replace(target)
    return target
