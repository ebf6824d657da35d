"""What faults cost without a network on this machine, from one traced run of the program.

Injecting takes time of its own: the switch to the handler and back, the page that leaves, the page that
comes. The traced run waits for no network, so what it takes longer than with all memory local, divided by its
faults, is this cost. A part of it, for the page that leaves, comes before the wait, which is counted from the
fault on: a wait that is longer hides it, and a fault for which no page leaves does not have it.
"""

from __future__ import annotations

from dataclasses import dataclass

from incast.farmem.traced import Counts

__all__ = ["Own", "calibrate"]


@dataclass(frozen=True, slots=True)
class Own:
    """What a fault costs, first touches too."""

    fault_ps: int = 0
    """Without a network, where a page has to leave."""
    before_ps: int = 0
    """The part of it for the page that leaves."""

    def total(self, counts: Counts, unseen: int, cache_pages: int, waits_ps: int) -> int:
        """Picoseconds that all faults of a run add to its waits for the network.

        Of its first touches, `unseen` took place while all fitted, before anything was handled.
        """
        handled = counts.faults + max(0, counts.cold - unseen)
        without = max(0, handled - _evicted(counts, cache_pages))
        hidden = min(_waiting(counts, cache_pages) * self.before_ps, waits_ps)
        return handled * self.fault_ps - without * min(self.before_ps, self.fault_ps) - hidden


def calibrate(beyond_s: float, before_s: float, counts: Counts, unseen: int, cache_pages: int) -> Own:
    """From a run without a network that took `beyond_s` longer than with all memory local.

    `before_s` is what its handler did before waits, in all; `counts` and `cache_pages` are of its trace and
    its cache, and `unseen` as in `Own.total`.
    """
    handled = counts.faults + max(0, counts.cold - unseen)
    waiting = _waiting(counts, cache_pages)
    if not handled:
        return Own()
    before = before_s / waiting if waiting else 0.0
    without = max(0, handled - _evicted(counts, cache_pages))
    each = (max(0.0, beyond_s) + without * before) / handled
    return Own(round(each * 1e12), round(before * 1e12))


def _evicted(counts: Counts, cache_pages: int) -> int:
    """Faults for which a page left."""
    return max(0, counts.faults + counts.cold - cache_pages)


def _waiting(counts: Counts, cache_pages: int) -> int:
    """Faults that wait for the network: those that fetch, and first touches for which a written page left."""
    evicted = _evicted(counts, cache_pages)
    if not evicted:
        return counts.faults
    # Nothing is fetched before something left, so the first pages to come are first touches.
    touched = max(0, counts.cold - cache_pages)
    return counts.faults + round(touched * min(1.0, counts.written_back / evicted))
