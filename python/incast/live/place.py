"""Where members of a run are: how they are started there, and how files get to them and back.

Not here: a cluster (`cluster`), and what members do with their files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from incast.errors import RunError, why
from incast.live.launch import Child, Start, start_here
from incast.scratch import Scratch

Write = Callable[[IO[bytes]], None]
"""Writes a file's content."""


class Place(Protocol):
    """Where members are. A context: what it needs is gone at its end."""

    ip: str
    """Where members reach the launcher."""
    patience_s: float
    """A member that is silent for longer has failed."""
    farewell_s: float
    """A member that has reported has this long to end, and to hand over its files."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def folder(self, host: int) -> str:
        """A member's folder, as the member itself names it."""
        ...

    def give(self, host: int, name: str, write: Write) -> None:
        """Puts a file into a member's folder, before it is started and whenever it is restarted."""
        ...

    def start(self, host: int, address: tuple[str, int], key: bytes) -> Child:
        """Starts a member, as `Launch` wants it."""
        ...

    def take(self, host: int, name: str) -> IO[bytes]:
        """A file that a member has left when it ended; of one whose name begins with a dot, what there is.

        The latter only from this machine. Raises `OSError` or `RunError` when it is not there.
        """
        ...


class Here:
    """On this machine: a process and a temporary folder a member."""

    ip = "127.0.0.1"
    patience_s = 30.0
    farewell_s = 5.0

    def __init__(self, start: Start = start_here) -> None:
        self.start = start

    def __enter__(self) -> Self:
        self._root = Scratch()
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    def folder(self, host: int) -> str:
        """A member's folder."""
        folder = self._root.path / str(host)
        folder.mkdir(exist_ok=True)
        return str(folder)

    def give(self, host: int, name: str, write: Write) -> None:
        """Puts a file into a member's folder."""
        file = Path(self.folder(host)) / name
        try:
            with file.open("wb") as opened:
                write(opened)
        except OSError as error:
            raise RunError(f"{file} can't be written: {why(error)}") from error

    def take(self, host: int, name: str) -> IO[bytes]:
        """A file that a member has left."""
        return (Path(self.folder(host)) / name).open("rb")
