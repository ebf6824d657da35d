"""Laying one document over another: choices, overrides for single switches and hosts, and `--set`."""

from __future__ import annotations

from incast.document.node import Loc, Mark, Node, dotted
from incast.errors import Problem, ScenarioError
from incast.hints import unknown

DEPTH_MAX = 40
"""Fields of a dotted path at most, as deep as a document may be nested."""


def merge(base: Node, over: Node, at: Loc = ()) -> Node:
    """`over` laid on `base`, which is found at `at`.

    Mappings merge entry by entry; a mapping of another `kind` replaces the whole. A mapping over a list
    changes the entries that it names, by their `name` or position. Anything else replaces.
    """
    if not isinstance(over.value, dict):
        return over
    if isinstance(base.value, dict) and not _other_kind(base.value, over.value):
        entries = dict(base.value)
        for key, node in over.value.items():
            entries[key] = merge(entries[key], node, (*at, key)) if key in entries else node
        return Node(entries, base.mark)
    if isinstance(base.value, list):
        items = list(base.value)
        for key, node in over.value.items():
            index = _position(base.value, key, node.mark, at)
            items[index] = merge(items[index], node, (*at, index))
        return Node(items, base.mark)
    return over


def assign(base: Node, path: str, value: Node) -> Node:
    """`base` with the field at the dotted `path` set to `value`."""
    steps = path.split(".")
    if len(steps) > DEPTH_MAX:
        message = f"a path of {len(steps)} fields: at most {DEPTH_MAX} are allowed"
        raise ScenarioError([Problem(message, file=value.mark.file, line=value.mark.line)])
    for step in reversed(steps):
        value = Node({step: value}, value.mark)
    return merge(base, value)


def lay_over(base: Node, fields: dict[str, Node]) -> Node:
    """`base` with fields laid on it whose names may be dotted paths."""
    for key, value in fields.items():
        base = assign(base, key, value) if "." in key else merge(base, Node({key: value}, value.mark))
    return base


def _other_kind(base: dict[str, Node], over: dict[str, Node]) -> bool:
    return "kind" in over and "kind" in base and over["kind"].value != base["kind"].value


def _position(items: list[Node], key: str, mark: Mark, at: Loc) -> int:
    names = [str(name.value) if (name := item.child("name")) else str(i) for i, item in enumerate(items)]
    if key in names:
        return names.index(key)
    if key.isdecimal() and int(key) < len(items):
        return int(key)
    message = unknown("an entry of this list", key, names)
    raise ScenarioError([Problem(message, dotted((*at, key)), mark.file, mark.line)])
