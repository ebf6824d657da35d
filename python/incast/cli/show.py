"""What every command prints with: consoles, JSON, places of files, and problems as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.markup import escape
from rich.table import Table

from incast.cli.plain import plain_json, plain_line, writes_unicode
from incast.cli.terminal import SafeConsole
from incast.errors import IncastError, RunError, ScenarioError

_Column = TypeVar("_Column")

out = SafeConsole()
err = SafeConsole(stderr=True)


def print_json(content: Any) -> None:
    """Plain JSON on standard output."""
    sys.stdout.write(plain_json(json.dumps(content, indent=2, ensure_ascii=not writes_unicode())) + "\n")


def place(what: str, path: Path) -> None:
    """Where something lies; not broken into lines, so that it can be copied."""
    out.print(f"{what}: {escape(plain_line(str(path)))}", soft_wrap=True, highlight=False)


def written(what: str, path: Path, as_json: bool) -> None:
    """Where the one thing lies that a command has written."""
    if as_json:
        print_json({what: str(path)})
    else:
        place(what.capitalize(), path)


def fits(table: Table) -> bool:
    """Whether the terminal is wide enough when nothing in the table is broken."""
    return out.measure(table, options=out.options.update(max_width=100 * out.width)).maximum <= out.width


def keeps_words(table: Table) -> bool:
    """Whether the terminal is wide enough that lines in the table are broken between words only."""
    return out.measure(table, options=out.options.update(max_width=100 * out.width)).minimum <= out.width


def in_parts(columns: Sequence[_Column], make: Callable[[Sequence[_Column]], Table]) -> Iterator[Table]:
    """Tables of all columns, one below the other, each of as many as the terminal has room for."""
    rest = list(columns)
    while rest:
        taken = 1
        while taken < len(rest) and fits(make(rest[: taken + 1])):
            taken += 1
        yield make(rest[:taken])
        rest = rest[taken:]


def interrupted(kept: str, as_json: bool) -> None:
    """That a command was interrupted before it had a result, and what is `kept`; as `error` says it."""
    said = f"Interrupted: {kept}" if kept else "Interrupted."
    if as_json:
        print_json({"ok": False, "interrupted": True, "problems": [{"message": said}]})
    else:
        err.print(f"[yellow]{escape(said)}[/]", soft_wrap=True, highlight=False)


def error(problem: IncastError, as_json: bool) -> None:
    """What is wrong, on standard error; as JSON on standard output."""
    problems = problem.problems if isinstance(problem, ScenarioError) else ()
    if as_json:
        listed = [
            {"file": p.file or None, "line": p.line, "path": p.path or None, "message": p.message}
            for p in problems
        ]
        print_json({"ok": False, "problems": listed or [{"message": str(problem)}]})
        return
    # Only a run has several lines to say: one for each part that failed.
    said = [str(problem)] if isinstance(problem, RunError) else [plain_line(str(problem))]
    for line in [plain_line(str(each)) for each in problems] or said:
        err.print(f"[bold red]error:[/] {escape(line)}", soft_wrap=True, highlight=False)
