"""A result folder: what is in it, when it may be written, and what is removed before it is written again.

The core writes a run's tables (crates/record); this writes what the package adds. A folder of several runs
has each run in a sub-folder, and the same marker, so that it is recognised.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from incast import _core, table_files
from incast.bounded import read_json
from incast.damage import damaged
from incast.errors import OutputError, OutputExistsError, ResultError, why

if TYPE_CHECKING:
    import polars as pl

MARKER = "incast-run.json"
WALKS_MARKER = "incast-walk.json"
MINE_MARKER = "incast-mine.json"
BROADCAST_MARKER = "incast-broadcast.json"
FARMEM_MARKER = "incast-farmem.json"
STUDY_MARKER = "incast-study.json"
_MAKERS = {
    MARKER: ("incast run", "incast report draws it"),
    WALKS_MARKER: ("incast walk", "incast report draws it, incast view plays it back"),
    MINE_MARKER: ("incast mine", "incast view plays it back if it was mined on nodes"),
    BROADCAST_MARKER: ("incast broadcast", "incast view plays it back"),
    FARMEM_MARKER: ("incast farmem grid", "its picture and tables are in the folder"),
    STUDY_MARKER: ("incast study", "incast study report draws it"),
}
"""Which command makes a folder with this marker, and what shows it."""
MARKERS = tuple(_MAKERS)
"""One of every form of a folder."""
SUMMARY = "summary.json"
WRITTEN = "scenario.yaml"
RESOLVED = "scenario.json"
GRAPH = "graph.json"
REPORT = "report.html"
TRACE = "trace.pftrace"
METRICS = "openmetrics.txt"
PLAN = "plan.json"
FILES = (SUMMARY, WRITTEN, RESOLVED, GRAPH, REPORT, TRACE, METRICS, PLAN)
FORMAT = 1
MARKER_BYTES_MAX = 1_000_000

TABLES: tuple[str, ...] = tuple(_core.TABLES)
LEVELS: str = _core.LEVELS
"""The folder with samples of ports in coarser steps, which follow from the table `ports_series`."""
SUBFOLDERS = (*TABLES, LEVELS, "captures")
"""All folders in a run folder."""


def numbered(folder: Path) -> Path:
    """The folder; where it holds a result already, the first of `folder-2`, `folder-3`… that holds none."""
    place, number = folder, 1
    while folder.name and _holds_result(place):
        number += 1
        place = folder.parent / f"{folder.name}-{number}"
    return place


def _holds_result(folder: Path) -> bool:
    return any(_is_marked(folder, marker) for marker in MARKERS)


def taken(folder: Path, marker: str) -> OutputExistsError:
    """Says that the folder holds something, and whether a result with this marker may replace it."""
    ours, other = _is_marked(folder, marker), next(_others(folder, marker), None)
    return OutputExistsError(folder, ours=ours, other=f"a result of {_MAKERS[other][0]}" if other else "")


def check_kind(folder: Path, marker: str = MARKER) -> None:
    """Refuses a result of another kind than that of the marker; says which it is, and what shows it."""
    for other in _others(folder, marker):
        maker, shown = _MAKERS[other]
        raise ResultError(f"{folder} is a result of {maker}, not of {_MAKERS[marker][0]}: {shown}")


def shown_by(marker: str) -> str:
    """Which command makes a folder with the marker, and what shows it, in words."""
    return "a result of {}: {}".format(*_MAKERS[marker])


def _others(folder: Path, marker: str) -> Iterator[str]:
    """The markers of other kinds in a folder that has not this one."""
    return iter(()) if _is_marked(folder, marker) else (each for each in MARKERS if _is_marked(folder, each))


def _is_marked(folder: Path, marker: str) -> bool:
    try:
        return (folder / marker).is_file()
    except OSError:
        return False  # It can't be looked at, so it can't be written or read either, which says why.


def make_free(folder: Path, force: bool) -> None:
    """Makes the folder, empty but for the marker of a result that may be overwritten."""
    try:
        _check_free(folder, force)
        folder.mkdir(parents=True, exist_ok=True)
        if force:
            clear(folder)
    except OSError as error:
        raise OutputError(f"{folder} can't be written: {(error.strerror or '').lower()}") from None


def _check_free(folder: Path, force: bool) -> None:
    """Refuses a folder that holds something, unless it is a result and may be overwritten."""
    if not folder.exists() or (folder.is_dir() and is_empty(folder)):
        return
    if not force or not (folder / MARKER).is_file():
        raise taken(folder, MARKER)


def is_empty(folder: Path) -> bool:
    """Whether nothing is in it, but for a marker that was not written to its end: a run was killed there."""
    return {each.name for each in folder.iterdir()} <= {f".{marker}.tmp" for marker in MARKERS}


def clear(folder: Path) -> None:
    """Removes what a result consists of, and nothing else; the marker stays."""
    there = {path.name for path in folder.iterdir()}
    for name in there.intersection(FILES):
        (folder / name).unlink(missing_ok=True)
    for name in there.intersection(SUBFOLDERS):
        for part in (*folder.glob(f"{name}/part-*.parquet"), *folder.glob(f"{name}/*.pcapng")):
            part.unlink()
        _remove_if_empty(folder / name)
    for sub in [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]:
        if (sub / MARKER).is_file():
            clear(sub)
            if [path.name for path in sub.iterdir()] == [MARKER]:
                (sub / MARKER).unlink()
        _remove_if_empty(sub)


def prepare(folder: Path) -> None:
    """Makes a folder for several runs."""
    folder.mkdir(parents=True, exist_ok=True)
    mark(folder, MARKER)


def mark(folder: Path, marker: str, **more: Any) -> None:
    """Says that the folder is a result, which version wrote it, and whatever else belongs there."""
    from incast._version import __version__  # It reads the package's metadata, which takes a while.

    write_json(folder / marker, {"format": FORMAT, "written_by": f"incast {__version__}", **more})


def check_format(place: Path) -> None:
    """Refuses a result of a later version, whose tables may mean something else."""
    for marker in MARKERS:
        try:
            said = read_json(place / marker, MARKER_BYTES_MAX)
        except (OSError, ValueError):
            continue  # Without a marker, or with half of one: what else is there decides.
        if isinstance(said, dict) and isinstance(said.get("format"), int) and said["format"] > FORMAT:
            by = f" by {said['written_by']}" if isinstance(said.get("written_by"), str) else ""
            raise ResultError(
                f"{place} was written{by} in format {said['format']}: this version reads up to {FORMAT}"
            )


def scan(folder: Path, table: str) -> pl.LazyFrame:
    """The table of a run folder."""
    parts = sorted((folder / table).glob("*.parquet"))
    if not parts:
        raise ResultError(f"{folder} has no table {table!r}")
    return table_files.scan_parquet(parts)


def write_json(file: Path, content: Any) -> None:
    """Writes the file whole or not at all."""
    write_text(file, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_table(file: Path, frame: pl.DataFrame) -> None:
    """Writes a table as Parquet; raises `OSError` with the file where that can't be written."""
    from polars.exceptions import ComputeError  # Polars takes a while.

    table_files.check_name(file)
    try:
        frame.write_parquet(file)
    except ComputeError as error:
        # Of a full disk it says neither the file nor, but in its text, the number.
        number = _number(str(error))
        if number is None and "transport error" in str(error):  # The end of a file is written by Thrift.
            number = errno.EIO if os.statvfs(file.parent).f_bavail else errno.ENOSPC
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(file)) from None


