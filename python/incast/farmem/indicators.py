"""What tells in advance that a program suffers from remote memory (document 004, slides 10 and 11).

The document's are convolution layers, model size and matrix size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Indicator", "correlate"]


@dataclass(frozen=True, slots=True)
class Indicator:
    """A figure of programs next to what they suffer."""

    name: str
    pearson: float | None
    """The document's correlation coefficient; none where all programs are alike."""
    low: float | None
    """Its interval of 95 % (Fisher's transformation), from four programs on."""
    high: float | None
    spearman: float | None
    """That of ranks."""
    programs: int


def correlate(degradation: Sequence[float], figures: Mapping[str, Sequence[float]]) -> list[Indicator]:
    """Each figure's correlation with the degradation; the strongest first."""
    found = [
        _indicator(name, np.asarray(of, float), np.asarray(degradation, float))
        for name, of in figures.items()
    ]
    return sorted(found, key=lambda each: -abs(each.pearson or 0.0))


def _indicator(name: str, of: np.ndarray, degradation: np.ndarray) -> Indicator:
    if len(of) != len(degradation):
        raise ValueError(f"{name} has {len(of)} figures for {len(degradation)} programs")
    if len(of) < 2 or np.ptp(of) == 0 or np.ptp(degradation) == 0:
        return Indicator(name, None, None, None, None, len(of))
    from scipy import stats  # takes a while to load

    pearson = stats.pearsonr(of, degradation)
    low = high = None
    if len(of) > 3:
        low, high = (float(end) for end in pearson.confidence_interval(0.95))
    ranks = stats.spearmanr(of, degradation)
    return Indicator(name, float(pearson.statistic), low, high, float(ranks.statistic), len(of))
