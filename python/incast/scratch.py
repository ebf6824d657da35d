"""Folders that go when their process is gone, however it ends.

Each is locked (flock(2)) for as long as a process needs it, and the kernel releases the lock of a process
that was killed. So a folder without a lock is nobody's any more: the next that is made next to it removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import TracebackType
from typing import Self

from incast.errors import RunError

PREFIX = "incast-scratch-"
KEPT = "incast-kept-"
KEPT_S = 3600.0
"""The next life of a process that was killed begins before that."""
SWEPT_S = 5.0
"""Another process that sweeps holds a folder's lock for a moment, never for so long."""
LEFT = ".left"
"""A mark in a folder that was found without a lock; its age says since when."""


class Scratch:
    """An empty folder of this user's own, until it is closed. A process that inherits `lock` needs it too."""

    def __init__(self, beside: Path | None = None, prefix: str = PREFIX) -> None:
        """In the folder for temporary files, or next to a file, on the same disk."""
        parent = Path(gettempdir()) if beside is None else beside
        _sweep(parent, prefix)
        while True:
            self.path = Path(mkdtemp(prefix=prefix, dir=parent))
            # Another process that sweeps may have removed it first.
            if (lock := _locked(self.path)) is not None:
                self.lock = lock
                return

    def close(self) -> None:
        """Removes it, with what is in it."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)
            self.lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def kept(name: str) -> Iterator[Path]:
    """A folder of this user's own, with the same name in each life of a process.

    A life that fails or is killed leaves it to the next; if none comes within an hour, it goes as others do.
    """
    parent = Path(gettempdir())
    _sweep(parent, KEPT, _is_given_up)
    path = parent / f"{KEPT}{name}"
    path.mkdir(mode=0o700, exist_ok=True)
    end = time.monotonic() + SWEPT_S
    while (lock := _locked(path)) is None and time.monotonic() < end:
        time.sleep(0.01)
    if lock is None:
        raise RunError(f"{path}: another process works there, or it is another user's")
    try:
        (path / LEFT).unlink(missing_ok=True)
        yield path
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _is_given_up(folder: Path) -> bool:
    """Whether an unlocked folder has waited too long for the next life."""
    mark = folder / LEFT
    if mark.exists():
        return time.time() - mark.stat().st_mtime > KEPT_S
    mark.touch()
    return False


def _sweep(parent: Path, prefix: str, is_given_up: Callable[[Path], bool] = lambda _: True) -> None:
    """Removes what was left behind by processes that were killed."""
    for found in parent.iterdir():
        if found.name.startswith(prefix) and (lock := _locked(found)) is not None:
            if is_given_up(found):
                shutil.rmtree(found, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """The lock of a folder of this user's that is there and that nobody else has locked."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        there = folder.stat(follow_symlinks=False)
        if os.path.samestat(there, os.fstat(lock)) and there.st_uid == os.getuid():
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
