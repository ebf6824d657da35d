"""How bad input of walks is refused."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from incast.errors import Problem, ScenarioError


def refuse(message: str, path: str = "", file: Path | str = "", line: int | None = None) -> NoReturn:
    """Raises `ScenarioError` with one problem."""
    raise ScenarioError([Problem(message, path, str(file), line)])
