"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *body]
    return "".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |\n" for line in lines)


def code(text: object) -> str:
    """Text as code, fit for a table's cell."""
    return "`" + str(text).replace("|", "\\|") + "`"
