"""Runs that skipped steady states (`fidelity: skip`): how much they skipped, and what that qualifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incast import text
from incast.samples import Summarised


def line(run: Summarised) -> str:
    """How much of a run was not computed; empty where that was not asked for."""
    skipped = run.summary.get("skipped_hops")
    if skipped is None:
        return ""
    whole = f"{text.count(skipped)} of {text.count(skipped + run.summary['packet_hops'])}"
    return f"Skipped as steady: {whole} packets over links ({text.percent(_share(run))})"


def sentences(choices: Mapping[str, Sequence[Summarised]]) -> list[str]:
    """What qualifies the times of these choices; nothing where every packet was simulated."""
    most = {name: max(map(_share, runs), default=0.0) for name, runs in choices.items()}
    skipped = [name for name, share in most.items() if share]
    if not skipped:
        return []
    where = f" with {text.listed(skipped)}" if len(skipped) < len(choices) else ""
    share = text.percent(max(most.values()))
    return [
        f"Times are approximate{where}: up to {share} of a run was skipped as steady, which fidelity: exact "
        "simulates."
    ]


def _share(run: Summarised) -> float:
    skipped = run.summary.get("skipped_hops", 0)
    return float(skipped / (skipped + run.summary["packet_hops"])) if skipped else 0.0
