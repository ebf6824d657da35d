"""The core's scenario with its quantities as people read them: the models' fields say which they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias, get_args

from incast import text
from incast.lab.base import Model, types_in_core
from incast.lab.quantities import InBase
from incast.quantity import parse_bytes, parse_depth, parse_rate, parse_span, parse_time

_FORMS: dict[Callable[..., Any], Callable[[float], str]] = {
    parse_time: text.time,
    parse_span: text.time,
    parse_bytes: text.size,
    parse_depth: text.size,
    parse_rate: text.rate,
}
_Parts: TypeAlias = "tuple[InBase | type[Model], ...]"
"""What a type is made of: quantities, and models."""


def told(value: Any, parts: _Parts) -> Any:
    """A value from the core's scenario; `parts` are what its type is made of."""
    if parts and isinstance(parts[0], InBase):
        return _formed(value, _FORMS.get(parts[0].parse))
    if isinstance(value, list):
        return [told(each, parts) for each in value]
    if not isinstance(value, dict):
        return value
    kind = str(value.get("kind"))
    # A change of a fault is of the kind of its field.
    fitting = tuple(each for each in parts if _kind(each) == kind) or _parts_of(parts, kind)
    return {key: told(inner, _parts_of(fitting, key)) for key, inner in value.items()}


def _kind(part: InBase | type[Model]) -> str:
    field = None if isinstance(part, InBase) else part.model_fields.get("kind")
    return str(field.default) if field else ""


@cache
def _parts_of(parts: _Parts, key: str) -> _Parts:
    """Of the field that the core calls so; the same where no model has it, as `config` of a rule."""
    types = (types_in_core(each) for each in parts if isinstance(each, type))
    return next((tuple(_inside(each[key])) for each in types if key in each), parts)


def _inside(hint: Any) -> Iterator[InBase | type[Model]]:
    notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, InBase)]
    if notes or (isinstance(hint, type) and issubclass(hint, Model)):
        yield notes[0] if notes else hint
        return
    for part in get_args(hint):
        yield from _inside(part)


def _formed(value: Any, form: Callable[[float], str] | None) -> Any:
    """All numbers of a quantity, but for a length in packets."""
    if isinstance(value, dict):
        return {key: inner if key == "packets" else _formed(inner, form) for key, inner in value.items()}
    if isinstance(value, list):
        return [_formed(each, form) for each in value]
    return form(value) if form and isinstance(value, int) and not isinstance(value, bool) else value
