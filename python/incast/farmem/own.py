"""What faults cost without a network on this machine, learned from runs of the program beside the cells.

Injecting takes time of its own: the switch to the handler and back, the page that comes, from the store or
full of zeros, and the page that leaves. Runs without a network, with little memory local and with more, take
longer than with all memory local by that: what each of the three costs is a least-squares fit, pulled
slightly towards all costing the same, which decides where these runs don't tell them apart. How far each of
them is from the fit, others are that have about as much local memory. The handler does its work while the
fault waits, which is counted from the fault on: longer waits hide that. A run with a long wait tells how
much: what it takes is less than that without a network and its waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from incast.farmem.traced import Handled

__all__ = ["Beyond", "Own", "Ran", "calibrate"]

_ALIKE = 0.03
"""Runs are good to about so much: an error of that size weighs as much as costs that differ by themselves."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What is done how often in a run."""

    faults: int
    """Pages fetched."""
    touched: int
    """Pages touched first, handled."""
    evicted: int
    """Pages that leave."""
    waiting: int
    """Faults that wait for the network."""

    @staticmethod
    def predicted(handled: Handled) -> Ran:
        """By a trace."""
        counts = handled.counts
        return Ran(counts.faults, counts.cold - handled.unseen, handled.evicted, handled.waiting)

    def counted(self, faults: int, touched: int) -> Ran:
        """The same with as many faults as were counted: with each one more, a page more leaves and waits."""
        more = faults - self.faults
        evicted = max(0, self.evicted + more + touched - self.touched)
        return Ran(faults, touched, evicted, max(0, self.waiting + more))

    @property
    def kinds(self) -> tuple[int, int, int]:
        """All that has a cost."""
        return self.faults, self.touched, self.evicted


@dataclass(frozen=True, slots=True)
class Own:
    """What a fault costs, in picoseconds."""

    fault_ps: int = 0
    """One that fetches, without a network."""
    touch_ps: int = 0
    """A first touch."""
    leave_ps: int = 0
    """A page that leaves for it."""
    hidden_ps: int = 0
    """Of a fault that waits, what a long wait hides."""
    apart: tuple[tuple[int, float], ...] = ()
    """With so many bytes local, how many times as much it was; in their order, in between along a line."""

    def total(self, ran: Ran, waits_ps: int, local_bytes: int) -> int:
        """Picoseconds that all faults of a run add to its waits for the network."""
        added = self._alike(ran)
        if self.apart:
            sizes, times = ([each[at] for each in self.apart] for at in (0, 1))
            added = round(added * float(np.interp(local_bytes, sizes, times)))
        return added - min(added, ran.waiting * self.hidden_ps, waits_ps)

    def _alike(self, ran: Ran) -> int:
        """Wherever it is."""
        costs = (self.fault_ps, self.touch_ps, self.leave_ps)
        return sum(cost * often for cost, often in zip(costs, ran.kinds, strict=True))


@dataclass(frozen=True, slots=True)
class Beyond:
    """A run that was measured."""

    ran: Ran
    local_bytes: int
    beyond_s: float
    """Longer than with all memory local."""
    waits_s: float = 0.0
    """For the network."""


def calibrate(near: Sequence[Beyond], far: Sequence[Beyond]) -> Own:
    """From runs without a network, and from runs with waits beside one with as much local memory."""
    told = [each for each in near if sum(each.ran.kinds) and each.beyond_s > 0]
    if not told:
        return Own()
    rows = [[often / each.beyond_s for often in each.ran.kinds] for each in told]
    one = sum(map(sum, rows)) / len(rows) * _ALIKE
    alike = [[one, -one, 0], [0, one, -one], [one, 0, -one]]
    found, _ = nnls(np.array([*rows, *alike], float), np.array([1.0] * len(rows) + [0.0] * len(alike)))
    fault, touch, leave, hidden = (round(float(each) * 1e12) for each in (*found, _hidden(near, far)))
    own = Own(fault, touch, leave, hidden)
    apart = sorted((each.local_bytes, each.beyond_s * 1e12 / own._alike(each.ran)) for each in told)
    return replace(own, apart=tuple(apart))


def _hidden(near: Sequence[Beyond], far: Sequence[Beyond]) -> float:
    """Seconds of a fault that waits."""
    hidden, waiting = 0.0, 0
    for each in far:
        for without in near:
            if without.local_bytes == each.local_bytes:
                hidden += without.beyond_s + each.waits_s - each.beyond_s
                waiting += each.ran.waiting
    return max(0.0, hidden) / waiting if waiting else 0.0
