"""What a distance to memory is as latency (document 004, slide 12): light goes 200 m/µs in fibre.

A request goes there and its answer comes back: latency = fixed + 2 · (distance / 200 m/µs + switches). So
5 µs reach 400 m where 1 µs is fixed, the document's rule.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema

__all__ = ["PS_A_MM", "Length", "format_length", "latency", "parse_length", "reach"]

PS_A_MM = 5
"""Picoseconds that a millimetre takes, one way."""
_UNITS = {"mm": 1, "cm": 10, "m": 1000, "km": 1_000_000}
_LENGTH = re.compile(r" *([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(mm|cm|m|km) *")
_LONGEST = 40_000_000_000


def parse_length(text: str) -> int:
    """A length in millimetres."""
    found = _LENGTH.fullmatch(text)
    if not found:
        raise ValueError(
            f"{text!r} is not a length: a number and a unit (mm, cm, m, km) is expected, like 400m"
        )
    length = round(float(found[1]) * _UNITS[found[2]])
    if length > _LONGEST:
        raise ValueError(f"{text!r} is too far: at most 40000km are allowed")
    return length


def format_length(mm: int) -> str:
    """As people read it."""
    return f"{mm / 1e6:g} km" if mm >= 1_000_000 else f"{mm / 1e3:g} m"


def latency(distance: int, hops: int, fixed: int, hop: int) -> int:
    """Picoseconds of a request over millimetres and switches, there and back; `hop` is one switch, once."""
    return fixed + 2 * (distance * PS_A_MM + hops * hop)


def reach(allowed: int, fixed: int) -> int | None:
    """How far memory may be, in millimetres, without switches; none where `fixed` is too much already."""
    return (allowed - fixed) // (2 * PS_A_MM) if allowed >= fixed else None


def _length(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text with a number and a unit, like 400m")
    parse_length(value)
    return value


Length = Annotated[
    str,
    PlainValidator(_length),
    WithJsonSchema(
        {"type": "string", "description": "A length: a number and a unit", "examples": ["400m", "2km"]}
    ),
]
