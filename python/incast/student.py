"""Student's t: how far out 95 % of its values lie, for intervals.

Source: NIST Digital Library of Mathematical Functions, 8.17.8 and 8.17.22 (the incomplete beta function).
"""

from __future__ import annotations

import math
from functools import cache

__all__ = ["quantile"]

_NORMAL = 1.959963984540054
"""That of the normal distribution: Student's is larger."""


@cache
def quantile(freedom: float) -> float:
    """The value below which 97.5 % lie, with so many degrees of freedom."""
    value, step = _NORMAL, math.inf
    # The share beyond a value is convex, so Newton's method comes from below and stays there.
    while step > 1e-9 * value:
        share, density = _beyond(value, freedom)
        step = (share - 0.05) / (2 * density)
        value += step
    return value


def _beyond(value: float, freedom: float) -> tuple[float, float]:
    """The share of values beyond ± `value`, and the density there."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + value**2)
    beta = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
    rest = 1.0
    for number in range(100 + 5 * math.isqrt(math.ceil(freedom)), 0, -1):
        m, odd = divmod(number, 2)
        if odd:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        rest = 1 + part / rest
    share = x**a * (1 - x) ** b / (a * beta * rest)
    return share, x ** (a + 0.5) / (math.sqrt(freedom) * beta)
