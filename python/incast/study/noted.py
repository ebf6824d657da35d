"""What is noted next to a run that has ended, so that it is not run again: after all else is there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from incast.bounded import read_json
from incast.folder import write_json
from incast.study.cells import CellRun

_FILE = "study-run.json"


@dataclass(frozen=True)
class Cost:
    """What a run took: differs from time to time and from machine to machine."""

    wall_s: float
    cpu_s: float
    memory_max_bytes: int
    """The process's greatest resident memory meanwhile, Python and its libraries included."""


@dataclass(frozen=True)
class _Note:
    digest: str
    cost: Cost


_NOTE = TypeAdapter(_Note)


def write(run: CellRun, place: Path, cost: Cost) -> None:
    """Notes in the run's folder that it has ended, and what it took."""
    write_json(place / _FILE, asdict(_Note(run.digest, cost)))


def read(run: CellRun, place: Path) -> Cost | None:
    """What the run in this folder took, if it has ended and would be the same again."""
    try:
        note = _NOTE.validate_python(read_json(place / _FILE))
    except (OSError, ValueError):
        return None
    return note.cost if note.digest == run.digest else None


def forget(place: Path) -> None:
    """The run in this folder is run again."""
    note = place / _FILE
    if note.is_file():
        note.unlink()
