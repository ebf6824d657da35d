"""Which runs lie in a folder that somebody wants to see: itself, or those of its variants and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from incast.folder import BROADCAST_MARKER, MARKER, MARKERS, MINE_MARKER, TABLES, WALKS_MARKER, shown_by
from incast.recording import PROGRESS, is_going
from incast.text import natural_key

PROGRAMS = (BROADCAST_MARKER, WALKS_MARKER, MINE_MARKER)
"""Of what runs on real hosts, without a simulated network."""

_RUNS_MAX = 500
_DEEP = 2  # folders of variants hold folders of seeds


@dataclass(frozen=True)
class Place:
    """A run folder, and the name that the page gives it."""

    name: str
    folder: Path


def runs(roots: Sequence[Path]) -> list[Place]:
    """The runs in these folders, `host2` before `host10`; a folder without a run stands for itself."""
    names = [root.resolve().name for root in roots]
    found = []
    for root, name in zip(roots, names, strict=True):
        known = name if names.count(name) == 1 else str(root)
        below = list(islice(_below(root, _DEEP), _RUNS_MAX)) or [root]
        found += [Place("/".join((known, *each.relative_to(root).parts)), _shown(each)) for each in below]
    return found


def is_run(folder: Path) -> bool:
    """Whether the folder has a run's tables, or what a program has recorded by now."""
    return any((folder / table).is_dir() for table in TABLES) or marker(_shown(folder)) in PROGRAMS


def marker(folder: Path) -> str | None:
    """What says which program's result the folder is; of a program on real hosts before that of a run."""
    return next((each for each in (*PROGRAMS, *MARKERS) if (folder / each).is_file()), None)


def _shown(folder: Path) -> Path:
    """What a program records while it goes on, rather than the result that it is going to replace.

    What a program that was killed has recorded is shown where there is no result.
    """
    recorded = folder / PROGRESS
    if marker(recorded) not in PROGRAMS:
        return folder
    return recorded if is_going(recorded) or marker(folder) is None else folder


def problem(place: Place) -> str:
    """Why a folder is no run, in words; empty where it is one."""
    folder, name = place.folder, place.name
    if not folder.exists():
        return f"{name} is not there: it was moved or removed."
    if not folder.is_dir():
        return f"{name} is a file: a result is a folder."
    found = marker(folder)
    if found in PROGRAMS:
        return ""
    if found not in (MARKER, None):
        return f"{name} is {shown_by(found)}."
    if is_run(folder):
        return ""
    if (folder / MARKER).is_file():
        return f"{name} has no tables yet: its run has just begun, or failed before it measured anything."
    return f"{name} is not a result: it has no tables of a run."


def _below(folder: Path, deep: int) -> Iterator[Path]:
    if is_run(folder):
        yield folder
    elif deep:
        with suppress(OSError):
            subs = sorted((p for p in folder.iterdir() if p.is_dir()), key=lambda p: natural_key(p.name))
            for sub in subs:
                yield from _below(sub, deep - 1)
