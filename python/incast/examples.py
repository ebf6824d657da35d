"""The example scenarios: those of the repository's `examples/`, which a wheel has in the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from typing import Any

from incast.document import read_file
from incast.errors import OutputError, Problem, ScenarioError, why
from incast.hints import unknown

_SHIPPED = Path(__file__).parent / "shipped"
"""Where crates/preload/backend.py puts them."""


def listed() -> dict[str, str]:
    """Each example's name, and what it is about."""
    return {name: str(_content(file)["description"]) for name, file in _scenarios().items()}


def write(name: str, to: Path) -> list[Path]:
    """Writes an example into the folder `to`, with the files that it names; returns all of them.

    Raises `ScenarioError` where there is no such example, and `OutputError` where a file is there already or
    can't be written.
    """
    known = _scenarios()
    if name not in known:
        raise ScenarioError([Problem(unknown("an example", name, known))])
    files = [known[name], *_named(known[name])]
    for each in files:
        if (to / each.name).exists():
            raise OutputError(f"{to / each.name} is there already: nothing was written")
    try:
        return [Path(copyfile(each, to / each.name)) for each in files]
    except OSError as error:
        raise OutputError(f"{error.filename2 or error.filename}: {why(error)}") from None


def _scenarios() -> dict[str, Path]:
    """The examples' files, by name."""
    folder = _SHIPPED if _SHIPPED.is_dir() else Path(__file__).parents[2] / "examples"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"), key=lambda file: file.stem)}


def _content(scenario: Path) -> dict[str, Any]:
    content = read_file(scenario).plain()
    assert isinstance(content, dict)
    return content


def _named(scenario: Path) -> list[Path]:
    """The files next to a scenario that it names."""
    texts = set(_texts(_content(scenario)))
    return sorted(file for file in scenario.parent.iterdir() if file.name in texts)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for each in content.values() if isinstance(content, dict) else content:
            yield from _texts(each)
