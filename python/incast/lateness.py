"""How late packets came to hosts on this machine's clock, and when that is too late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incast import text

_SHARE = 0.01
"""Of all packets so many may be late."""


def is_too_late(summary: Mapping[str, Any]) -> bool:
    """Whether a run's network was not the one that was asked for."""
    found = summary.get("lateness")
    return found is not None and found["late"] > _SHARE * found["packets"]


def line(summary: Mapping[str, Any]) -> str:
    """What is said of a run's packets; empty where none can be late."""
    found = summary.get("lateness")
    if not found:
        return ""
    if not found["packets"]:
        return "No packets came"
    median, p99, longest, allowed = (
        text.time(found[key] * 1000) for key in ("p50_ns", "p99_ns", "max_ns", "allowed_ns")
    )
    share = text.percent(found["late"] / found["packets"])
    return f"Packets came {median} late (p99 {p99}, longest {longest}), {share} more than {allowed}"
