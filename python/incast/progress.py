"""How much of a run is done, from how far it is and what is known of it before it begins.

The core knows a run's latest end; most runs end long before. Here the bytes that jobs will carry are counted,
and how long flows of a load arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incast.kinds import KINDS


class Share:
    """The part of a run that is done."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        works = [(job["start"], KINDS[job["work"]["kind"]], job["work"]) for job in spec["jobs"]]
        self._bytes = sum(kind.carries(work) for _, kind, work in works)
        arriving = ((start, kind.arrives(work)) for start, kind, work in works)
        self._arrivals_end_ps = max((start + lasting for start, lasting in arriving if lasting), default=0)

    def of(self, progress: Mapping[str, Any]) -> float | None:
        """From 0 to 1; nothing where nobody knows."""
        parts = []
        if self._arrivals_end_ps:
            parts.append(progress["sim_time_ps"] / self._arrivals_end_ps)
        elif self._bytes:
            parts.append(progress["bytes"] / self._bytes)
        if progress["fraction"] is not None:
            parts.append(progress["fraction"])
        return min(1.0, max(parts)) if parts else None
