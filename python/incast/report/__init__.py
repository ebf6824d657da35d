"""The report of a run, or of a scenario's choices: one HTML file that opens without a network."""

from pathlib import Path

from incast.folder import REPORT, write_text

__all__ = ["write"]


def write(run_folder: Path) -> Path:
    """Writes `report.html` into a run folder, or into a folder of choices, and returns its path.

    The same tables give the same bytes. Raises `incast.ResultError` where there is no run.
    """
    # Here, because these load what draws, and the package is imported by every command.
    from incast.report.load import load
    from incast.report.page import render

    target = run_folder / REPORT
    write_text(target, render(load(run_folder)))
    return target
