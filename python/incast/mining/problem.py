"""What can be asked for, and how the rest is refused."""

from __future__ import annotations

from dataclasses import dataclass

from incast import _core
from incast.walks.problem import refuse

__all__ = ["ITEM_MAX", "KINDS", "Plan", "make", "refuse", "share"]

ITEM_MAX = 2**32 - 1
"""The largest item."""
KINDS = ("all", "closed", "maximal")
_MEMORY = 256 << 20
_SHARE = "a share above 0 and at most 1, like 0.007, or above 0% and at most 100%, like 0.7%"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to find, and with how much of the machine."""

    support: float
    """Minimum support, a share."""
    confidence: float | None
    """Minimum confidence of rules, a share; without it none are made."""
    longest: int | None
    kind: str
    memory: int
    """Bytes for the counts of candidates."""
    threads: int


def make(
    support: str | float,
    confidence: str | float | None = None,
    *,
    longest: int | None = None,
    kind: str = "all",
    memory: str | int | None = None,
    threads: int = 1,
) -> Plan:
    """The checked plan."""
    if longest is not None and longest < 1:
        refuse(f"{longest} items: at least 1 is allowed", "--longest")
    if kind not in KINDS:
        refuse(f"{kind!r}: {', '.join(KINDS)} are allowed", "--only")
    if threads < 1:
        refuse(f"{threads} threads: at least 1 is allowed", "--threads")
    return Plan(
        support=share(support, "--support"),
        confidence=None if confidence is None else share(confidence, "--confidence", least=True),
        longest=longest,
        kind=kind,
        memory=_memory(memory),
        threads=threads,
    )


def share(value: str | float, path: str, *, least: bool = False) -> float:
    """A share as people write it; `least`: 0 is allowed too."""
    text = str(value).strip()
    number = text.removesuffix("%").rstrip()
    try:
        # Read as it is written: 0.7 / 100 is not the double nearest to 0.007.
        found = float(f"{number}e-2") if text.endswith("%") and "e" not in number.lower() else float(number)
    except ValueError:
        refuse(f"{text!r}: {_SHARE} is allowed", path)
    if not (0 < found <= 1 or (least and found == 0)):
        refuse(f"{text}: {_SHARE} is allowed", path)
    return found


def _memory(value: str | int | None) -> int:
    if value is None:
        return _MEMORY
    try:
        return _core.parse_bytes(value) if isinstance(value, str) else value
    except ValueError as error:
        refuse(str(error), "--memory")
