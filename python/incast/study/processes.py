"""Runs in processes of their own, a few at a time.

So each one's processor time and memory are its own, and one that is killed takes no other with it. A process
takes the next run when its own has ended. What a run finds does not depend on how many there are at a time.
Brief ones (plans) are run here, before the others.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from incast.runs import Watch
from incast.study.cells import CellRun
from incast.study.execute import Ended, forget_memory, note, run_brief, run_one

# A fresh interpreter each: forking a process that has threads is not safe.
_SPAWN = multiprocessing.get_context("spawn")
_POLL_S = 0.2
_TERMINAL = (signal.SIGINT, signal.SIGHUP)
"""Signals of a terminal, which reach all processes that were started there."""
_SHORT_S = 0.1
"""A process whose last run was shorter is sent one ahead: to wait for it would be a part of its time."""
_AHEAD_BYTES = 32_768
"""So much waits in a connection that nobody reads."""


class Processes:
    """So many processes at most. They end when this is left, whatever they do."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: list[_Worker] = []
        self._active: dict[Connection, _Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in [*self._idle, *self._active.values()]:
            worker.end()

    def start(self, runs: int) -> None:
        """Starts those that so many runs will need: they load Python while somebody prepares the runs."""
        self._idle += [_Worker() for _ in range(min(self._most, runs) - len(self._idle))]

    def run(self, runs: Sequence[CellRun], out: Path, watch: Watch) -> Generator[Ended]:
        """Runs all, and yields each as it ends."""
        yield from run_brief(runs, out)
        orders = _Orders(runs, out)
        self._give(orders)
        while self._active:
            for ready in wait(list(self._active), timeout=_POLL_S):
                assert isinstance(ready, Connection)
                worker = self._active[ready]
                message = worker.hear()
                if isinstance(message, Ended):
                    yield self._ended(worker, message, orders)
                else:
                    watch(worker.numbers[0], message)

    def _ended(self, worker: _Worker, ended: Ended, orders: _Orders) -> Ended:
        """Goes on before somebody looks at the one that has ended."""
        number = worker.numbers.popleft()
        if not worker.alive:
            orders.take_back(worker)
        if not worker.numbers:
            self._idle.append(self._active.pop(worker.connection))
        self._give(orders)
        # The last runs go to whoever is free first.
        if ended.cost and ended.cost.wall_s < _SHORT_S and len(orders) > self._most:
            orders.give_ahead(worker)
        return replace(ended, number=number)

    def _give(self, orders: _Orders) -> None:
        """Gives a run to each process that has none."""
        while orders and len(self._active) < self._most:
            worker = self._free()
            self._active[worker.connection] = worker
            orders.give(worker)

    def _free(self) -> _Worker:
        """One that has no run, and was not killed meanwhile."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.end()
        return _Worker()


class _Orders:
    """Runs that no process has yet."""

    def __init__(self, runs: Sequence[CellRun], out: Path) -> None:
        self._runs = runs
        self._out = out
        self._waiting = deque(number for number, each in enumerate(runs) if not each.work.brief)

    def __len__(self) -> int:
        return len(self._waiting)

    def give(self, worker: _Worker) -> None:
        """Gives the next one to a process that has none."""
        text = self._text()
        worker.begin(self._waiting.popleft(), text)

    def give_ahead(self, worker: _Worker) -> None:
        """Gives the next one to a process that is at work, if it need not be read at once."""
        text = self._text()
        if len(text) <= _AHEAD_BYTES:
            worker.begin(self._waiting.popleft(), text)

    def take_back(self, worker: _Worker) -> None:
        """Has what a process that is gone had not begun done by another."""
        self._waiting.extendleft(reversed(worker.numbers))
        worker.numbers.clear()

    def _text(self) -> memoryview:
        run = self._runs[self._waiting[0]]
        return ForkingPickler.dumps((run, self._out / run.place))


class _Worker:
    """A process that runs one after the other: what Python takes to begin is paid once."""

    def __init__(self) -> None:
        self.numbers: deque[int] = deque()
        """Its runs: the one that it does, then one that it was sent ahead."""
        self.connection, theirs = _SPAWN.Pipe()
        self._process: BaseProcess = _SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        # It unblocks signals when it begins.
        resource_tracker.ensure_running()
        # A process that still loads Python does not know yet what Ctrl-C is to mean.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
        try:
            with _without_script():
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def begin(self, number: int, order: memoryview) -> None:
        """Tells it to do a run; of a process that is gone, `hear` says so."""
        self.numbers.append(number)
        with suppress(BrokenPipeError):
            self.connection.send_bytes(order)

    def hear(self) -> Mapping[str, Any] | Ended:
        """The next message of its run: how far it is, or how it ended."""
        try:
            message: Mapping[str, Any] | Ended = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return Ended(0, None, f"its process ended with code {self._process.exitcode}")
        return message

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self._process.terminate()
        self._process.join()
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
