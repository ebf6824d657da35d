"""Text that a terminal shows and does not act on, whatever its encoding.

Names come from files of others. A control character in one could move the cursor, hide lines or change the
title of the window; direction marks could turn the order of what is read. They are shown as escapes.
"""

from __future__ import annotations

import io
import re
import sys

__all__ = ["plain", "plain_json", "plain_line", "take_any_text", "writes_unicode"]

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks of direction, ends of lines, halves of pairs."""


def plain(text: str) -> str:
    """The text, with an escape for whatever a terminal would act on."""
    return _ACTING.sub(lambda found: repr(found[0])[1:-1], text)


def plain_line(text: str) -> str:
    """The same for text of one line: a name with an end of line can't begin another."""
    return plain(text).replace("\n", "\\n")


def plain_json(text: str) -> str:
    """The same for text that is JSON, which stays JSON of the same values."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def writes_unicode() -> bool:
    """Whether standard output can say everything."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def take_any_text() -> None:
    """Lets streams of a narrow encoding, as of an ASCII terminal, show what they can't say as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
