"""Did you mean …? and lists of what is allowed, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 24
_LONGEST = 60


def allowed(names: Iterable[str]) -> str:
    """`a, b, c`, cut where it gets too long to help."""
    known = list(names)
    more = f", … ({len(known)} in all)" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """A sentence on `name`, which is no `what`, with the nearest known name and all that are allowed."""
    known = list(names)
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return f"{name!r} is not {what}.{guess} Allowed: {allowed(known)}"


def shortened(text: str) -> str:
    """The text, cut where it gets too long to be read."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"
