"""Collects what is wrong, so that all of it can be said at once."""

from __future__ import annotations

from collections.abc import Sequence

from incast.document import Loc, Node, dotted
from incast.errors import Problem, ScenarioError


class Findings:
    """Problems of one document."""

    def __init__(self, document: Node) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def add(self, loc: Loc, message: str) -> None:
        """Notes what is wrong with the field at `loc`."""
        mark = self.document.locate(loc)
        self.problems.append(Problem(message, dotted(loc), mark.file, mark.line))

    def add_in(self, loc: Loc, message: str, file: str, line: int | None = None) -> None:
        """Notes what is wrong in another file, which the field at `loc` names."""
        self.problems.append(Problem(message, dotted(loc), file, line))

    def extend(self, problems: Sequence[Problem]) -> None:
        """Notes problems found elsewhere."""
        self.problems.extend(problems)

    def stop_if_any(self) -> None:
        """Raises what was found, where going on makes no sense."""
        if self.problems:
            raise ScenarioError(self.problems)
