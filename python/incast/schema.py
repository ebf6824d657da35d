"""The JSON Schema of a scenario, for editors, and the way from an error's place to the field's schema.

Made from the models. Overrides and choices are laid over a whole, so their schema is the whole's with
nothing required. Source: JSON Schema 2020-12.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from incast.document import Loc
from incast.lab.base import Model, docstrings

Schema: TypeAlias = "dict[str, Any]"

_PARTIAL = "Partial"
_MODEL = "x-model"


class _Described(GenerateJsonSchema):
    """With each field's docstring, for which the sources are read."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """A model's."""
        found, of = super().model_schema(schema), schema["cls"]
        for name, said in _said(of).items():
            found["properties"][name]["description"] = said
        return found


class _Forms(GenerateJsonSchema):
    """With each model instead, which has the docstrings: most are not asked for."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """A model's."""
        return super().model_schema(schema) | {_MODEL: schema["cls"]}


def _said(of: type) -> Mapping[str, str]:
    """What is said of each field, by its name in a document."""
    if not issubclass(of, Model):
        return {}
    return {of.model_fields[name].alias or name: said for name, said in docstrings(of).items()}


@cache
def models(of: type[BaseModel]) -> Schema:
    """The schema as a model gives it."""
    return of.model_json_schema(schema_generator=_Described)


@cache
def _forms(of: type[BaseModel]) -> Schema:
    return of.model_json_schema(schema_generator=_Forms)


def published(scenario: type[BaseModel]) -> Schema:
    """The schema of a scenario that editors read."""
    schema = copy.deepcopy(models(scenario))
    defs: Schema = schema["$defs"]
    partial = {_PARTIAL + name: _partial(each) for name, each in defs.items()}
    partial[_PARTIAL + "Scenario"] = _partial({k: v for k, v in schema.items() if k != "$defs"})
    defs |= partial
    for name in ("SwitchOverride", "HostOverride"):
        defs[name] = _override(defs[name], defs)
    choice = {"$ref": f"#/$defs/{_PARTIAL}Scenario"}
    names = schema["properties"]["choices"]["patternProperties"]
    schema["properties"]["choices"]["patternProperties"] = dict.fromkeys(names, choice)
    # Choices may use dotted paths as keys.
    defs[_PARTIAL + "Scenario"] |= {"additionalProperties": False, "patternProperties": {r"\.": {}}}
    defs[_PARTIAL + "Scenario"]["properties"].pop("choices")
    _tidy(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "incast scenario"}
    return head | {key: value for key, value in schema.items() if key != "title"}


def _override(schema: Schema, defs: Schema) -> Schema:
    whole = defs[_PARTIAL + schema.pop("x-partial")]
    properties = schema["properties"] | whole["properties"]
    return schema | {"properties": properties, "additionalProperties": False}


def _partial(schema: Any) -> Any:
    """The same with nothing required and every reference to a partial."""
    if isinstance(schema, list):
        return [_partial(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for key, value in schema.items():
        if key == "$ref":
            changed[key] = value.replace("#/$defs/", f"#/$defs/{_PARTIAL}")
        elif key in ("default", "required", "discriminator"):
            continue
        elif key == "properties":
            changed[key] = {name: _partial(each) for name, each in value.items()}
        else:
            changed[key] = _partial(value)
    if schema.get("type") == "array" and "$ref" in schema.get("items", {}) | _first(schema):
        # A mapping over a list changes the entries that it names.
        item = changed.pop("items")
        rest = {key: changed.pop(key) for key in ("type", "minItems") if key in changed}
        whole = {**rest, "items": schema["items"]}
        changed["anyOf"] = [whole, {"type": "object", "additionalProperties": item}]
    return changed


def _first(schema: Schema) -> Schema:
    options = schema.get("items", {}).get("oneOf") or [{}]
    first: Schema = options[0]
    return first


def _tidy(schema: Any) -> None:
    """`kind` has defaults, so that several alternatives may hold; keys have to match their pattern."""
    if isinstance(schema, dict):
        if "patternProperties" in schema:
            schema["additionalProperties"] = False
        if "oneOf" in schema:
            schema["anyOf"] = schema.pop("oneOf")
        schema.pop("discriminator", None)
        schema.pop("x-within", None)  # For the manual: no keyword bounds a quantity in text.
        for value in schema.values():
            _tidy(value)
    elif isinstance(schema, list):
        for value in schema:
            _tidy(value)


def follow(loc: Loc, of: type[BaseModel]) -> tuple[Loc, Schema]:
    """A place in pydantic's terms as a place in the document, and the schema that holds there.

    Pydantic puts the kind of a tagged mapping into the place, and `[key]` behind a bad key.
    """
    schema: Schema = _forms(of)
    place: list[str | int] = []
    for step in loc:
        schema = _without_null(_resolved(schema, of), of)
        if step == "[key]":
            break
        if tagged := schema.get("discriminator"):
            schema = _resolved({"$ref": tagged["mapping"].get(step, "#")}, of)
            if step in tagged["mapping"]:
                continue
        place.append(step)
        schema = schema.get("items", {}) if isinstance(step, int) else _entry(schema, step)
    return tuple(place), _without_null(_resolved(schema, of), of)


def _entry(schema: Schema, name: str) -> Schema:
    if name in schema.get("properties", {}):
        said = _said(schema[_MODEL]).get(name) if _MODEL in schema else None
        found: Schema = schema["properties"][name]
        return found | ({"description": said} if said else {})
    others = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    return next((each for each in others if isinstance(each, dict)), {})


def _resolved(schema: Schema, of: type[BaseModel]) -> Schema:
    while "$ref" in schema:
        *_, name = schema["$ref"].split("/")
        schema = _forms(of) if name == "#" else _forms(of)["$defs"][name]
    return schema


def _without_null(schema: Schema, of: type[BaseModel]) -> Schema:
    """The value's own schema where it may also be left out."""
    options = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if len(options) == 1 and len(options) < len(schema["anyOf"]):
        return _resolved(options[0], of)
    return schema
