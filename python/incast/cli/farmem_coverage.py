"""What a result says of memory that could not be remote: first, and in red where that is much."""

from __future__ import annotations

from incast import text
from incast.farmem.coverage import KINDS, SHARE_MAX, Coverage

__all__ = ["governed", "kinds", "warning"]


def warning(coverage: Coverage) -> str | None:
    """What is to be said first; None where remote memory was nearly all of the program's."""
    if coverage.covers:
        return None
    if coverage.worst_share is None:
        return (
            "Nobody knows how much of the program's memory could be remote: it ended before anybody looked."
        )
    return (
        f"This does not cover the program: {text.percent(coverage.worst_share)} of its resident memory could "
        f"not be remote, more than {SHARE_MAX:.0%} ({kinds(coverage)})."
    )


def governed(coverage: Coverage) -> str:
    """How much could be remote."""
    share, mean = coverage.share, coverage.mean_share
    if share is None or mean is None:
        return "not known: it ended before anybody looked"
    return (
        f"{text.size(coverage.governed_bytes)} of {text.size(coverage.resident_bytes)} resident at most; not "
        f"{text.percent(share)}, over time {text.percent(mean)}"
    )


def kinds(coverage: Coverage) -> str:
    """What could not be remote, most first."""
    most = sorted(coverage.others_bytes.items(), key=lambda each: -each[1])
    return ", ".join(f"{KINDS[kind]} {text.size(count)}" for kind, count in most)
