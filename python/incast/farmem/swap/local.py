"""Keeps a program's local memory at its size: a group's limit counts more than that.

The kernel charges a group for the pages of files that it read and for what the kernel keeps for it (page
tables, reserves of each processor). None of that is memory that could be remote, so the limit is that much
above the size, and follows it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from incast.farmem.swap.group import Group

ROOM = 1 << 18
"""Bytes above the size before a program has begun."""
_STEP = 1 << 17
"""The limit is not lowered for less: the kernel lets the process that lowers it write pages back."""
_BEGIN_S, _EACH_S = 0.001, 0.005
"""How often the limit follows: in the first tenth of a second, and then."""
_FAST = 100


class Keeper:
    """Follows what a group is charged for, and what it had at most."""

    def __init__(self, group: Group, size: int) -> None:
        self._group, self._size = group, size
        self._limit = size + ROOM
        self.local = 0
        """Most bytes of local memory."""
        self.used = 0
        """Most bytes of the program's memory, local or not."""

    def look(self) -> None:
        """Once."""
        use = self._group.use()
        self.local = max(self.local, use.local)
        self.used = max(self.used, use.local + use.swapped)
        limit = self._size + use.all - use.local
        if (limit > self._limit or limit < self._limit - _STEP) and self._group.limit(limit):
            self._limit = limit

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Until this is left."""
        end = threading.Event()

        def follow() -> None:
            # Before all others, however busy the machine is.
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            turn = 0
            while not end.wait(_BEGIN_S if turn < _FAST else _EACH_S):
                self.look()
                turn += 1

        thread = threading.Thread(target=follow, name="local memory", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()
            self.look()
