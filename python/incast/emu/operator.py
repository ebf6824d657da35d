"""An operator at emulated hosts: a run's time goes on only while a command runs."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from incast.bounded import read_end
from incast.document import Node
from incast.emu import relay
from incast.errors import RunError, why
from incast.written import WrittenScenario

JOB = "operator"
"""The job that stands for the operator: it never ends."""
UNTIL = "1h"
"""When a scenario has no end of its own, in simulated time."""
PLACE = "/run/incast"
"""Where a host sees its own folder (`PLACE` of crates/emu/src/host.rs)."""
OUTPUT_MAX = 64 << 20
"""Of a longer output the last bytes are shown."""


@dataclass(frozen=True)
class Order:
    """A command for a host."""

    host: str
    command: str


class Desk(Protocol):
    """Where orders come from."""

    def next(self, now_ps: int) -> Order | None:
        """The next one, however long that takes; None ends the run."""

    def answer(self, order: Order, code: int, output: bytes) -> None:
        """It has ended with this exit code, and has printed this."""

    def interrupted(self) -> bool:
        """Whether the order that runs is to end, once for each time that somebody has asked for it."""

    def over(self) -> bool:
        """Whether the run is to end, whatever runs."""


class Operator:
    """Takes orders to hosts. The core calls it between any two steps of a run."""

    def __init__(self, guests: Path, hosts: Sequence[str], desk: Desk) -> None:
        """`guests` has the hosts' folders."""
        self.guests = guests
        self.desk = desk
        self._numbers = dict.fromkeys(hosts, 0)
        self._ready: set[str] = set()
        self._running: tuple[Order, int] | None = None

    def __call__(self, now_ps: int, answers: list[tuple[str, int, int]]) -> list[str] | None:
        """Takes the time and what was answered; returns the hosts that have something to read."""
        for host, number, code in answers:
            if number == 0:
                self._ready.add(host)
            elif self._running and (host, number) == (self._running[0].host, self._running[1]):
                self._end(code)
        if self.desk.over():
            return None
        if not self._ready.issuperset(self._numbers):
            return []
        if self._running:
            return self._ask(self._running[0].host, "interrupt", "") if self.desk.interrupted() else []
        order = self.desk.next(now_ps)
        if order is None:
            return None
        rung = self._ask(order.host, "asked", order.command)
        self._running = order, self._numbers[order.host]
        return rung

    def _ask(self, host: str, what: str, text: str) -> list[str]:
        self._numbers[host] += 1
        place = self.guests / host / f"{what}.{self._numbers[host]}"
        try:
            place.write_text(text)
        except OSError as error:
            raise RunError(f"{place}: {why(error)}") from None
        return [host]

    def _end(self, code: int) -> None:
        assert self._running
        order, number = self._running
        self._running = None
        place = self.guests / order.host / f"answer.{number}"
        output = b""
        with contextlib.suppress(FileNotFoundError):
            output = read_end(place, OUTPUT_MAX)
            if place.stat().st_size > len(output):
                output = f"[this is the end of {place}]\n".encode() + output
        self.desk.answer(order, code, output)


def with_operator(written: WrittenScenario, choice: str, hosts: Sequence[str], at: str) -> WrittenScenario:
    """The scenario (or one of its choices) with an operator at these hosts, who begins at a time."""
    document = written.variant(choice)
    assert isinstance(document.value, dict)
    command = shlex.join([sys.executable, "-I", "-S", relay.__file__, PLACE])
    job = {"name": JOB, "kind": "program", "hosts": list(hosts), "command": command, "start": at}
    listed = document.child("jobs")
    jobs = listed.value if listed and isinstance(listed.value, list) else []
    fields = {"until": Node.of(UNTIL), **document.value}
    fields["jobs"] = Node([*jobs, Node.of(job)], listed.mark if listed else document.mark)
    return replace(written, document=Node(fields, document.mark))
