"""Values that know where they were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Loc: TypeAlias = "tuple[str | int, ...]"
"""The way to a value: field names and positions in lists."""

Scalar: TypeAlias = "str | int | float | bool | None"
Value: TypeAlias = "Scalar | dict[str, Node] | list[Node]"


@dataclass(frozen=True, slots=True)
class Mark:
    """Where something was written."""

    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its mark; for a mapping's entry, the mark of its key."""

    value: Value
    mark: Mark

    def plain(self) -> object:
        """The value without marks."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def child(self, step: str | int) -> Node | None:
        """The entry of that name or position."""
        if isinstance(self.value, dict):
            return self.value.get(str(step))
        if isinstance(self.value, list) and isinstance(step, int) and 0 <= step < len(self.value):
            return self.value[step]
        return None

    def locate(self, loc: Loc) -> Mark:
        """The mark of the value at `loc`, or of the nearest one around it."""
        node = self
        for step in loc:
            inner = node.child(step)
            if inner is None:
                break
            node = inner
        return node.mark

    @staticmethod
    def of(value: object, mark: Mark | None = None) -> Node:
        """Plain data as a node, all of it at the same mark."""
        mark = mark or Mark()
        if isinstance(value, dict):
            return Node({str(key): Node.of(inner, mark) for key, inner in value.items()}, mark)
        if isinstance(value, list | tuple):
            return Node([Node.of(inner, mark) for inner in value], mark)
        if value is None or isinstance(value, str | int | float | bool):
            return Node(value, mark)
        raise TypeError(f"not plain data: {type(value).__name__}")


def dotted(loc: Loc) -> str:
    """`("jobs", 0, "size")` as `jobs[0].size`."""
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
