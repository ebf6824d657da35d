"""Quantities as people write them: text with a unit, checked by the `units` crate through the core.

A bare number is refused: nobody can see whether 25 is bits, bytes or gigabits. The types of fields are in
`incast.lab.quantities`.
"""

from __future__ import annotations

import re
from typing import Any

from incast._core import format_bytes, format_rate, format_time, parse_bytes, parse_rate, parse_time
from incast.hints import shortened

__all__ = [
    "RUN_MAX",
    "SIZE_MAX",
    "TIME_MAX",
    "above_min",
    "format_bytes",
    "format_rate",
    "format_time",
    "parse_bytes",
    "parse_depth",
    "parse_rate",
    "parse_share",
    "parse_span",
    "parse_time",
    "parse_whole",
]

TIME_MAX = SIZE_MAX = 2**64 - 1
"""The longest time in picoseconds, the largest size in bytes."""
RUN_MAX = 2**63
"""The latest time of any run, in picoseconds (`units::Time::LONGEST_RUN`): 106 days."""
_DIGITS_MAX = 40
_PACKETS = re.compile(r"([0-9]+) *packets?")
_SHARE = re.compile(r" *([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *% *")


def parse_whole(text: str, most: int = 2**63 - 1) -> int | None:
    """The whole number, 0 to `most`, that digits say, be they thousands; None for all else."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
        return None
    return number if (number := int(text)) <= most else None


def parse_share(text: str) -> float | None:
    """The part that `25%` is; None for what is not written so."""
    if not (found := _SHARE.fullmatch(text)):
        return None
    if not 0 < float(found[1]) <= 100:
        raise ValueError("a share above 0% and at most 100% is allowed, or a size like 200MB")
    return float(found[1]) / 100


def parse_depth(text: str) -> dict[str, int]:
    """A queue length in bytes or packets, as the core reads it."""
    if packets := _PACKETS.fullmatch(text.strip()):
        if (number := parse_whole(packets[1])) is None:
            raise ValueError(f"{shortened(text)!r} is too many")
        return {"packets": number}
    return {"bytes": parse_bytes(text)}


_ABOVE_MIN = re.compile(r" *min *(?:\+ *(\S.*))?")


def above_min(text: str) -> str | None:
    """The time that is added to the least of something in `min + time`; None for what is not written so."""
    found = _ABOVE_MIN.fullmatch(text)
    return (found[1] or "0s") if found else None


def parse_span(span: str | list[str]) -> dict[str, Any]:
    """One time, the two ends of a range to draw from, or what is added to the least, as the core reads it."""
    if isinstance(span, str):
        if (more := above_min(span)) is not None:
            return {"above-min": parse_time(more)}
        return {"fixed": parse_time(span)}
    low, high = span
    return {"uniform": [parse_time(low), parse_time(high)]}
