"""Values of options and arguments that are plain texts, whole numbers or paths, taken without pydantic.

typer checks every value with pydantic, which takes longer to load than most files to mine. Here it is asked
only about other types, and about texts that may be wrong: its messages stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

_PLAIN: dict[type, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    str: (re.compile(r"(?s).*"), str),
    int: (re.compile(r"-?[0-9]{1,18}"), int),
    Path: (re.compile(r"(?s).+"), Path),
}
"""Which texts are certain to be of a type, and what makes a value of them."""


def take_plain(command: Any, context: Any) -> None:
    """Lets the parameters of a command or group take plain values without pydantic."""
    types = get_type_hints(command.callback) if command.callback else {}
    for parameter in command.get_params(context):
        # A missing value of several is no None, and limits are typer's to check.
        limits = {getattr(parameter, name, None) for name in ("min", "max")}
        if parameter.nargs == 1 and not parameter.multiple and limits == {None}:
            _take(parameter, types.get(parameter.name))


def _take(parameter: Any, kind: Any) -> None:
    """Takes plain values of the type `kind` or `kind | None`, and a value that is not there."""
    found = [each for each in (get_args(kind) or (kind,)) if each in _PLAIN]
    pattern, make = _PLAIN[found[0]] if found else (None, str)
    ask_typer = parameter.process_value

    def process_value(context: Any, value: Any) -> Any:
        if pattern and isinstance(value, str) and pattern.fullmatch(value):
            value = make(value)
        elif not (value is None and not parameter.required) and not isinstance(value, tuple(found)):
            return ask_typer(context, value)
        return parameter.callback(context, parameter, value) if parameter.callback else value

    parameter.process_value = process_value
