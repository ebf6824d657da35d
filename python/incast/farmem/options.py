"""Figures of remote memory as the command line has them: lists of times, rates, sizes and shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from incast.errors import Problem, ScenarioError
from incast.farmem.size import Size
from incast.farmem.traced import POLICIES
from incast.hints import unknown
from incast.quantity import parse_bytes, parse_rate, parse_share, parse_time

__all__ = [
    "PAGE_MAX",
    "local",
    "one_time",
    "pages",
    "policies",
    "rates",
    "refuse",
    "size",
    "timeout",
    "times",
]

PAGE_MAX = 2 << 20
_MS = 10**9
"""In ps."""
_HOUR_MS = 3_600_000


def refuse(message: str, option: str) -> NoReturn:
    """Raises `ScenarioError` about an option."""
    raise ScenarioError([Problem(message, file=option)])


def times(said: str, option: str) -> list[int]:
    """Times in picoseconds."""
    return [_parsed(parse_time, text, option, 0) for text in _listed(said, option)]


def one_time(said: str, option: str, *, least: int = 0) -> int:
    """A time in picoseconds."""
    return _parsed(parse_time, said, option, least)


def timeout(said: str, least_ms: int) -> int:
    """The option `--timeout`, in ms, at most an hour."""
    ms = one_time(said, "--timeout") // _MS
    if not least_ms <= ms <= _HOUR_MS:
        refuse(f"from {least_ms}ms to {_HOUR_MS}ms is allowed", f"--timeout {said}")
    return ms


def rates(said: str, option: str) -> list[int]:
    """Rates in bit/s."""
    return [_parsed(parse_rate, text, option, 1) for text in _listed(said, option)]


def pages(said: str, option: str, least: int) -> list[int]:
    """Page sizes in bytes."""
    found = [_parsed(parse_bytes, text, option, 1) for text in _listed(said, option)]
    for size in found:
        if size & (size - 1) or not least <= size <= PAGE_MAX:
            refuse(
                f"pages of {size} bytes: a power of two from the trace's {least} bytes to 2MiB is allowed",
                option,
            )
    return found


def size(said: str, option: str) -> int:
    """A size in bytes."""
    return _parsed(parse_bytes, said, option, 1)


def local(said: str, option: str) -> list[Size]:
    """Sizes of local memory: bytes, or shares of what the program has in use."""
    return [_size(text, option) for text in _listed(said, option)]


def _size(text: str, option: str) -> Size:
    try:
        share = parse_share(text)
    except ValueError as error:
        refuse(str(error), f"{option} {text}")
    if share is None:
        return Size(text, bytes=_parsed(parse_bytes, text, option, 1))
    return Size(text, share=share)


def policies(said: str, option: str) -> list[str]:
    """Which page leaves."""
    found = _listed(said, option)
    for name in found:
        if name not in POLICIES:
            refuse(unknown("a policy", name, POLICIES), f"{option} {name}")
    return found


def _listed(said: str, option: str) -> list[str]:
    found = [text.strip() for text in said.split(",")]
    if not all(found):
        refuse("expected figures with commas between them", f"{option} {said}")
    return found


def _parsed(parse: Callable[[str], int], text: str, option: str, least: int) -> int:
    try:
        found = parse(text)
    except ValueError as error:
        refuse(str(error), f"{option} {text}")
    if found < least:
        refuse("it must be above zero", f"{option} {text}")
    return found
