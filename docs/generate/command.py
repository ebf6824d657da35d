"""The command line, from the functions behind the commands."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from types import NoneType
from typing import Any

import typer
from page import code, rows
from typer.models import ArgumentInfo, OptionInfo

from incast.cli import exits
from incast.cli.app import app


def commands(group: typer.Typer = app, prefix: str = "") -> dict[str, Callable[..., Any]]:
    """Every command's function, by name; `study-run` is `incast study run`."""
    found: dict[str, Callable[..., Any]] = {}
    for each in group.registered_commands:
        real = each.callback().registered_commands[0] if each.callback else each
        if real.callback:
            found[f"{prefix}{each.name}"] = real.callback
    for inner in group.registered_groups:
        if inner.typer_instance:
            found |= commands(inner.typer_instance, f"{prefix}{inner.name}-")
    return found


def command(name: str) -> str:
    """What a command does, its arguments and options."""
    call = commands()[name]
    hints = typing.get_type_hints(call, include_extras=True)
    hints.pop("return", None)
    said = [(field, *typing.get_args(hint)[:2]) for field, hint in hints.items()]
    arguments = [info for _, _, info in said if isinstance(info, ArgumentInfo)]
    options = [each for each in said if isinstance(each[2], OptionInfo)]
    usage = [
        "incast",
        *name.split("-"),
        *(info.metavar or "" for info in arguments),
        *(["[OPTIONS]"] if options else []),
    ]
    body = [(code(info.metavar), _help(info)) for info in arguments]
    panels = dict.fromkeys(each[2].rich_help_panel or "" for each in sorted(options, key=_panelled))
    table = ""
    for panel in panels if options else [""]:
        listed = (each for each in options if (each[2].rich_help_panel or "") == panel)
        body += [(_option(*each), _help(each[2])) for each in listed]
        table += f"\n{panel}:\n" * bool(panel) + ("\n" + rows(("", ""), body) if body else "")
        body = []
    return f"{inspect.cleandoc(call.__doc__ or '')}\n\n```text\n{' '.join(usage)}\n```\n{table}"


def _panelled(option: tuple[str, Any, OptionInfo]) -> bool:
    return bool(option[2].rich_help_panel)


def _help(info: ArgumentInfo | OptionInfo) -> str:
    """What the command line says of it, fit for a table's cell."""
    return (info.help or "").replace("<", "&lt;").replace("|", "\\|")


def _option(field: str, kind: Any, info: OptionInfo) -> str:
    # In `Annotated[…, Option("--flag")]` typer keeps the first flag where a default would be.
    said = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
    flags = said or [f"--{field.replace('_', '-')}"]
    kinds = {each for each in typing.get_args(kind) or (kind,) if each is not NoneType}
    value = "" if kinds == {bool} else " " + (info.metavar or (_VALUES.get(field, "N")))
    return ", ".join(code(flag + value) for flag in flags)


_VALUES = {"out": "FOLDER", "choice": "NAME"}


def exit_codes() -> str:
    """The exit codes."""
    found = re.findall(r"(\d+) ([^;.]+)", exits.TEXT)
    assert [int(number) for number, _ in found] == [each.value for each in exits.Exit]
    return rows(("code", "meaning"), [(code(number), meaning.strip()) for number, meaning in found])
