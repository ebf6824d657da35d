"""Arguments of the package's functions, checked by pydantic against their annotations before anything runs.

Whether a value has a meaning is not decided here. Arguments that are missing or too many are Python's own
`TypeError`, as of any function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from inspect import signature
from itertools import groupby
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from incast.document import dotted
from incast.errors import IncastError, Problem, ScenarioError
from incast.hints import shortened, unknown
from incast.lab.validate import expected

__all__ = ["Small", "checked"]

_CONFIG = ConfigDict(strict=True, arbitrary_types_allowed=True, extra="forbid")
_F = TypeVar("_F", bound=Callable[..., Any])

Small = Annotated[int, Field(ge=-(2**31), lt=2**31)]
"""What the core takes for a count: what is too few, whoever counts says."""


def checked(raises: type[IncastError] = ScenarioError, *, options: type = object) -> Callable[[_F], _F]:
    """Lets a function refuse arguments that are not of their types; NumPy's numbers become Python's.

    `options` is the `TypedDict` of a function's `**options`.
    """

    def decorate(function: _F) -> _F:
        takes = signature(function)

        @cache
        def model() -> type[BaseModel]:
            """Made when it is first needed: names in annotations may be of modules that load late."""
            kinds = dict.fromkeys(takes.parameters, Any) | function.__annotations__
            for other in ("return", "options"):
                kinds.pop(other, None)
            kinds |= get_type_hints(options, include_extras=True)
            fields: dict[str, Any] = {name: (kind, None) for name, kind in kinds.items()}
            return create_model("Arguments", __module__=function.__module__, __config__=_CONFIG, **fields)

        @wraps(function)
        def call(*positional: Any, **named: Any) -> Any:
            try:
                takes.bind(*positional, **named)
            except TypeError:
                return function(*positional, **named)  # Python says which is missing or too much.
            said = dict(zip(takes.parameters, positional, strict=False)) | named
            try:
                taken = model().model_validate({name: _plain(value) for name, value in said.items()})
            except ValidationError as error:
                refusal = ScenarioError([*_problems(error, model().model_fields)])
                raise (refusal if raises is ScenarioError else raises(str(refusal))) from None
            return function(**{name: getattr(taken, name) for name in said})

        return cast(_F, call)

    return decorate


def _plain(value: Any) -> Any:
    """A number as Python has it."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value


def _place(detail: ErrorDetails) -> str:
    """The argument, or what it holds; without the alternatives of its type."""
    name, *inner = detail["loc"]
    return dotted((name, *(step for step in inner if isinstance(step, int))))


def _problems(error: ValidationError, known: Iterable[str]) -> Iterator[Problem]:
    """A problem for each place, with all types that it may have."""
    for place, details in groupby(error.errors(include_url=False), _place):
        first, *more = details
        if first["type"] == "extra_forbidden":
            yield Problem(unknown("an argument", place, known))
        else:
            ways = " or ".join(dict.fromkeys(expected(each) for each in (first, *more)))
            yield Problem(f"{shortened(repr(first['input']))} is not allowed: must be {ways}", place)
