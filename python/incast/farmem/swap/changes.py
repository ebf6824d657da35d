"""What a run changes about the machine: noted before it is changed, and undone however the run ends.

Beside each run a process waits for its end, a kill too, and undoes (`python -m incast.farmem.swap.changes`).
Should that be killed as well, the next run finds the note. One run at a time has the machine's swapping: both
processes hold the lock's one descriptor.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from incast.errors import RunError
from incast.farmem.swap.device import CLUSTER, Device
from incast.farmem.swap.group import Group

FOLDER = Path("/run/incast-farmem-swap")
"""The lock and the note: they are as short-lived as what they are about."""
_NOTE = FOLDER / "changes.json"
_PATIENCE_S = 15.0
"""How long what a killed run has left may take to be undone by its own process."""


@dataclass(slots=True)
class Changes:
    """Of a run, until they are undone."""

    pid: int
    """Whose run it is."""
    group: Group | None = None
    device: Device | None = None
    cluster: str | None = None
    """What `CLUSTER` said before."""

    def note(self) -> None:
        """Writes it down, whole or not at all."""
        note = asdict(self)
        if self.group:
            note["group"]["path"] = str(self.group.path)
        new = _NOTE.with_suffix(".new")
        new.write_text(json.dumps(note))
        new.replace(_NOTE)

    @classmethod
    def noted(cls) -> Changes | None:
        """What is written down."""
        try:
            note = json.loads(_NOTE.read_text())
        except FileNotFoundError:
            return None
        group, device = note["group"], note["device"]
        return cls(
            note["pid"],
            Group(Path(group["path"]), group["version"]) if group else None,
            Device(**device) if device else None,
            note["cluster"],
        )

    def undo(self) -> None:
        """Takes all of it back. Raises `RunError` with what could not be; the note stays then."""
        failed = [error for error in map(_tried, (self._group, self._cluster, self._device)) if error]
        if failed:
            raise RunError(
                f"not undone: {'; '.join(failed)}. The next incast farmem run --backend swap tries again; "
                f"{_NOTE} says what there is"
            )
        _NOTE.unlink(missing_ok=True)

    def _group(self) -> None:
        # First: what it had on the device goes with it.
        if self.group:
            self.group.remove()

    def _cluster(self) -> None:
        if self.cluster and CLUSTER.read_text().strip() == "0":
            CLUSTER.write_text(self.cluster)

    def _device(self) -> None:
        if self.device:
            self.device.remove()


def _tried(step: Callable[[], None]) -> str | None:
    try:
        step()
    except (RunError, OSError) as error:
        return str(error)
    return None


@contextmanager
def undone() -> Iterator[Changes]:
    """Changes that are undone when this is left or killed. Raises `RunError` when another run has some."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        _wait_for(lock.fileno())
        left = Changes.noted()
        if left:
            left.undo()
        changes = Changes(os.getpid())
        changes.note()
        with subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(lock.fileno(),),
            # Ctrl-C is not for it.
            start_new_session=True,
        ):
            # Leaving closes its input, and waits for it.
            yield changes


def _wait_for(lock: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = Changes.noted()
            if running and _lives(running.pid):
                raise RunError(
                    f"another incast farmem run --backend swap is running (process {running.pid}): one at a "
                    "time can have the machine's swapping"
                ) from None
            if time.monotonic() > until:
                raise RunError(
                    f"{FOLDER / 'lock'} is held by a process that doesn't end: fuser -v names it"
                ) from None
            time.sleep(0.05)
        else:
            return


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Waits for the end of the run that started this process, and undoes what it noted."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    changes = Changes.noted()
    if changes:
        try:
            changes.undo()
        except RunError as error:
            sys.exit(f"incast farmem: {error}")


if __name__ == "__main__":
    main()
