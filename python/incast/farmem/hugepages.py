"""Programs without transparent huge pages: PR_SET_THP_DISABLE of prctl(2), which processes inherit.

What is remote comes and goes in small pages. With huge ones, a program with all memory local would be
compared with something else than distance, and with chance: the kernel may have to move others' pages
together for them (Documentation/admin-guide/mm/transhuge.rst, defrag), which made one and the same
convolution take 0.30 to 0.85 s.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["none"]

_SET, _GET = 41, 42
"""`PR_SET_THP_DISABLE`, `PR_GET_THP_DISABLE`; a kernel without huge pages refuses, and needs neither."""


@contextmanager
def none() -> Iterator[None]:
    """What is started meanwhile gets none."""
    libc = ctypes.CDLL(None)
    before = libc.prctl(_GET, 0, 0, 0, 0)
    libc.prctl(_SET, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_SET, max(0, before), 0, 0, 0)
