"""A live run to be started: its hosts, how their members are started, and what comes out.

Not here: what happens meanwhile (`running`), what members do (their work is named by a function), and what
becomes of the reports.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from incast.errors import RunError
from incast.live.control import Frame

Watch = Callable[[Mapping[int, Mapping[str, Any]]], None]
"""Is told the last progress of every host, by number."""

Tick = Callable[[Callable[[Frame], None]], None]
"""Is called many times a second with a function that tells all members something, those restarted too."""


class Child(Protocol):
    """A process that was started."""

    def poll(self) -> int | None:
        """Its exit code; `None` while it runs."""
        ...

    def kill(self) -> None:
        """Ends it at once."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended; raises when that takes longer."""
        ...


@runtime_checkable
class Says(Protocol):
    """A child that may know why it has ended."""

    def said(self) -> str:
        """Its last words; empty when there are none."""
        ...


Start = Callable[[int, tuple[str, int], bytes], Child]
"""Starts the member of a host, which connects to an address and proves that it knows the key."""


def start_here(host: int, address: tuple[str, int], key: bytes) -> Child:
    """A process on this machine."""
    # In a group of its own: a Ctrl-C in the terminal is the launcher's, from the first moment on.
    child = subprocess.Popen([sys.executable, "-m", "incast.live"], stdin=subprocess.PIPE, process_group=0)
    told = {"ip": address[0], "port": address[1], "key": key.hex(), "host": host}
    assert child.stdin is not None
    # Not in the arguments or the environment: others on this machine can read those.
    with contextlib.suppress(BrokenPipeError):  # It has ended already: its watcher says so.
        child.stdin.write((json.dumps(told) + "\n").encode())
        child.stdin.close()
    return child


@dataclass(frozen=True)
class Host:
    """A host of a run."""

    number: int
    name: str
    ports: Sequence[int]
    """Ports of its jobs, by the jobs' own numbers."""
    work: Mapping[str, Any]
    """What its work is told: anything that JSON carries."""
    ip: str = "127.0.0.1"
    needed: bool = True
    """The run fails with it. One that is not needed costs only itself."""
    awaited: bool = True
    """The run doesn't begin without it. Of the others at least one must be there, and they may come late."""
    returns: bool = False
    """Once it was there, it may be away for as long as the run has patience: then it goes on where it was, or
    is started again. For hosts that are not needed, with work that outlives the launcher
    (`incast.live.member`)."""


@dataclass(frozen=True)
class Outcome:
    """What came out of a run."""

    reports: list[dict[str, Any]]
    """Of every host that was there at the end."""
    finished: bool
    """All hosts have finished; otherwise the run was stopped."""
    crashes: dict[int, int]
    """How often each host crashed."""
    addresses: list[dict[str, Any]]
    failures: dict[int, str] = field(default_factory=dict)
    """Hosts that were not needed and failed: why."""
    restarts: dict[int, int] = field(default_factory=dict)
    """How often each host was restarted."""
    unreachable: frozenset[int] = frozenset()
    """Hosts whose member never came in."""


class FailedRunError(RunError):
    """A run that failed, with what is known of each host and what those that were left have reported."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass
class Launch:
    """A run to be started."""

    hosts: Sequence[Host]
    work: str
    """The function that prepares a member's work, as `module:function` of this package."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    restarts: int = 0
    """Crashes of members that are made good, in all. One more fails the run; so does a member that dies five
    times in a row before it is ready."""
    shared: bool = False
    """When all have finished, each of them has left what the run has found: any of them may die unheard."""
    patience_s: float = 30.0
    """A member that is silent for longer has failed."""
    farewell_s: float = 5.0
    """A member that has reported has this long to end."""
    gather_s: float = 2.0
    """When what is needed is there, the run waits so long for hosts that are not."""
    limit_s: float | None = None
    """The run is stopped after it."""
    start: Start = start_here
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """What members prove that they know."""
    ip: str = "127.0.0.1"
    """Where members reach this process."""
