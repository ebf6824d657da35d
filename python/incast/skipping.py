"""Runs that skipped steady times (`fidelity: skip`): how much they skipped, and what that qualifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incast import text
from incast.samples import Summarised


def line(run: Summarised) -> str:
    """How much of a run's time was not computed; empty where that was not asked for."""
    skipped = run.summary.get("skipped_ps")
    if skipped is None:
        return ""
    whole = f"{text.time(skipped)} of {text.time(run.summary['sim_time_ps'])}"
    return f"Skipped as steady: {whole} ({text.percent(_share(run))})"


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
    lasted = run.summary.get("sim_time_ps")
    return float(run.summary.get("skipped_ps", 0) / lasted) if lasted else 0.0
