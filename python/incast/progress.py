"""How much of a run is done, from how far it is and what is known of it before it begins.

The core knows a run's latest end; most runs end long before. Here the bytes that jobs will carry are counted,
and how long flows of a load arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Share:
    """The part of a run that is done."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        works = [(job, job["work"]) for job in spec["jobs"]]
        self._bytes = sum(_bytes(work) for _, work in works)
        self._arrivals_end_ps = max(
            (job["start"] + work["duration"] for job, work in works if work["kind"] == "load"), default=0
        )

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


def _bytes(work: Mapping[str, Any]) -> int:
    """Bytes that a job is sure to carry."""
    match work["kind"]:
        case "bulk":
            return len(work["pairs"]) * int(work["bytes"])
        case "incast":
            return len(work["senders"]) * int(work["rounds"]) * int(work["bytes"])
        case "permutation":
            return len(work["hosts"]) * int(work["bytes"])
        case "all-to-all":
            return len(work["hosts"]) * (len(work["hosts"]) - 1) * int(work["bytes"])
        case "replay":
            return sum(each["bytes"] for each in work["flows"])
        case "coflows":
            return sum(size for each in work["coflows"] for _, size in each["reducers"])
        case "broadcast":
            return len(work["destinations"]) * int(work["bytes"])
        case _:
            return 0
