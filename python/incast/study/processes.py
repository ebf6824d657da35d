"""Runs in processes of their own, a few at a time.

So each one's processor time and memory are its own, and one that is killed takes no other with it. What a run
finds does not depend on how many there are at a time. Brief ones (plans) are run here, before the others.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeAlias

from incast.errors import IncastError
from incast.study.cells import CellRun

# A fresh interpreter each: forking a process that has threads is not safe.
_SPAWN = multiprocessing.get_context("spawn")
_POLL_S = 0.2

Watch: TypeAlias = "Callable[[int, Mapping[str, Any]], None]"
"""Is told a run's number and how far it has come; `fraction` is the part that is done, if known."""


@dataclass(frozen=True)
class Cost:
    """What a run took: differs from time to time and from machine to machine."""

    wall_s: float
    cpu_s: float
    memory_max_bytes: int
    """The process's greatest resident memory, Python and its libraries included."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    number: int
    cost: Cost | None
    error: str = ""
    """Why it failed; empty when it didn't."""


def run(runs: Sequence[CellRun], out: Path, jobs: int, watch: Watch | None = None) -> Generator[Ended]:
    """Runs all, `jobs` at a time, and yields each as it ends. Closing the iterator ends those that run."""
    for number, each in enumerate(runs):
        if each.work.brief:
            yield replace(_run(each, out / each.place, _tell_nobody), number=number)
    waiting = [(number, each) for number, each in enumerate(runs) if not each.work.brief][::-1]
    active: dict[Connection, tuple[int, BaseProcess]] = {}
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                number, each = waiting.pop()
                ours, theirs = _SPAWN.Pipe(duplex=False)
                process: BaseProcess = _SPAWN.Process(
                    target=_work, args=(theirs, each, out / each.place), daemon=True
                )
                process.start()
                theirs.close()
                active[ours] = number, process
            for ready in wait(list(active), timeout=_POLL_S):
                assert isinstance(ready, Connection)
                ended = _hear(ready, *active[ready], watch)
                if ended:
                    del active[ready]
                    yield ended
    finally:
        for ours, (_, process) in active.items():
            process.terminate()
            process.join()
            ours.close()


def _hear(ready: Connection, number: int, process: BaseProcess, watch: Watch | None) -> Ended | None:
    """The next message of a run; its end where that was the last."""
    try:
        message = ready.recv()
    except EOFError:
        process.join()
        return Ended(number, None, f"its process ended with code {process.exitcode}")
    if isinstance(message, Ended):
        process.join()
        ready.close()
        return Ended(number, message.cost, message.error)
    if watch:
        watch(number, message)
    return None


def _work(connection: Connection, run: CellRun, place: Path) -> None:
    """What a process does. Ctrl-C and the terminal's end reach it too: the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def tell(_: int, progress: Mapping[str, Any]) -> None:
        try:
            connection.send({key: progress[key] for key in ("fraction", "sim_time_ps", "events")})
        except BrokenPipeError:  # the parent was killed: nobody waits for this run
            os._exit(1)

    connection.send(_run(run, place, tell))


def _tell_nobody(_: int, __: Mapping[str, Any]) -> None:
    """Brief runs have no progress."""


def _run(run: CellRun, place: Path, tell: Watch) -> Ended:
    """Runs, and says what it took; under the number 0."""
    error = ""
    before = _cpu_s()
    wall_s = 0.0
    try:
        error, wall_s = run.work.run(place, tell)
    except (IncastError, OSError) as failed:
        error = str(failed)
    return Ended(0, Cost(wall_s, round(_cpu_s() - before, 3), _memory_max_bytes()), error)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory_max_bytes() -> int:
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
