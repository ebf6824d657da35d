"""What all models of a scenario share: strict, immutable, no unknown fields, docstrings below fields.

A model turns itself into what the core reads (`base_units`): each field by its type, which carries a parser
(`incast.quantity`). A model whose form for the core differs otherwise says only how.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Self, TypeAlias, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)

from incast.hints import shortened, unknown
from incast.lab.quantities import InBase, Within
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
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Itself, as nothing changes it: pydantic copies what is a default for each value that has it."""
        return self

    def base_units(self) -> dict[str, Any]:
        """What the core reads: each field in base units, under the core's name."""
        return {key: convert(getattr(self, name)) for name, key, convert in _fields(type(self))}


@cache
def docstrings(of: type[Model]) -> dict[str, str]:
    """The docstrings below a model's fields, and below those that it inherits."""
    found = {}
    for each in reversed(of.mro()):
        if not issubclass(each, Model):
            continue
        for field, below in pairwise(_classes(each.__module__)[each.__name__].body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[field.target.id] = inspect.cleandoc(below.value.value)  # type: ignore
    return {name: said for name, said in found.items() if name in of.model_fields}


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """A module's classes as they are written."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@dataclass(frozen=True)
class InCore:
    """Part of a field's type: what the core calls the field."""

    name: str


_Convert: TypeAlias = "Callable[[Any], Any]"


@cache
def _fields(of: type[Model]) -> list[tuple[str, str, _Convert]]:
    """Each field of a model: its name, what the core calls it, and what turns its value into base units."""
    return [
        (name, called, _conversion(hint, f"{of.__name__}.{name}"))
        for name, (called, hint) in zip(of.model_fields, types_in_core(of).items(), strict=True)
    ]


@cache
def types_in_core(of: type[Model]) -> dict[str, Any]:
    """The types of a model's fields, by what the core calls them."""
    found = {}
    for name, field in of.model_fields.items():
        called = next((note.name for note in field.metadata if isinstance(note, InCore)), name)
        found[called] = field.rebuild_annotation()
    return found


def _conversion(hint: Any, where: str) -> _Convert:
    """What turns a value of this type into base units."""
    for note in getattr(hint, "__metadata__", ()):
        if isinstance(note, InBase):
            return note.parse
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _conversion(parts[0], where)
    if origin is list and (each := _conversion(parts[0], where)) is not _plain:
        return lambda values: [each(value) for value in values]
    if origin in (Union, UnionType):
        found = [_conversion(part, where) for part in parts if part is not NoneType]
        if len(found) == 1:
            return lambda value: None if value is None else found[0](value)
        if any(convert is not _plain for convert in found):
            raise TypeError(f"{where}: its type takes quantities in several forms, so it needs an InBase")
    return _plain


def _plain(value: Any) -> Any:
    """Parts that are models in base units; a value without a unit as it is."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.base_units() if isinstance(value, Model) else value


def _require_kind(schema: dict[str, Any]) -> None:
    schema["required"] = ["kind", *schema.get("required", [])]


class Kind(Model):
    """A part whose `kind` has to be said."""

    model_config = ConfigDict(json_schema_extra=_require_kind)


class Override(Model):
    """What is different on some nodes; the fields other than `match` are laid over the whole."""

    model_config = ConfigDict(extra="allow")

    match: str

    def changes(self) -> dict[str, Any]:
        """The fields that differ."""
        return dict(self.model_extra or {})


Written = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
]
"""A text, or a whole number, which is as good without quotes."""


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


def mtu_from(least: str) -> Within:
    """An MTU of at least so many bytes; IPv4's length field bounds it above."""
    return Within(parse_bytes, least=least, most="65535B")


Probability = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
