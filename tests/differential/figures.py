"""What is compared: the same few figures from either simulator's output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

#: How far ours may be from ns-3's, as a part of ns-3's.
TOLERANCE = {"fct_mean_us": 0.05, "fct_p99_us": 0.05, "goodput_gbps": 0.02, "drops": 0.1, "marks": 0.1}


#: A mean of fewer drops or marks a run says nothing as a ratio.
FEW = 5.0


def distance(figure: str, mine: float, peer: float) -> float:
    """How far ours is from ns-3's, as a part of ns-3's."""
    return (mine - peer) / (max(peer, FEW) if figure in ("drops", "marks") else peer)


def quantile(values: Sequence[float], part: float) -> float:
    """The smallest value that so large a part of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def of_runs(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Figures over all seeds of a setting: flow completion times pooled, the others as means.

    A flow completes when its receiver has the last byte; it begins when its sender opens the connection.
    """
    times = [(f["finish_ps"] - f["start_ps"]) / 1e6 for run in runs for f in run["flows"]]
    return {
        "fct_mean_us": sum(times) / len(times),
        "fct_p99_us": quantile(times, 0.99),
        "goodput_gbps": sum(goodput(run) for run in runs) / len(runs),
        "drops": sum(run["drops"] for run in runs) / len(runs),
        "marks": sum(run["marks"] for run in runs) / len(runs),
    }


def of_long_runs(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The figure of the long paths."""
    return {"goodput_mbps": 1000 * sum(goodput(run) for run in runs) / len(runs)}


def goodput(run: dict[str, Any]) -> float:
    """Bytes of all flows from the first start to the last finish, Gb/s."""
    flows = run["flows"]
    span = max(f["finish_ps"] for f in flows) - min(f["start_ps"] for f in flows)
    return sum(f["bytes"] for f in flows) * 8 / (span / 1e12) / 1e9
