"""The fields of a study and of its claims, from their models."""

from __future__ import annotations

from typing import Any

import scenario
from page import code, rows
from pydantic import BaseModel

from incast.schema import models
from incast.study.claims import ClaimsFile
from incast.study.model import StudyFile


def study(name: str) -> str:
    """A table of the fields of a model of study.yaml."""
    return _table(StudyFile, name)


def claims(name: str) -> str:
    """A table of the fields of a model of claims.toml."""
    return _table(ClaimsFile, name)


def _table(of: type[BaseModel], name: str) -> str:
    whole = models(of)
    schema = whole if name == of.__name__ else whole["$defs"][name]
    required = schema.get("required", [])
    body = [
        (code(field), each.get("description", ""), _type(each), scenario._default(each, field in required))
        for field, each in schema["properties"].items()
    ]
    return rows(("field", "what it is", "allowed", "default"), body)


def _type(schema: dict[str, Any]) -> str:
    """What is allowed, in words."""
    if "$ref" in schema:
        return _link(schema)
    if "anyOf" in schema:
        options = [_type(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(options))
    if schema.get("type") == "array":
        count = schema.get("minItems")
        few = f"list of {count}: " if count and count == schema.get("maxItems") else "list of "
        return few + _type(schema["items"])
    if schema.get("type") == "object":
        of = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
        return f"mapping: name → {_type(of)}" if isinstance(of, dict) else "fields"
    return scenario._type(schema)


def _link(schema: dict[str, Any]) -> str:
    name = schema["$ref"].rpartition("/")[2]
    title, anchor = _SECTIONS.get(name, (name.lower(), name.lower()))
    return f"[{title}](#{anchor})"


_SECTIONS = {
    "TableFigure": ("a figure of a table", "figures-of-tables"),
    "Value": ("value", "values"),
    "Test": ("tests", "tests"),
    "Claim": ("claims", "a-claim"),
    "Parameter": ("parameters", "parameter"),
    "Bars": ("bars", "bars"),
    "Picture": ("pictures", "pictures"),
    "Image": ("images", "images"),
}
