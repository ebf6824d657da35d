"""The fields of a scenario, from the JSON Schema that editors read."""

from __future__ import annotations

from typing import Any, TypeAlias

from page import code, rows

from incast.lab.scenario import Scenario
from incast.schema import models

Schema: TypeAlias = "dict[str, Any]"

_SELECTOR = "[names](#names-and-patterns)"
# How an alternative is told in the file, where it is not by `kind`.
_DEFAULT_KIND = {"Buffer": "shared", "Queue": "tail-drop", "Scheduler": "fifo", "Xoff": "dynamic"}


def model(name: str) -> str:
    """A table of the fields of a model."""
    schema = models(Scenario) if name == "Scenario" else models(Scenario)["$defs"][name]
    body = []
    for field, each in schema["properties"].items():
        if field == "kind" and "const" in each:
            continue
        default = _default(each, field in schema.get("required", []))
        body.append((code(field), _about(each), _type(each), default))
    if not body:
        return "No fields.\n"
    return rows(("field", "what it is", "allowed", "default"), body)


def variants(path: str) -> str:
    """The kinds that a field (`Model.field`) takes, each with its fields."""
    owner, field = path.split(".")
    schema = models(Scenario) if owner == "Scenario" else models(Scenario)["$defs"][owner]
    each = schema["properties"][field]
    level = "###" if owner == "Scenario" else "####"
    parts = []
    for kind, name in _kinds(each.get("items") or each).items():
        about = models(Scenario)["$defs"][name].get("description", "")
        parts.append(f"{level} `kind: {kind}`\n\n{about}\n\n{model(name)}")
    return "\n" + "\n".join(parts)


def _kinds(schema: Schema) -> dict[str, str]:
    """The kinds of a tagged mapping and their models, in the models' order."""
    order = [each["$ref"] for each in schema["oneOf"]]
    mapping: dict[str, str] = schema["discriminator"]["mapping"]
    kinds = sorted(mapping, key=lambda kind: order.index(mapping[kind]))
    return {kind: mapping[kind].rpartition("/")[2] for kind in kinds}


def _about(schema: Schema) -> str:
    """The field's description, or that of what it holds where both are the same."""
    if "description" in schema or "$ref" not in schema:
        return str(schema.get("description", ""))
    return str(models(Scenario)["$defs"][schema["$ref"].rpartition("/")[2]].get("description", ""))


def _default(schema: Schema, required: bool) -> str:
    if required or "default" not in schema:
        return "**required**"
    value = schema["default"]
    if value in (None, [], {}) and value is not False:
        return "none" if "$ref" not in schema else "its defaults"
    if isinstance(value, dict):
        return f"{code('kind: ' + value['kind'])}" if "kind" in value else "its defaults"
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, float) and value.is_integer():
        return code(int(value))
    return code(value) if value != "" else "empty"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        return "one of the kinds " + ", ".join(code(kind) for kind in _kinds(schema))
    if "anyOf" in schema:
        return _any([each for each in schema["anyOf"] if each.get("type") != "null"])
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    return _plain(schema)


def _plain(schema: Schema) -> str:
    match schema.get("type"):
        case "string":
            return _text(schema)
        case "integer":
            return "whole number" + _range(schema)
        case "number":
            return "number" + _range(schema)
        case "boolean":
            return "`true`, `false`"
        case "array":
            return _list(schema)
        case "object":
            return _mapping(schema)
    return "anything"


def _list(schema: Schema) -> str:
    if schema.get("minItems") == schema.get("maxItems") == 2 and schema["items"].get("type") == "string":
        return "`[one, other]`"
    least = ", at least one" if schema.get("minItems") else ""
    return f"list of {_type(schema['items'])}{least}"


def _mapping(schema: Schema) -> str:
    of = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
    keys = "class 0–7" if "^[0-7]$" in str(schema) else "name"
    nested = not isinstance(of, dict) or not of or of.get("type") == "object"
    return f"mapping: {keys} → {'fields' if nested else _type(of)}"


