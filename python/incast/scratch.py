"""Folders that go when their process is gone, however it ends.

Each is locked (flock(2)) for as long as a process needs it, and the kernel releases the lock of a process
that was killed. So a folder without a lock is nobody's any more: the next that is made next to it removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import TracebackType
from typing import Self

PREFIX = "incast-scratch-"


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


def _sweep(parent: Path, prefix: str) -> None:
    """Removes what was left behind by processes that were killed."""
    for found in parent.iterdir():
        if found.name.startswith(prefix) and (lock := _locked(found)) is not None:
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
