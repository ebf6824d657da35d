"""A scenario as it was written, the changes from the command line, and its choices.

Every choice is a scenario of its own: the choice laid over the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from incast.document import Node, change, dump, lay_over, read_text, text_of
from incast.errors import Problem, ScenarioError


@dataclass(frozen=True)
class WrittenScenario:
    """A scenario as it was written."""

    document: Node
    """Its values, with `--set` laid over them."""
    folder: Path
    """Where the files that it names are."""
    text: str
    """What was written, for the run folder."""
    changes: tuple[str, ...] = ()
    """What `--set` said."""

    @staticmethod
    def from_file(path: Path, changes: Sequence[str] = ()) -> WrittenScenario:
        """The scenario in a YAML file, with `path=value` changes."""
        text = text_of(path)
        document = read_text(text, str(path))
        if not isinstance(document.value, dict):
            raise ScenarioError(
                [Problem("expected a mapping of fields, like name and topology", file=str(path))]
            )
        return WrittenScenario(document, path.parent, text).changed(changes)

    def changed(self, changes: Sequence[str]) -> WrittenScenario:
        """With `path=value` changes laid over it."""
        document = change(self.document, changes)
        return WrittenScenario(document, self.folder, self.text, (*self.changes, *changes))

    @staticmethod
    def from_model(scenario: BaseModel, folder: Path) -> WrittenScenario:
        """A scenario made in Python."""
        data = scenario.model_dump(by_alias=True, exclude_none=True)
        text = dump(data)
        return WrittenScenario(Node.of(data), folder, text)

    def choices(self) -> list[str]:
        """Names of the choices."""
        listed = self.document.child("choices")
        return list(listed.value) if listed and isinstance(listed.value, dict) else []

    def variant(self, choice: str) -> Node:
        """The document with a choice laid over it, and no choices any more."""
        assert isinstance(self.document.value, dict)
        base = Node({k: v for k, v in self.document.value.items() if k != "choices"}, self.document.mark)
        listed = self.document.child("choices")
        over = listed.child(choice) if listed and choice else None
        if over is None or not isinstance(over.value, dict):
            return base
        for key, value in over.value.items():
            if key.split(".")[0] in ("choices", "name"):
                where = f"choices.{choice}.{key}"
                raise ScenarioError(
                    [Problem(f"a choice can't change {key}", where, value.mark.file, value.mark.line)]
                )
        return lay_over(base, over.value)
