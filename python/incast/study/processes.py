"""Runs in processes of their own, a few at a time.

So each one's processor time and memory are its own, and one that is killed takes no other with it. A process
takes the next run when its own has ended. What a run finds does not depend on how many there are at a time.
Brief ones (plans) are run here, before the others.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from incast import _core
from incast.errors import IncastError
from incast.study import noted
from incast.study.cells import CellRun
from incast.study.noted import Cost

# A fresh interpreter each: forking a process that has threads is not safe.
_SPAWN = multiprocessing.get_context("spawn")
_POLL_S = 0.2
_TERMINAL = (signal.SIGINT, signal.SIGHUP)
"""Signals of a terminal, which reach all processes that were started there."""

Watch: TypeAlias = "Callable[[int, Mapping[str, Any]], None]"
"""Is told a run's number and how far it has come; `fraction` is the part that is done, if known."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    number: int
    cost: Cost | None
    """Nothing of one that failed."""
    error: str = ""
    """Why it failed; empty when it didn't."""


def run(runs: Sequence[CellRun], out: Path, jobs: int, watch: Watch | None = None) -> Generator[Ended]:
    """Runs all, `jobs` at a time, and yields each as it ends. Closing the iterator ends those that run."""
    yield from run_brief(runs, out)
    waiting = _orders(runs, out)
    upcoming = next(waiting, None)
    idle: list[_Worker] = []
    active: dict[Connection, tuple[int, _Worker]] = {}

    def begin() -> None:
        nonlocal upcoming
        while upcoming and len(active) < jobs:
            number, order = upcoming
            worker = _free(idle)
            active[worker.connection] = number, worker
            worker.begin(order)
            upcoming = next(waiting, None)

    try:
        begin()
        while active:
            for ready in wait(list(active), timeout=_POLL_S):
                assert isinstance(ready, Connection)
                number, worker = active[ready]
                message = worker.hear()
                if isinstance(message, Ended):
                    del active[ready]
                    idle.append(worker)
                    begin()  # The next one runs while somebody looks at this one.
                    yield replace(message, number=number)
                elif watch:
                    watch(number, message)
    finally:
        for worker in [*idle, *(worker for _, worker in active.values())]:
            worker.end()


def run_brief(runs: Sequence[CellRun], out: Path) -> Generator[Ended]:
    """Runs those here that are over at once."""
    for number, each in enumerate(runs):
        if each.work.brief:
            place = out / each.place
            yield replace(note(each, place, run_one(each, place, tell_nobody)), number=number)


def _orders(runs: Sequence[CellRun], out: Path) -> Iterator[tuple[int, memoryview]]:
    """What tells a process to do a run, for each that needs one; made before a process waits for it."""
    for number, each in enumerate(runs):
        if not each.work.brief:
            yield number, ForkingPickler.dumps((each, out / each.place))


def _free(idle: list[_Worker]) -> _Worker:
    """One that has no run, and was not killed meanwhile."""
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            return worker
        worker.end()
    return _Worker()


class _Worker:
    """A process that runs one after the other: what Python takes to begin is paid once."""

    def __init__(self) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self.process: BaseProcess = _SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        # It unblocks signals when it begins.
        resource_tracker.ensure_running()
        # A process that still loads Python does not know yet what Ctrl-C is to mean.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
        try:
            with _without_script():
                self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def begin(self, order: memoryview) -> None:
        """Begins a run; of a process that is gone, `hear` says so."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(order)

    def hear(self) -> Mapping[str, Any] | Ended:
        """The next message of its run: how far it is, or how it ended."""
        try:
            message: Mapping[str, Any] | Ended = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return Ended(0, None, f"its process ended with code {self.process.exitcode}")
        return message

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.process.terminate()
        self.process.join()
        self.connection.close()


@contextmanager
def _without_script() -> Iterator[None]:
    """Processes that begin meanwhile don't import the caller's script, of which they need nothing.

    Without `if __name__ == "__main__":` in it, each would begin the study again.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _work(connection: Connection) -> None:
    """What a process does. Ctrl-C and the terminal's end reach it too: the parent decides."""
    for number in _TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERMINAL)

    def tell(_: int, progress: Mapping[str, Any]) -> None:
        try:
            connection.send({key: progress[key] for key in ("fraction", "sim_time_ps", "events")})
        except BrokenPipeError:  # the parent was killed: nobody waits for this run
            os._exit(1)

    settled = False
    while True:
        forget_memory()  # while the next run is on its way
        try:
            run, place = connection.recv()
        except EOFError:
            return
        with suppress(BrokenPipeError):  # nobody waits for it any more
            connection.send(note(run, place, run_one(run, place, tell)))
        if not settled:
            # What it has loaded stays. To look for garbage there takes as long as a small run.
            gc.collect()
            gc.freeze()
            settled = True


def tell_nobody(_: int, __: Mapping[str, Any]) -> None:
    """For runs whose progress nobody sees."""


def run_one(run: CellRun, place: Path, tell: Watch) -> Ended:
    """Runs in this process; under the number 0."""
    before = _cpu_s()
    try:
        error, wall_s = run.work.run(place, tell)
    except (IncastError, OSError) as failed:
        return Ended(0, None, str(failed))
    cost = Cost(wall_s, round(_cpu_s() - before, 3), _memory_max_bytes())
    return Ended(0, None, error) if error else Ended(0, cost)


def note(run: CellRun, place: Path, ended: Ended) -> Ended:
    """How it ended, noted in its folder, which is complete, if it did not fail."""
    try:
        if ended.cost:
            noted.write(run, place, ended.cost)
    except OSError as failed:
        return replace(ended, cost=None, error=str(failed))
    return ended


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def forget_memory() -> None:
    """What earlier runs had is given back, and their greatest memory forgotten: proc_pid_clear_refs(5)."""
    gc.collect()
    _core.give_back()
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _memory_max_bytes() -> int:
    if sys.platform == "linux":
        [peak] = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
        return int(peak.split()[1]) * 1024
    # macOS counts in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
