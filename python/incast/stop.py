"""Requests to end while something runs: Ctrl-C, SIGTERM and SIGHUP mean the same.

The first asks it to end in good order, so that what was measured is kept. The second ends it at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

_Made = TypeVar("_Made")

REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a command to end: Ctrl-C, a service manager or scheduler, a terminal that closes."""

HEAR_S = 0.1
"""The main thread waits no longer at a time. Python hears of a signal between its own steps: of one that came
just before a wait, when that is over."""


def heed() -> None:
    """Lets each request raise `KeyboardInterrupt`, as Ctrl-C does; for commands, in the main thread.

    A signal that was ignored at the start, as by nohup, stays ignored.
    """
    for number in REQUESTS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


_interrupted = threading.Event()


def _interrupt(_: int, __: FrameType | None, /) -> None:
    _interrupted.set()
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether a request raised `KeyboardInterrupt`, of which a library may have made an error of its own."""
    return _interrupted.is_set()


def check() -> None:
    """Raises `KeyboardInterrupt` after a request whose own was swallowed, as pydantic-core does."""
    if was_interrupted():
        raise KeyboardInterrupt


def aside(make: Callable[[], _Made]) -> _Made:
    """What `make` gives, while this thread hears of requests to end: for what takes the core long."""
    made: list[_Made] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(make())
        except BaseException as error:
            failed.append(error)

    # Nobody waits for it after such a request.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(HEAR_S)
    if failed:
        raise failed[0]
    return made[0]


class Interrupted(KeyboardInterrupt):
    """A request to end that leaves something: the message says what is kept, and how to go on."""


class Stop:
    """Set by such a request while it is entered, in the main thread; elsewhere only by `set`."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """Somebody wants it to end."""
        return self.event.is_set()

    def _on_signal(self, _: int, __: FrameType | None, /) -> None:
        if self.event.is_set():
            raise KeyboardInterrupt
        self.event.set()

    def __enter__(self) -> Self:
        check()
        if threading.current_thread() is threading.main_thread():
            for number in REQUESTS:
                # A signal that the process ignores or already handles stays as it is.
                if signal.getsignal(number) in (_interrupt, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
