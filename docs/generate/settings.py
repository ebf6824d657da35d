"""The settings of servers of walks by path, as `--set` names them."""

from __future__ import annotations

from typing import Any

import scenario
from page import code, rows

from incast.schema import models
from incast.walks.settings import ServerSettings


def settings() -> str:
    """Path, meaning and default of each."""
    return rows(("path", "what it is", "default"), _fields(models(ServerSettings), ""))


def _fields(part: dict[str, Any], before: str) -> list[tuple[str, str, str]]:
    found = []
    for name, each in part["properties"].items():
        inside = [other["$ref"] for other in each.get("oneOf", [each]) if "$ref" in other]
        if inside and "oneOf" in each:
            kinds = ", ".join(code(kind) for kind in scenario._kinds(each))
            kind = code(each["default"]["kind"])
            found.append((code(f"{before}{name}.kind"), f"{each['description']} Kinds: {kinds}.", kind))
        for other in inside:
            model = models(ServerSettings)["$defs"][other.rpartition("/")[2]]
            found += _fields(model, f"{before}{name}.")
        if not inside and "const" not in each:
            path, default = code(before + name), scenario._default(each, required=False)
            found.append((path, each["description"], default))
    return found
