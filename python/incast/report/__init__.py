"""The report of a run, of a scenario's choices, or of walks: one HTML file that opens without a network."""

from collections.abc import Mapping
from pathlib import Path

from incast import polars_memory
from incast.extras import extra
from incast.folder import REPORT, WALKS_MARKER, write_text

__all__ = ["write", "write_comparison"]


def write(run_folder: Path) -> Path:
    """Writes `report.html` into the folder of a run, of choices, or of walks, and returns its path.

    The same tables give the same bytes. Raises `incast.ResultError` where there is no run,
    `incast.extras.MissingLibraryError` without what draws.
    """
    target = run_folder / REPORT
    walked = (run_folder / WALKS_MARKER).is_file()
    # Here, because these load what draws, and the package is imported by every command.
    with extra("report"):
        polars_memory.load()
        from incast.report import load, page, walk_page

        rendered = walk_page.render(run_folder) if walked else page.render(load.load(run_folder))
    write_text(target, rendered)
    return target


def write_comparison(results: Mapping[str, Path], target: Path) -> Path:
    """Writes a page that compares results of different runs, each under its name, and returns its path.

    Raises as `write` does.
    """
    with extra("report"):
        polars_memory.load()
        from incast.report import load, page

        rendered = page.render(load.joined(results))
    write_text(target, rendered)
    return target
