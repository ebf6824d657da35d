"""From a document to a scenario, or another model: its checks, and their findings in people's words.

What needs the cluster or other files (a host that doesn't exist, a trace) is checked by `incast.lab.resolve`.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from incast.document import Loc, Node, dotted
from incast.errors import Problem, ScenarioError
from incast.hints import allowed, shortened, unknown
from incast.schema import follow
from incast.text import plural

_M = TypeVar("_M", bound=BaseModel)
_TYPES = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_type": "a text",
}

_QUOTED = {
    "bool_type": re.compile(r"true|false"),
    "float_type": re.compile(r"[-+]?[0-9]+(\.[0-9]*)?"),
    "int_type": re.compile(r"[-+]?[0-9]+"),
}
"""What YAML takes for these types where no quotes make it a text."""


def validate(document: Node, of: type[_M]) -> _M:
    """What the document describes; all problems together otherwise."""
    try:
        return of.model_validate(document.plain())
    except ValidationError as error:
        raise ScenarioError(problems(error, document, of)) from None


def problems(
    error: ValidationError,
    document: Node,
    of: type[BaseModel],
    at: Loc = (),
) -> list[Problem]:
    """What pydantic found where the document describes `of`, with the places; `at` is where it does."""
    found = []
    for detail in error.errors(include_url=False):
        detail["loc"] = tuple(step for step in detail["loc"] if not _is_option(step))
        where, schema = follow(detail["loc"], of)
        place = (*at, *where)
        mark = document.locate(place)
        message = _message(detail, schema, of)
        found.append(Problem(message, dotted(place), mark.file, mark.line))
    return found


_OPTION = re.compile(
    r"(function-\w+|dict|list|set|tuple|union|nullable|tagged-union|lax-or-strict|is-\w+)\[.*\]"
)
"""How pydantic calls an alternative of a field that takes several forms; no name of ours has a bracket."""


def _is_option(step: str | int) -> bool:
    return isinstance(step, str) and _OPTION.fullmatch(step) is not None


def _message(detail: ErrorDetails, schema: dict[str, Any], of: type[BaseModel]) -> str:
    loc, kind, value, context = detail["loc"], detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return f"is required{_about(schema)}"
    if kind == "extra_forbidden":
        _, around = follow(loc[:-1], of)
        return unknown("a field here", str(loc[-1]), around.get("properties", {}))
    if kind == "union_tag_invalid":
        return unknown("a kind", str(context["tag"]), _listed(str(context["expected_tags"])))
    if kind == "union_tag_not_found":
        return f"kind is required. Allowed: {allowed(schema['discriminator']['mapping'])}"
    if kind == "literal_error":
        return unknown("allowed", shown(value), _listed(str(context["expected"])))
    if kind == "too_short":
        least = plural(context["min_length"], "item is", "items are")
        return f"at least {least} needed, not {context['actual_length']}"
    if kind in _TYPES:
        if isinstance(value, str) and (plain := _QUOTED.get(kind)) and plain.fullmatch(value):
            return f"expected {_TYPES[kind]}, not the text '{shown(value)}': write it without quotes"
        return f"expected {_TYPES[kind]}, not {shown(value)}{_yes_no(kind, value)}"
    rule = (
        detail["msg"]
        .removeprefix("Input ")
        .replace("should be", "must be")
        .replace("should have", "must have")
    )
    return f"{shown(value)} is not allowed: {rule[0].lower()}{rule[1:]}"


def expected(detail: ErrorDetails) -> str:
    """What a value must be, as `a whole number` or `less than 3`."""
    return _TYPES.get(detail["type"]) or detail["msg"].removeprefix("Input should be ")


def _listed(text: str) -> list[str]:
    """`'a', 'b' or 'c'` as a list."""
    return [word.strip(" '") for word in text.replace(" or ", ", ").split(",")]


def _about(schema: dict[str, Any]) -> str:
    text = schema.get("description", "")
    return f" ({text.rstrip('.').lower() if text[1:2].islower() else text.rstrip('.')})" if text else ""


def _yes_no(kind: str, value: object) -> str:
    if kind == "bool_type" and value in ("yes", "no", "on", "off"):
        return f": write {'true' if value in ('yes', 'on') else 'false'}"
    return ""


def shown(value: object) -> str:
    """A value in a message, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}" if len(value) > 3 else str(value)
    if value is None:
        return "nothing"
    return shortened(value if isinstance(value, str) else repr(value))
