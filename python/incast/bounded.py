"""Reads files whole, with a bound on what is read.

A device or a pipe has no size and perhaps no end, so what counts is what has been read. No other module reads
a file of people's whole (`tests/python/test_bounded.py`).
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

JSON_BYTES_MAX = 256_000_000
LINE_CHARACTERS_MAX = 1 << 20
_STREAM_BYTES_MAX = 256_000_000
"""What a device or a pipe may give: its end can't be known before, and memory has to hold it."""
_PIECE = 1 << 20
_DIGITS_MAX = 40
"""No number of ours is longer; Python itself reads up to 4,300 digits, and says how to allow more."""


def read_bytes(path: Path, most: int) -> bytes:
    """The file's bytes; OSError when there are more than `most`, too."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        most = most if stat.S_ISREG(status.st_mode) else min(most, _STREAM_BYTES_MAX)
        length = status.st_size
        if length <= most:
            # A regular file comes as one piece, so that joining copies nothing.
            pieces = [file.read(length + 1)]
            length = len(pieces[0])
            while pieces[-1] and length <= most:
                pieces.append(file.read(min(_PIECE, most + 1 - length)))
                length += len(pieces[-1])
    if length > most:
        raise OSError(errno.EFBIG, f"the file is too large: at most {most} bytes are allowed", str(path))
    return b"".join(piece for piece in pieces if piece)


def read_text(path: Path, most: int) -> str:
    """The same as UTF-8; ValueError where it is not."""
    return read_bytes(path, most).decode("utf-8")


def read_end(path: Path, most: int) -> bytes:
    """The last bytes of a regular file."""
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read(most)


def read_json(path: Path, most: int = JSON_BYTES_MAX) -> Any:
    """The value in a JSON file (RFC 8259); OSError and ValueError say why there is none."""
    data = read_bytes(path, most)
    try:
        content = json.loads(data, parse_int=_whole, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if b"\\ud" in data.lower():
        _check_pairs(content)
    return content


def lines(stream: IO[str]) -> Iterator[str]:
    """Lines with their ends; OSError where one goes on and on."""
    while line := stream.readline(LINE_CHARACTERS_MAX + 1):
        if len(line) > LINE_CHARACTERS_MAX:
            message = f"a line is too long: at most {LINE_CHARACTERS_MAX} characters are allowed"
            raise OSError(errno.EFBIG, message)
        yield line


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS_MAX:
        raise ValueError(f"a number of {len(digits)} digits: at most {_DIGITS_MAX} are allowed")
    return int(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _check_pairs(content: Any) -> None:
    """Refuses half a pair of UTF-16 as an escape: nothing could write it again (RFC 8259, section 8.2)."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half of a pair of UTF-16") from None
