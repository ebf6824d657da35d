"""Which of the cluster's names a pattern means.

`*` is any text; `host[0-7,9]` is a range as in Slurm's host lists; anything else is a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from incast.hints import unknown

_RANGE = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)")
_RANGE_MAX = 1_000_000


class SelectError(ValueError):
    """A pattern that means nothing."""


def select(selector: str | list[str], names: Collection[str], what: str) -> list[str]:
    """The names meant, each once: a list's in its order, a pattern's in the cluster's."""
    found: dict[str, None] = {}
    texts = [selector] if isinstance(selector, str) else selector
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise SelectError(f"{twice!r} is listed {texts.count(twice)} times: once is enough")
    for text in texts:
        for pattern in _unfold(text):
            found |= dict.fromkeys(_matching(pattern, names, what))
    return list(found)


def matches(pattern: str, name: str) -> bool:
    """Whether `pattern`, in which `*` is any text, is `name`; the core's rule."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _matching(pattern: str, names: Collection[str], what: str) -> list[str]:
    if "*" not in pattern:
        if pattern not in names:
            raise SelectError(unknown(what, pattern, names))
        return [pattern]
    rule = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    found = [name for name in names if rule.fullmatch(name)]
    if not found:
        raise SelectError(f"{pattern!r} matches nothing. {unknown(what, pattern, names)}")
    return found


def _unfold(text: str) -> list[str]:
    """`host[0-2,7]` as four names."""
    parts = _RANGE.fullmatch(text)
    if not parts:
        return [text]
    before, ranges, after = parts.groups()
    names: list[str] = []
    for piece in ranges.split(","):
        low, dash, high = piece.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise SelectError(f"{text!r} is not a range: expected something like host[0-7,9]")
        last = int(high or low)
        if last < int(low) or last - int(low) >= _RANGE_MAX:
            raise SelectError(f"{text!r} is not a range: {piece} has to ascend, over at most {_RANGE_MAX}")
        names += [f"{before}{number}{after}" for number in range(int(low), last + 1)]
    return names
