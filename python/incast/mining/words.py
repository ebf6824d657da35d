"""What is said when large itemsets are too many for the memory, on one node and on several."""

from __future__ import annotations

_ENDLESS = 1e30


def many(number: int, large: int, most: float | None) -> str:
    """What is to come after a pass; no number stands for infinity."""
    longer = f"up to {most:.3g}" if most is not None and most < _ENDLESS else "more than 1e30"
    return (
        f"pass {number} found {large:,} large itemsets, and {longer} longer ones may follow: "
        "a higher --support finds fewer, --longest ends sooner"
    )


def full(length: int, before: int, most: float | None, memory: int) -> str:
    """Why a run ended whose large itemsets do not fit."""
    outlook = f" (they and longer ones may be up to {most:.3g})" if most and most < _ENDLESS else ""
    return (
        f"large itemsets of {length} items{outlook} do not fit into --memory "
        f"({memory / 2**20:.4g} MiB) with the {before:,} that were found before: "
        f"choose a higher --support, --longest {length - 1}, or more --memory"
    )
