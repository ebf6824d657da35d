"""How many pages come with each latency: D = a·L + b·(4 KB / B), fitted to a table of degradations.

The document's formula charges a latency with each page: b = a. Where b is several times a, a table looks as
if so many pages came with each latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Fit", "fit"]


@dataclass(frozen=True, slots=True)
class Fit:
    """A table as events that wait and pages that are sent."""

    latency: float
    """a: degradation a microsecond of latency."""
    transmission: float
    """b: degradation a microsecond that a page takes on the wire."""
    rms: float
    """What is left, in the unit of the degradations."""
    one_page_rms: float
    """The same when a page comes with each latency: a = b."""

    @property
    def pages(self) -> float:
        """Pages a latency."""
        return self.transmission / self.latency


def fit(cells: Sequence[tuple[float, float, float]], page: int = 4096) -> Fit:
    """Least squares over cells: latency in µs, bandwidth in Gb/s, degradation."""
    latency, bandwidth, said = np.asarray(cells, float).T
    wire = page * 8 / (bandwidth * 1e3)
    (a, b), rms = _least_squares(np.column_stack((latency, wire)), said)
    _, one = _least_squares((latency + wire)[:, None], said)
    return Fit(float(a), float(b), rms, one)


def _least_squares(columns: np.ndarray, said: np.ndarray) -> tuple[np.ndarray, float]:
    found = np.linalg.lstsq(columns, said, rcond=None)[0]
    return found, float(np.sqrt(np.mean((columns @ found - said) ** 2)))
