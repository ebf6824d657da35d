"""Types of fields whose values are quantities with a unit, and what each is in the JSON Schema.

A model keeps the text, so that a scenario reads back as it was written; `incast.lab` turns it into integers
in base units, by the parser that each type carries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from incast.quantity import above_min, parse_bytes, parse_depth, parse_rate, parse_span, parse_time

__all__ = [
    "SIZE_SCHEMA",
    "Depth",
    "InBase",
    "PositiveSize",
    "PositiveTime",
    "Rate",
    "RtoMax",
    "Size",
    "Span",
    "Time",
    "Within",
]


@dataclass(frozen=True)
class InBase:
    """Part of a field's type: what turns its value into what the core reads."""

    parse: Callable[[Any], Any]


@dataclass(frozen=True)
class Within:
    """Part of a quantity's type: the least and the most that are allowed, for its check and the manual."""

    parse: Callable[[str], int]
    most: str
    least: str = ""

    @property
    def said(self) -> str:
        """Both in words."""
        return f"{self.least} to {self.most}" if self.least else f"at most {self.most}"

    def check(self, text: str) -> str:
        """The text, whose quantity is within."""
        if not (self.parse(self.least) if self.least else 0) <= self.parse(text) <= self.parse(self.most):
            raise ValueError(f"{text!r} is not allowed: it must be {self.said}")
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | {"x-within": self.said}


_TIME_UNITS = "ps|ns|us|[\u00b5\u03bc]s|ms|s|min|h"
_RATE_UNITS = "bps|[kKMGT]bps|b/s|[kMG]b/s|Bps|[kMG]Bps|B/s|[kMG]B/s"
_SIZE_UNITS = "B|[kKMGT]B|[KMGT]iB"


def _text(value: object) -> str:
    """`value` where it is text or a number, which the parser then refuses for want of a unit."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"expected text with a number and a unit, not {_kind(value)}")


def _kind(value: object) -> str:
    names = {bool: "true or false", list: "a list", dict: "a mapping", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _checked(parse: Callable[[str], int], least: int) -> Callable[[object], str]:
    def check(value: object) -> str:
        text = _text(value)
        if parse(text) < least:
            limit = "above zero" if least == 1 else "at least 1kbps"
            raise ValueError(f"{text!r} is not allowed: it must be {limit}")
        return text

    return check


def _pattern(units: str) -> str:
    return rf"^ *([0-9]+\.?[0-9]*|\.[0-9]+) *({units}) *$"


def _schema(units: str, what: str, *examples: str) -> WithJsonSchema:
    text = f"{what}: a number and a unit, like {examples[0]}"
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": _pattern(units),
            "description": text,
            "examples": list(examples),
        }
    )


Rate = Annotated[
    str,
    PlainValidator(_checked(parse_rate, 1000)),
    _schema(_RATE_UNITS, "A data rate", "25Gbps", "500MB/s"),
    InBase(parse_rate),
]
Time = Annotated[
    str,
    PlainValidator(_checked(parse_time, 0)),
    _schema(_TIME_UNITS, "A time", "10us", "0s"),
    InBase(parse_time),
]
PositiveTime = Annotated[
    str,
    PlainValidator(_checked(parse_time, 1)),
    _schema(_TIME_UNITS, "A time above zero", "100us"),
    InBase(parse_time),
]
SIZE_SCHEMA = _schema(_SIZE_UNITS, "A size", "32MB", "0B")
Size = Annotated[
    str,
    PlainValidator(_checked(parse_bytes, 0)),
    SIZE_SCHEMA,
    InBase(parse_bytes),
]
PositiveSize = Annotated[
    str,
    PlainValidator(_checked(parse_bytes, 1)),
    _schema(_SIZE_UNITS, "A size above zero", "32MB", "64KiB"),
    InBase(parse_bytes),
]


def _depth(value: object) -> str:
    text = _text(value)
    try:
        (length,) = parse_depth(text).values()
    except ValueError as error:
        raise ValueError(f"{error}; or in packets, like '65 packets'") from None
    if length == 0:
        raise ValueError(f"{text!r} is not allowed: it must be above zero")
    return text


Depth = Annotated[
    str,
    PlainValidator(_depth),
    _schema(f"{_SIZE_UNITS}|packets?", "A queue length in bytes or packets", "200kB", "65 packets"),
    InBase(parse_depth),
]


def _span(value: object) -> str | list[str]:
    check = _checked(parse_time, 1)
    if not isinstance(value, list):
        return check(value)
    if len(value) != 2:
        raise ValueError(f"a range has two ends, like [200ms, 300ms], not {len(value)}")
    low, high = (check(end) for end in value)
    if parse_time(low) > parse_time(high):
        raise ValueError(f"the range begins at {low}, above its end {high}")
    return [low, high]


def _rto_max(value: object) -> str | list[str]:
    more = above_min(value) if isinstance(value, str) else None
    if isinstance(value, str) and more is not None:
        parse_time(more)
        return value
    try:
        return _span(value)
    except ValueError as error:
        raise ValueError(f"{error}; or so much above rto_min, like 'min + 100ms'") from None


_TIME_JSON = {"type": "string", "pattern": _pattern(_TIME_UNITS)}
Span = Annotated[
    str | list[str],
    PlainValidator(_span),
    WithJsonSchema(
        {
            "description": "A time like 200ms, or [low, high]: drawn once for each host",
            "anyOf": [_TIME_JSON, {"type": "array", "items": _TIME_JSON, "minItems": 2, "maxItems": 2}],
        }
    ),
    InBase(parse_span),
]
RtoMax = Annotated[
    str | list[str],
    PlainValidator(_rto_max),
    WithJsonSchema(
        {
            "description": "A time like 60s, [low, high]: drawn once for each host, or `min + 100ms`",
            "anyOf": [
                _TIME_JSON,
                {
                    "type": "string",
                    "pattern": rf"^ *min *(\+ *([0-9]+\.?[0-9]*|\.[0-9]+) *({_TIME_UNITS}) *)?$",
                },
                {"type": "array", "items": _TIME_JSON, "minItems": 2, "maxItems": 2},
            ],
        }
    ),
    InBase(parse_span),
]