def _number(said: str) -> int | None:
    """Of an error of the system, as Rust says it."""
    found = re.search(r"\(os error (\d+)\)", said)
    return None if found is None else int(found[1])


@contextmanager
def readable(place: Path) -> Iterator[None]:
    """Names the table, or the file, that is damaged; raises `ResultError`."""
    try:
        yield
    except (*damaged(), ValueError) as error:
        raise ResultError(f"{place} is damaged: {why(error)}") from None


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Names the file in an `OSError` that names none, as that of a full disk does."""
    try:
        yield
    except OSError as error:
        if error.filename:
            raise
        # The core has the number in its text alone.
        number = error.errno or _number(str(error))
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(file)) from None


def replaceable(file: Path) -> Path:
    """The file that the path leads to; raises `OutputError` for a device or pipe, which would be gone."""
    file = Path(os.path.realpath(file))
    # A folder is not replaced: the rename says so.
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise OutputError(f"{file} is no file: choose another")
    return file


def free(file: Path, force: bool) -> Path:
    """The file that the path leads to; raises `OutputError` if it is there and may not be overwritten."""
    if file.exists() and not force:
        raise OutputError(f"{file} is there already: choose another, or allow it to be overwritten (--force)")
    return replaceable(file)


@contextmanager
def exported(target: Path) -> Iterator[BinaryIO]:
    """A file of any size that appears when it is complete; raises `ResultError` if it can't be written."""
    target = replaceable(target)
    part = target.with_name(f".{target.name}.tmp")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(target)
    except OSError as error:
        raise ResultError(f"{target}: not written: {why(error)}") from None
    finally:
        with suppress(OSError):
            part.unlink()


def write_text(file: Path, text: str) -> None:
    """Writes the file whole or not at all."""
    replaceable(file)
    with whole(file) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Where a file is written until it is whole. Otherwise nothing of it stays; the `OSError` names it."""
    part = file.with_name(f".{file.name}.tmp")
    try:
        with named(file):
            yield part
        part.replace(file)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(file)
        raise
    finally:
        with suppress(OSError):
            part.unlink()


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
