"""Live runs whose moments a test chooses: who dies had work to do, however quick or slow the machine is."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from subprocess import Popen

import pytest

from incast.live.launch import Child, start_here
from incast.live.running import Member, Running

When = Callable[[], object]
LONG_S = 300.0
"""Patience for starts on a machine that is busy."""


class Lives:
    """Starts members on this machine, and remembers them: of each host all lives."""

    def __init__(self) -> None:
        self.of: dict[int, list[Popen[bytes]]] = {}

    def start(self, host: int, address: tuple[str, int], key: bytes) -> Child:
        """As `Launch` wants it."""
        child = start_here(host, address, key)
        assert isinstance(child, Popen)
        self.of.setdefault(host, []).append(child)
        return child

    def kill(self, host: int) -> None:
        """SIGKILL for its present life."""
        self.of[host][-1].kill()
        self.of[host][-1].wait()

    def again(self, host: int) -> bool:
        """Whether it has been restarted."""
        return len(self.of.get(host, [])) > 1


def not_over_before(patch: pytest.MonkeyPatch, when: When) -> None:
    """A run does not end well before something is true, even if all have finished."""
    finished = Running._finished
    patch.setattr(Running, "_finished", lambda running: bool(when()) and finished(running))


def meanwhile(patch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """The launcher does this again and again, between what it does itself."""
    step = Running._step

    def step_and_more(running: Running) -> None:
        step(running)
        what()

    patch.setattr(Running, "_step", step_and_more)


def held(patch: pytest.MonkeyPatch, lives: Lives, host: int, until: When) -> None:
    """A member stands still from its beginning until something is true: who needs it can't finish."""
    begin = Running._begin
    still: list[Popen[bytes]] = []

    def begin_held(running: Running, member: Member) -> None:
        if member.host.number == host and member.life == 0:
            still.append(lives.of[host][0])
            still[0].send_signal(signal.SIGSTOP)
        begin(running, member)

    def go_on() -> None:
        if still and until():
            still.pop().send_signal(signal.SIGCONT)

    patch.setattr(Running, "_begin", begin_held)
    meanwhile(patch, go_on)


def silent(patch: pytest.MonkeyPatch, host: int, when: When) -> None:
    """A member counts as silent for longer than anybody's patience while something is true."""
    look = Running._look

    def look_closer(running: Running) -> None:
        if when():
            running.members[host].heard = -math.inf
        look(running)

    patch.setattr(Running, "_look", look_closer)
