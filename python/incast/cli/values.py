"""Values of options and arguments that are plain texts, numbers, paths or known words, without pydantic.

typer checks every value with pydantic, which takes longer to load than most files to mine. Here it is asked
only about other types, and about texts that may be wrong: its messages stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

_ANY = re.compile(r"(?s).*")
_PLAIN: dict[type, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    str: (_ANY, str),
    int: (re.compile(r"-?[0-9]{1,18}"), int),
    float: (re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?"), float),
    Path: (re.compile(r"(?s).+"), Path),
}
"""Which texts are certain to be of a type, and what makes a value of them."""


def take_plain(command: Any, context: Any) -> None:
    """Lets the parameters of a command or group take plain values without pydantic."""
    types = get_type_hints(command.callback) if command.callback else {}
    for parameter in command.get_params(context):
        _take(parameter, types.get(parameter.name))


def _take(parameter: Any, kind: Any) -> None:
    """Takes plain values of `kind`, `kind | None` or `list[kind]`, and a single value that is not there."""
    several = parameter.nargs != 1 or parameter.multiple
    kinds = [each for each in (get_args(kind) or (kind,)) if isinstance(each, type)]
    known = next((each for each in kinds if each in _PLAIN or issubclass(each, StrEnum)), None)
    ask_typer = parameter.process_value

    def process_value(context: Any, value: Any) -> Any:
        try:
            if several:
                found: Any = [_plain(parameter, known, each) for each in value]
            else:
                absent = value is None and not parameter.required
                found = None if absent else _plain(parameter, known, value)
        except (TypeError, ValueError):
            return ask_typer(context, value)
        return parameter.callback(context, parameter, found) if parameter.callback else found

    parameter.process_value = process_value


def _plain(parameter: Any, kind: type | None, value: Any) -> Any:
    """The value of a text, or the default as it is. Raises `ValueError` where typer has to say what it is."""
    if kind is None:
        raise ValueError
    if not isinstance(value, kind):
        pattern, make = _PLAIN.get(kind, (_ANY, kind))
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError
        value = make(value)
    least, most = (getattr(parameter, name, None) for name in ("min", "max"))
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError
    return value
