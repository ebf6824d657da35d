"""What all models of a scenario share: strict, immutable, no unknown fields, docstrings as descriptions."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)

from incast.hints import shortened, unknown
from incast.quantity import parse_bytes


class Model(BaseModel):
    """A part of a scenario."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_default=True,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
    )


def _require_kind(schema: dict[str, Any]) -> None:
    schema["required"] = ["kind", *schema.get("required", [])]


class Kind(Model):
    """A part whose `kind` has to be said."""

    model_config = ConfigDict(json_schema_extra=_require_kind)


class Override(Model):
    """What is different on some nodes; the fields beside `match` are laid over the whole."""

    model_config = ConfigDict(extra="allow")

    match: str

    def changes(self) -> dict[str, Any]:
        """The fields that differ."""
        return dict(self.model_extra or {})


def default_kind(kind: str) -> BeforeValidator:
    """Mappings without a `kind` are of this one."""

    def fill(value: object) -> object:
        return {"kind": kind, **value} if isinstance(value, dict) and "kind" not in value else value

    return BeforeValidator(fill)


def _traffic_class(value: object) -> int:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 7:
        raise ValueError(f"{value!r} is not a traffic class: allowed are 0 to 7")
    return value


_CLASS_JSON = {"type": "integer", "minimum": 0, "maximum": 7}

TrafficClass = Annotated[int, PlainValidator(_traffic_class), WithJsonSchema(_CLASS_JSON)]
ClassKey = Annotated[int, PlainValidator(_traffic_class), WithJsonSchema({"pattern": "^[0-7]$"})]

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"


def check_name(value: object) -> str:
    """The name, where it can be part of a port's and of a file's name."""
    if not isinstance(value, str):
        raise ValueError(f"expected a name in quotes, not {value!r}")
    if not re.fullmatch(_NAME, value):
        raise ValueError(
            f"{shortened(value)!r} is not a name: allowed are letters, digits, _, -, . (not first - or .), "
            "at most 100"
        )
    return value


Name = Annotated[
    str,
    PlainValidator(check_name),
    WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"}),
]
"""A name that can be part of a file's name."""


def _selector(value: object) -> str | list[str]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) and item for item in value):
        return value
    raise ValueError("expected a name, a pattern like 'leaf*' or 'host[0-7]', or a list of them")


Selector = Annotated[
    str | list[str],
    PlainValidator(_selector),
    WithJsonSchema(
        {
            "description": "A name, a pattern (`*` is any text, `host[0-7,9]` a range), or a list of them",
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            ],
        }
    ),
]
"""Which hosts or switches."""


def _ends(value: object) -> list[str]:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, str) for end in value):
        return value
    raise ValueError("expected the two ends of a link, like [leaf0, spine1]")


_PAIR_JSON = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}

Ends = Annotated[
    list[str],
    PlainValidator(_ends),
    WithJsonSchema({**_PAIR_JSON, "description": "The two ends of a link"}),
]


def _pairs(value: object) -> str | list[list[str]]:
    if isinstance(value, str):
        if value == "random":
            return value
        raise ValueError(unknown("a way to pair hosts", value, ["random"]) + ", or a list of [from, to]")
    if not isinstance(value, list) or not value:
        raise ValueError("expected 'random' or a list of [from, to] with at least one entry")
    for pair in value:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) for end in pair)):
            raise ValueError(f"{pair!r} is not a pair: expected [from, to]")
    return value


Pairs = Annotated[
    str | list[list[str]],
    PlainValidator(_pairs),
    WithJsonSchema(
        {
            "description": "`random` (each host sends to one other, drawn from the seed) or [from, to] pairs",
            "anyOf": [{"const": "random"}, {"type": "array", "items": _PAIR_JSON, "minItems": 1}],
        }
    ),
]


def mtu_from(least: int) -> AfterValidator:
    """An MTU of at least so many bytes; IPv4's length field bounds it above."""

    def check(mtu: str) -> str:
        if not least <= parse_bytes(mtu) <= 65_535:
            raise ValueError(f"{mtu!r} is not an MTU: allowed are {least}B to 65535B")
        return mtu

    return AfterValidator(check)


Probability = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
