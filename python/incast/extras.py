"""Libraries that only some commands need: a missing one is an error that says how to get it.

Which extra installs what is said in pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from incast.errors import IncastError

__all__ = ["MissingLibraryError", "extra", "need"]


class MissingLibraryError(IncastError):
    """A library of an extra is not installed."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports of what the extra `name` installs."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library == "incast":
            raise
        raise MissingLibraryError(f"{library} is not installed: pip install 'incast[{name}]'") from error


def need(name: str, *libraries: str) -> None:
    """Loads libraries of the extra `name`, where they are used only after hours of work."""
    with extra(name):
        for each in libraries:
            import_module(each)
