"""What `--set` says: `path=value`, the value in YAML."""

from __future__ import annotations

from collections.abc import Sequence

from incast.document.merge import assign
from incast.document.node import Mark, Node
from incast.document.yaml import read_text
from incast.errors import Problem, ScenarioError
from incast.hints import shortened


def change(document: Node, changes: Sequence[str]) -> Node:
    """The document with all changes; all that can't be made are raised together."""
    problems: list[Problem] = []
    for each in changes:
        try:
            document = _set(document, each)
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return document


def _set(document: Node, change: str) -> Node:
    file = f"--set {shortened(change)}"
    path, equals, text = change.partition("=")
    if not equals or not path.strip():
        raise ScenarioError([Problem("expected path=value, like switch.buffer.alpha=4", file=file)])
    value = read_text(text, file, line=False)
    return assign(document, path.strip(), Node(value.value, Mark(file)))
