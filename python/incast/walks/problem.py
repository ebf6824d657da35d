"""How bad input of walks is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from incast.errors import Problem, ScenarioError


def refuse(message: str, path: str = "", file: Path | str = "", line: int | None = None) -> NoReturn:
    """Raises `ScenarioError` with one problem."""
    raise ScenarioError([Problem(message, path, str(file), line)])


def refuse_twice(columns: Iterable[str], file: Path) -> None:
    """Refuses a CSV file with a column that is there twice: Polars gives the second one another name."""
    for column in columns:
        if found := re.fullmatch(r"(.*)_duplicated_\d+", column):
            refuse(f"the column {found[1]!r} is there more than once", file=file, line=1)
