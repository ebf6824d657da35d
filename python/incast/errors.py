"""What can go wrong, for people: problems of a scenario with their place, and the exceptions that carry them.

Not here: how problems are shown (`incast.cli.show`) and which exit code they lead to (`incast.cli.exits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


def why(error: BaseException) -> str:
    """What went wrong, in words: neither the number of an error nor the plan that a library was at."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class IncastError(Exception):
    """The root of the package's own exceptions."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario: where, what, and what is allowed."""

    message: str
    """What is wrong and what is allowed."""
    path: str = ""
    """The field, like `jobs[0].size`; empty where the whole file is meant."""
    file: str = ""
    """The file or the command-line option that says so; empty for a scenario made in Python."""
    line: int | None = None
    """Its line, from 1."""

    def __str__(self) -> str:
        """One line, as compilers write it: file:line: field: message."""
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ": ".join(part for part in (place, self.path, self.message) if part)


class ScenarioError(IncastError):
    """A scenario that can't run; it names all problems together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class OutputError(IncastError):
    """The result folder can't be written."""


class OutputExistsError(OutputError):
    """The result folder holds something already, and nobody said that it may be overwritten."""

    def __init__(self, folder: Path, ours: bool = False, other: str = "") -> None:
        """A result of `ours` may be overwritten; some `other` work of the same kind may not."""
        self.folder = folder
        if other:
            way = "choose another"
        elif ours:
            way = "choose another, or allow it to be overwritten (--force)"
        else:
            way = "it isn't a result of incast: choose another"
        super().__init__(f"{folder} holds {other or 'something already'}: {way}")


class ResultError(IncastError):
    """A folder that is not a run's result, or lacks a table."""


class RunError(IncastError):
    """A run that began and failed; what it had measured is in its folder."""
