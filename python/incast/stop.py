"""Ctrl-C while something runs: the first asks it to end in good order, so that what was measured is kept.

The second ends it at once.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Stop:
    """Set by Ctrl-C while it is entered, in the main thread; elsewhere only by `set`."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._before: Any = None

    @property
    def asked(self) -> bool:
        """Somebody wants it to end."""
        return self.event.is_set()

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        if self.event.is_set():
            raise KeyboardInterrupt
        self.event.set()

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        # Who ignores Ctrl-C, or handles it in a way of its own, goes on doing so.
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
