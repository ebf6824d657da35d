"""Reads files that have to be short. A device has no size and no end, so what counts is what is read."""

from __future__ import annotations

import errno
from pathlib import Path


def read_bytes(path: Path, most: int) -> bytes:
    """The file's bytes; OSError when there are more than `most`, too."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"the file is too large: at most {most} bytes are allowed", str(path))
    return data
