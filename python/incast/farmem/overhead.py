"""The overhead of faults on this machine: what they cost without a network. Runs of the program tell it.

A fault takes time even at no distance. There is the switch to the handler and back, the page that comes from
the store or is filled with zeros, and the page that leaves. Runs without a network take that much longer than
the run with all memory local. A least-squares fit over such runs, with little and with more local memory,
gives the cost of each of the three. It is pulled slightly towards equal costs, which decides where the runs
can't tell them apart. A cell deviates from the fit as the runs with about as much local memory do.

The handler works while the fault waits, and a wait is counted from the fault on. So waits hide a part of the
overhead. The runs without a network count how much waits of each length would hide. A run with long waits
gives how much longer than asked they are, or, with several threads whose waits overlap, how much shorter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from incast.extras import extra
from incast.farmem.traced import Handled

__all__ = ["Beyond", "Near", "Overhead", "Ran", "calibrate"]

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
    twice: int = 0
    """Of these, how many wait for what comes and for what leaves."""

    @staticmethod
    def predicted(handled: Handled) -> Ran:
        """By a trace."""
        counts = handled.counts
        twice = min(counts.faults, max(0, counts.faults + counts.sends - handled.waiting))
        return Ran(counts.faults, counts.cold - handled.unseen, handled.evicted, handled.waiting, twice)

    def counted(self, faults: int, touched: int) -> Ran:
        """The same with as many faults as were counted: with each one more, a page more leaves and waits."""
        more = faults - self.faults
        evicted = max(0, self.evicted + more + touched - self.touched)
        return Ran(faults, touched, evicted, max(0, self.waiting + more), min(self.twice, faults))

    @property
    def kinds(self) -> tuple[int, int, int]:
        """All that has a cost."""
        return self.faults, self.touched, self.evicted


@dataclass(frozen=True, slots=True)
class Beyond:
    """A run that was measured."""

    ran: Ran
    local_bytes: int
    beyond_s: float
    """Longer than with all memory local."""
    waits_s: float = 0.0
    """Seconds of waits that it was asked for."""
    hides: Mapping[int, float] = field(default_factory=dict)
    """Seconds of the handler's work that waits of so many ns would hide."""


@dataclass(frozen=True, slots=True)
class Near:
    """What a run without a network tells, besides."""

    local_bytes: int
    apart: float
    """How many times as much it was as the three costs say."""
    waits_ps: tuple[int, ...] = ()
    """From 0 on."""
    hides_ps: tuple[int, ...] = ()
    """What such waits would hide of a fault that waits."""

    def hides(self, wait_ps: float) -> float:
        """Picoseconds of a fault that waits so long."""
        return float(np.interp(wait_ps, self.waits_ps, self.hides_ps)) if self.waits_ps else 0.0


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a fault costs, in picoseconds."""

    fault_ps: int = 0
    """One that fetches, without a network."""
    touch_ps: int = 0
    """A first touch."""
    leave_ps: int = 0
    """A page that leaves for it."""
    late: float = 0.0
    """How much longer than asked waits make a run, as a share of them; below 0 where they overlap."""
    near: tuple[Near, ...] = ()
    """By local memory; in between, along a line."""

    @property
    def is_learned(self) -> bool:
        """Whether runs of the program say it: they include how much waits of its threads overlap."""
        return bool(self.near or self.late)

    def total(self, ran: Ran, waits_ps: int, local_bytes: int) -> int:
        """Picoseconds that all faults of a run add to its waits for the network."""
        added = self.alike(ran) * self._at(local_bytes, [each.apart for each in self.near], 1.0)
        if not ran.waiting or not waits_ps:
            return round(added)
        once, twice = ran.waiting - ran.twice, ran.twice
        wait = waits_ps / (once + 2 * twice)
        hidden = once * self.hides(wait, local_bytes) + twice * self.hides(2 * wait, local_bytes)
        return round(added - min(added, hidden) + self.late * waits_ps)

    def alike(self, ran: Ran) -> int:
        """Without waits, wherever it is."""
        costs = (self.fault_ps, self.touch_ps, self.leave_ps)
        return sum(cost * often for cost, often in zip(costs, ran.kinds, strict=True))

    def hides(self, wait_ps: float, local_bytes: int) -> float:
        """Picoseconds that a wait hides of the fault's own work."""
        return self._at(local_bytes, [each.hides(wait_ps) for each in self.near], 0.0)

    def _at(self, local_bytes: int, values: Sequence[float], otherwise: float) -> float:
        sizes = [each.local_bytes for each in self.near]
        return float(np.interp(local_bytes, sizes, values)) if sizes else otherwise


def calibrate(near: Sequence[Beyond], far: Sequence[Beyond]) -> Overhead:
    """From runs without a network, and from runs with long waits."""
    told = [each for each in near if sum(each.ran.kinds) and each.beyond_s > 0]
    if not told:
        return Overhead()
    rows = [[often / each.beyond_s for often in each.ran.kinds] for each in told]
    one = sum(map(sum, rows)) / len(rows) * _ALIKE
    alike = [[one, -one, 0], [0, one, -one], [one, 0, -one]]
    with extra("farmem"):
        from scipy.optimize import nnls
    found, _ = nnls(np.array([*rows, *alike], float), np.array([1.0] * len(rows) + [0.0] * len(alike)))
    fault, touch, leave = (round(float(each) * 1e12) for each in found)
    overhead = Overhead(fault, touch, leave)
    by_size = sorted(told, key=lambda each: each.local_bytes)
    overhead = replace(overhead, near=tuple(_near(each, overhead) for each in by_size))
    return replace(overhead, late=_late(far, overhead))


def _near(run: Beyond, overhead: Overhead) -> Near:
    alike = overhead.alike(run.ran)
    apart = run.beyond_s * 1e12 / alike if alike else 1.0
    if not run.ran.waiting:
        return Near(run.local_bytes, apart)
    hides = {0: 0.0, **run.hides}
    return Near(
        run.local_bytes,
        apart,
        tuple(wait * 1000 for wait in hides),
        tuple(round(hidden * 1e12 / run.ran.waiting) for hidden in hides.values()),
    )


def _late(far: Sequence[Beyond], overhead: Overhead) -> float:
    asked = sum(each.waits_s for each in far)
    beside = (
        sum(overhead.total(each.ran, round(each.waits_s * 1e12), each.local_bytes) for each in far) / 1e12
    )
    return (sum(each.beyond_s for each in far) - beside) / asked - 1 if asked else 0.0
