"""A program as a trace of its page faults shows it: what caches of any size make of it.

The trace is written by the handler of page faults; its form is in crates/farmem/src/trace.rs.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from incast import _core
from incast.bounded import read_bytes
from incast.errors import Problem, ScenarioError, why

__all__ = ["POLICIES", "Cache", "Counts", "Handled", "Traced"]

POLICIES = ("fifo", "clock", "lru")
_PAGES_MAX = 2**31 - 1
_BYTES_MAX = 2**32 + 4096
"""As many records as the core takes, and some that are empty."""
_SHORTER = ": trace a shorter run"
_EXACT = 1_000_000
"""So many pages are all looked at for a curve; of more, a sample of about as many."""


class Counts(NamedTuple):
    """What a run through a program's accesses with a cache comes to."""

    hits: int
    """Accesses to pages that are local."""
    cold: int
    """First accesses: pages full of zeros, nothing is fetched."""
    faults: int
    """Faults that something is fetched for."""
    fetched: int
    """Pages fetched, with those read ahead."""
    requests: int
    """Requests that they come with."""
    written_back: int
    """Pages written back."""
    sends: int
    """Requests that they go with."""


class Handled(NamedTuple):
    """What the handler of faults does for them."""

    counts: Counts
    unseen: int
    """First accesses while all that was asked for fitted: nobody handles them."""
    evicted: int
    """Pages that left for others, written back or not."""
    waiting: int
    """Faults that wait: something is fetched, or a page left that had to be written back."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Local memory."""

    pages: int
    """How many pages it has."""
    policy: str
    """Which page leaves: fifo, clock or lru."""
    read_ahead: int = 0
    """How many of the pages that follow are fetched with one."""
    pages_a_request: int = 1
    """How many of those that a fault fetches, and of those that it sends, share a latency."""


@dataclass(frozen=True)
class Traced:
    """A program's trace."""

    name: str
    trace: _core.FarmemTrace
    _steps: dict[int, _core.FarmemSteps] = field(default_factory=dict)
    _curves: dict[tuple[int, int], _core.FarmemCurve] = field(default_factory=dict)
    _threads: dict[int, _core.FarmemThreads] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> Traced:
        """The trace in a file."""
        try:
            return Traced(path.stem, _core.FarmemTrace(read_bytes(path, _BYTES_MAX)))
        except OSError as error:
            problem = f"can't read it: {why(error)}{_SHORTER if error.errno == errno.EFBIG else ''}"
        except ValueError as error:
            problem = str(error)
        raise ScenarioError([Problem(problem, file=str(path))])

    @property
    def page(self) -> int:
        """Bytes of a page, as the trace was taken."""
        return self.trace.taken()[0]

    @property
    def policy(self) -> str:
        """Which page left the cache that the program had."""
        return self.trace.taken()[1]

    @property
    def cache_bytes(self) -> int:
        """The cache that it had: smaller ones can't be predicted."""
        return self.trace.taken()[2] * self.page

    def footprint(self, page: int | None = None) -> int:
        """The most bytes of pages in use at a time."""
        page = page or self.page
        return self.steps(page).footprint() * page

    @property
    def threads(self) -> int:
        """How many threads accessed pages."""
        return self.steps(self.page).threads()

    @property
    def computed_ps(self) -> int:
        """How long it computed while it was traced."""
        return self.steps(self.page).computed_ps()

    def steps(self, page: int) -> _core.FarmemSteps:
        """What it did, in pages of this size."""
        if page not in self._steps:
            self._steps[page] = self.trace.steps(page)
        return self._steps[page]

    def counts(self, page: int, cache: Cache) -> Counts:
        """What a cache counts whose pages have this size."""
        if cache.policy == "lru" and not cache.read_ahead:
            return Counts(*self._curve(page).counts(_bounded(cache.pages)))
        return self.handled(page, cache).counts

    def handled(self, page: int, cache: Cache) -> Handled:
        """The same of a single cache, and what it takes to handle its faults.

        Nothing is remote before the program has asked for more than fits, where the trace says that.
        """
        counts, *beside = self.steps(page).replay(
            _bounded(cache.pages), cache.policy, cache.read_ahead, cache.pages_a_request
        )
        return Handled(Counts(*counts), *beside)

    def longer_ps(self, page: int, cache: Cache, cost: tuple[int, int, int, bool, int]) -> int:
        """How much longer the program takes until its last thread ends, because waits of threads overlap.

        `cost`: bytes of a page as it travels, latency, bandwidth, whether faults wait for write-backs, and
        what it takes to handle a fault.
        """
        if page not in self._threads:
            self._threads[page] = self.trace.threads(page)
        local = (_bounded(cache.pages), cache.policy, cache.read_ahead, cache.pages_a_request)
        return self._threads[page].longer(local, cost)

    def _curve(self, page: int) -> _core.FarmemCurve:
        one_in = max(1, self.steps(page).footprint() // _EXACT)
        key = (page, one_in)
        if key not in self._curves:
            self._curves[key] = self.steps(page).curve(one_in)
        return self._curves[key]


def _bounded(pages: int) -> int:
    return min(max(pages, 1), _PAGES_MAX)
