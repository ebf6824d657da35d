"""`--watch`: a command that is run again each time that a file changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from incast.bounded import read_bytes
from incast.cli import show
from incast.cli.common import told
from incast.cli.exits import Exit
from incast.document.yaml import FILE_BYTES_MAX
from incast.extras import extra

_LOOK_MS = 1000
"""A change that came while the command ran is found within this time."""


def again(file: Path, run: Callable[[], Exit], as_json: bool) -> None:
    """Runs now and after each change, until it is interrupted; also after a run that was refused."""
    with told(as_json):
        versions = _versions(file)
    for _ in versions:
        try:
            with told(as_json):
                code = int(run())
        except typer.Exit as ended:
            code = ended.exit_code
        if code == Exit.INTERRUPTED:
            raise typer.Exit(code)
        show.err.print(f"Waiting until {file} changes: Ctrl-C ends", soft_wrap=True, markup=False)


def _versions(file: Path) -> Iterator[bytes]:
    """The file's content, now and each time that it is another one; the library is loaded at once."""
    with extra("watch"):
        from watchfiles import watch

    def found() -> Iterator[bytes]:
        seen = b""
        # An editor may put a new file in the place of the old one, so the folder is watched. A look at the
        # content each second finds what changed while nobody watched.
        looks = watch(
            file.parent,
            watch_filter=lambda _, path: Path(path).name == file.name,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        while True:
            if (content := _read(file)) and content != seen:
                seen = content
                yield content
            next(looks)

    return found()


def _read(file: Path) -> bytes:
    """What is in the file; nothing while it is being replaced."""
    try:
        return read_bytes(file, FILE_BYTES_MAX)
    except (OSError, ValueError):
        return b""
