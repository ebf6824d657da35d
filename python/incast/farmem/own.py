"""What faults cost without a network on this machine, learned from runs that wait for none.

Injecting takes time of its own: the switch to the handler and back, the page that leaves, the page that
comes. Two runs without a network, with little memory local and with more, take longer than with all memory
local by what their faults cost, and tell faults that fetch from first touches. A part of the cost, for the
page that leaves, comes while the fault waits, which is counted from the fault on: a wait that is longer hides
it, and a fault for which no page leaves does not have it. A third run, with little local and a long wait,
tells how much: what it takes is less than that without a network and its waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from incast.farmem.traced import Counts

__all__ = ["Own", "Ran", "calibrate"]

_ALIKE = 0.01
"""How much it counts that both kinds of faults cost the same: it decides where runs don't."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run through a program's accesses, as the prediction knows it."""

    counts: Counts
    unseen: int
    """First touches while all fitted, before anything was handled."""
    cache_pages: int

    @property
    def touched(self) -> int:
        """First touches that were handled."""
        return max(0, self.counts.cold - self.unseen)

    @property
    def evicted(self) -> int:
        """Faults for which a page left."""
        return max(0, self.counts.faults + self.counts.cold - self.cache_pages)

    @property
    def waiting(self) -> int:
        """Faults that wait: those that fetch, and first touches for which a written page left."""
        if not self.evicted:
            return self.counts.faults
        # Nothing is fetched before something left, so the first pages to come are first touches.
        touched = max(0, self.counts.cold - self.cache_pages)
        return self.counts.faults + round(touched * min(1.0, self.counts.written_back / self.evicted))

    @property
    def without(self) -> int:
        """Faults that were handled and for which no page had to leave."""
        return max(0, self.counts.faults + self.touched - self.evicted)


@dataclass(frozen=True, slots=True)
class Own:
    """What a fault costs, in picoseconds."""

    fault_ps: int = 0
    """One that fetches, without a network."""
    touch_ps: int = 0
    """A first touch for which a page leaves."""
    before_ps: int = 0
    """The part of it for the page that leaves."""

    def total(self, ran: Ran, waits_ps: int) -> int:
        """Picoseconds that all faults of a run add to its waits for the network."""
        hidden = min(ran.waiting * self.before_ps, waits_ps)
        saved = ran.without * min(self.before_ps, self.touch_ps)
        return ran.counts.faults * self.fault_ps + ran.touched * self.touch_ps - saved - hidden


@dataclass(frozen=True, slots=True)
class Beyond:
    """A run that was measured."""

    ran: Ran
    beyond_s: float
    """Longer than with all memory local."""
    waits_s: float
    """For the network."""


def calibrate(near: Sequence[Beyond], far: Sequence[Beyond]) -> Own:
    """From runs without a network, and from runs with waits beside one with as much local memory."""
    if not any(each.ran.counts.faults or each.ran.touched for each in near):
        return Own()
    before = _hidden(near, far)
    rows = [[each.ran.counts.faults, each.ran.touched] for each in near]
    said = [max(0.0, each.beyond_s) + each.ran.without * before for each in near]
    alike = _ALIKE * float(np.max(rows))
    found, _ = nnls(np.array([*rows, [alike, -alike]], float), np.array([*said, 0.0]))
    return Own(*(round(float(each) * 1e12) for each in (*found, before)))


def _hidden(near: Sequence[Beyond], far: Sequence[Beyond]) -> float:
    """Seconds of a fault that waits hide."""
    hidden, waiting = 0.0, 0
    for each in far:
        for without in near:
            if without.ran.cache_pages == each.ran.cache_pages:
                hidden += without.beyond_s + each.waits_s - each.beyond_s
                waiting += each.ran.waiting
    return max(0.0, hidden) / waiting if waiting else 0.0
