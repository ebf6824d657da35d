"""Arguments of the package's functions, checked by their annotations before anything runs.

Whether a value has a meaning is not decided here. Arguments that are missing or too many are Python's own
`TypeError`, as of any function.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from incast.errors import IncastError, Problem, ScenarioError
from incast.hints import shortened, unknown

__all__ = ["COUNT", "SMALL", "checked"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

COUNT = range(1, 2**31)
"""How many there may be of something."""
SMALL = range(-(2**31), 2**31)
"""What the core takes for a count: what is too few, whoever counts says."""
_WHOLE = range(-(2**63), 2**64)
_WORDS = {bool: "a bool", float: "a number", str: "text", Path: "a path", NoneType: "None"}


def checked(
    raises: type[IncastError] = ScenarioError, *, but: Collection[str] = (), **ranges: range
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Lets a function refuse arguments that are not of their types, or whole numbers out of these ranges.

    NumPy's numbers become Python's. The function checks those of `but` by itself.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        check = _Check(function, raises, but, ranges)

        @wraps(function)
        def call(*positional: _P.args, **named: _P.kwargs) -> _R:
            try:
                bound = check.signature.bind(*positional, **named)
            except TypeError:
                return function(*positional, **named)  # Python says which is missing or too much.
            check.take(bound.arguments)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


@dataclass
class _Check:
    """What is known of a function's arguments."""

    function: Callable[..., Any]
    raises: type[IncastError]
    but: Collection[str]
    ranges: Mapping[str, range]
    signature: Signature = field(init=False)
    _kinds: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.signature = signature(self.function)

    def take(self, arguments: dict[str, Any]) -> None:
        """Checks arguments by name, and puts Python's numbers for those of NumPy."""
        for name, value in arguments.items():
            parameter = self.signature.parameters[name]
            if parameter.kind is Parameter.VAR_KEYWORD:
                arguments[name] = self._options(parameter, value)
            elif parameter.annotation is not Parameter.empty:
                arguments[name] = self._one(name, value, self._kind(parameter))

    def _kind(self, parameter: Parameter) -> Any:
        """The annotation; names are looked up when it is first needed, as some modules load late."""
        if parameter.name not in self._kinds:
            names = getattr(self.function, "__globals__", {})
            self._kinds[parameter.name] = eval(str(parameter.annotation), dict(names))
        return self._kinds[parameter.name]

    def _options(self, parameter: Parameter, said: Mapping[str, Any]) -> dict[str, Any]:
        kinds = get_type_hints(get_args(self._kind(parameter))[0])
        for name in said:
            if name not in kinds:
                known = [*self.signature.parameters, *kinds]
                known.remove(parameter.name)
                self._refuse("", unknown("an argument", name, known))
        return {name: self._one(name, value, kinds[name]) for name, value in said.items()}

    def _one(self, name: str, value: Any, kind: Any) -> Any:
        if name in self.but:
            return value
        whole = self.ranges.get(name, _WHOLE)
        for each in _each(kind):
            if _is(value, each, whole):
                return _plain(value)
        self._refuse(name, f"{shortened(repr(value))} is not allowed: {_expected(kind, whole)} is expected")
        return None

    def _refuse(self, name: str, message: str) -> None:
        problem = Problem(message, name)
        if issubclass(self.raises, ScenarioError):
            raise self.raises([problem])
        raise self.raises(str(problem))


def _is(value: Any, kind: Any, whole: range) -> bool:
    """Whether a value is of a kind that an annotation names."""
    of = get_origin(kind) or kind
    if of is Any:
        return True
    if of is bool or isinstance(value, bool):
        return of is bool and (isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool")
    if of is int:
        return isinstance(value, Integral) and int(value) in whole
    if of is float:
        return isinstance(value, Real)
    if of is Path:
        return isinstance(value, os.PathLike)
    if get_origin(kind):
        return _are(value, of, get_args(kind))
    return not isinstance(of, type) or isinstance(value, of)


def _are(value: Any, of: type, inner: tuple[Any, ...]) -> bool:
    """The same of a collection. Parts that have to be text are looked at; a list of anything is left."""
    if inner == (Any,):
        return True
    if issubclass(of, Mapping):
        return isinstance(value, Mapping) and all(isinstance(each, str) for each in value)
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return listed and (inner != (str,) or all(isinstance(each, str) for each in value))


def _plain(value: Any) -> Any:
    """A number as Python has it."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value


def _each(kind: Any) -> tuple[Any, ...]:
    """The kinds that an annotation allows."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _expected(kind: Any, whole: range) -> str:
    *others, last = (_words(each, whole) for each in _each(kind))
    return f"{', '.join(others)} or {last}" if others else last


def _words(kind: Any, whole: range) -> str:
    of = get_origin(kind) or kind
    if of is int:
        return f"a whole number from {whole[0]} to {whole[-1]}" if whole[0] >= 0 else "a whole number"
    if of in _WORDS:
        return _WORDS[of]
    if get_origin(kind) and issubclass(of, Mapping):
        return "a dict of fields"
    if get_origin(kind):
        return "a list of text" if get_args(kind) == (str,) else "a list"
    return f"a {of.__name__}"