def _any(options: list[Schema]) -> str:
    if len(options) == 1:
        return _type(options[0])
    if options[0].get("minLength") == 1:
        return _SELECTOR
    if options[0].get("const") == "random":
        return f"`random`, or a list of `[from, to]` ({_SELECTOR})"
    if {"type": "string", "pattern": r"\.txt$"} in options:
        named = next(each["enum"] for each in options if "enum" in each)
        size = f"{_text(options[0])}, " if "pattern" in options[0] else ""
        names = ", ".join(code(each) for each in named)
        return f"{size}{names}, a file `*.txt`, or a list of `[size, part up to it]`"
    if "pattern" in options[0]:
        return f"{_text(options[0])}, or a range `[low, high]`"
    return " or ".join(_type(each) for each in options)


def _text(schema: Schema) -> str:
    pattern = schema.get("pattern", "")
    if "|%)" in pattern:
        return "[size](units.md#size) above zero, or a share like `25%`"
    found = next((unit for mark, unit in _QUANTITIES if mark in pattern), None)
    if found and "x-within" in schema:
        return f"[{found}](units.md#{found.replace(' ', '-')}), {schema['x-within']}"
    if found:
        above = "" if any(str(e).startswith("0") for e in schema.get("examples", ["0"])) else " above zero"
        return f"[{found}](units.md#{found.replace(' ', '-')}){above}"
    if pattern.startswith("^[A-Za-z0-9_]"):
        return "letters, digits, `_`, `-`, `.`"
    return "text"


_QUANTITIES = (
    ("packets?", "queue length"),
    ("bps", "rate"),
    ("ps|ns", "time"),
    ("iB", "size"),
)


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum", schema.get("exclusiveMaximum"))
    if "exclusiveMinimum" in schema:
        above = f" above {_number(schema['exclusiveMinimum'])}"
        return above if high is None else f"{above}, up to {_number(high)}"
    if low is None:
        return ""
    return f", at least {_number(low)}" if high is None else f", {_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    if value >= 2**63:
        return f"2^{int(value).bit_length() - 1} − 1"
    return f"{int(value):,}" if float(value).is_integer() else str(value)


def _link(name: str) -> str:
    return f"[{_TITLES.get(name, name.lower())}](#{_ANCHORS.get(name, name.lower())})"


_TITLES = {
    "Tcp": "TCP settings", "FasterLink": "a link", "Link": "a link", "Host": "host settings",
    "Switch": "switch settings", "HostOverride": "overrides", "SwitchOverride": "overrides",
    "Measure": "what to record", "Framing": "framing", "Fault": "faults", "GraphLink": "links of a graph",
    "Back": "what differs", "ReplayFlow": "flows", "ShuffleCosts": "costs", "Slow": "fields",
    "LinkProbability": "fields", "LinkRate": "fields", "Flap": "fields", "Pfc": "PFC",
    "PauseStorm": "fields", "WalkLoss": "losses", "Generation": "generation", "WalkDatagrams": "datagrams",
    "WalkCosts": "costs", "WalkChange": "changes", "MineCosts": "costs", "MinePass": "passes",
    "FarmemCosts": "costs",
}  # fmt: skip
_ANCHORS = {
    "FasterLink": "links", "Link": "links", "Host": "hosts", "Switch": "switches",
    "HostOverride": "overrides", "SwitchOverride": "overrides", "Fault": "faults",
    "GraphLink": "links-of-a-graph", "Back": "links-of-a-graph", "ReplayFlow": "flows-of-a-replay",
    "ShuffleCosts": "costs-of-a-shuffle", "Slow": "slow", "LinkProbability": "loss-and-corrupt",
    "LinkRate": "rate", "PauseStorm": "pause-storm", "WalkLoss": "losses-of-a-walk",
    "Generation": "generation-of-a-walk", "WalkDatagrams": "datagrams-of-a-walk",
    "WalkCosts": "costs-of-a-walk", "WalkChange": "changes-of-a-walk",
    "MineCosts": "costs-of-mining", "MinePass": "passes-of-a-profile",
    "FarmemCosts": "costs-of-remote-memory",
}  # fmt: skip
