"""A member of a live run as an actor of Ray: what runs on a node, and what its launcher sees of it.

Not here: on which node (`cluster`). Source: the Ray documentation, *Actors* and *Fault tolerance of actors*.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from incast.errors import RunError
from incast.scratch import kept

RETRY_S = 1.0
"""Between attempts to place a member."""
IDLE_S = 20.0
"""An actor that outlives its launcher ends when it has had nothing to do for so long."""

Begun = tuple[Any, Any, Any]
"""An actor, the promise that it has come to be, and that of its exit code."""


class Member:
    """Is a member, in a worker process of Ray's that does nothing else."""

    def __init__(self, outlives: bool = False) -> None:
        self._outlives = outlives
        self._wait()

    def _wait(self) -> None:
        """Ray ends other actors with their launcher; this one has to do so itself."""
        self._idle = threading.Timer(IDLE_S, os._exit, (0,))
        self._idle.daemon = True
        if self._outlives:
            self._idle.start()

    def is_here(self) -> int:
        """Says that the actor has come to be."""
        return os.getpid()

    def take_part(
        self, address: tuple[str, int], key: bytes, host: int, names: list[str], *files: bytes
    ) -> tuple[int, dict[str, bytes]]:
        """Takes part in a run; the exit code, and the files it leaves."""
        import ray

        from incast.live.member import serve

        self._idle.cancel()
        try:
            # The same for all lives of a member on this machine, and known to nobody else.
            with kept(f"{hashlib.sha256(key).hexdigest()[:32]}-{host}") as folder:
                os.chdir(folder)
                for each, content in zip(names, files, strict=True):
                    (folder / each).write_bytes(content)
                code = serve(address, key, host, ray.util.get_node_ip_address())
                own = {*names, *(file.name for file in folder.glob(".*"))}
                left = {file.name: file.read_bytes() for file in folder.iterdir() if file.name not in own}
                os.chdir("/")
        finally:
            self._wait()
        return code, left


class ActorChild:
    """A member as a child of the launcher.

    A cluster takes a moment to notice that a node is gone, and places actors there until then: one that
    never came to be is tried again.
    """

    def __init__(self, ray: Any, begin: Callable[[], Begun], patience_s: float) -> None:
        self._ray = ray
        self._begin = begin
        self._end = time.monotonic() + patience_s
        self._code: int | None = None
        self._why = ""
        self._try()

    def _try(self) -> None:
        self._tried = time.monotonic()
        try:
            self._refs: Begun | None = self._begin()
        except RunError as error:
            self._refs, self._code, self._why = None, 1, str(error)

    def poll(self) -> int | None:
        """Its exit code; 1 when Ray lost it."""
        if self._refs is None:
            return self._code
        _, here, code = self._refs
        done, _ = self._ray.wait([code], timeout=0)
        if not done:
            return None
        now = time.monotonic()
        if now < self._end and self._get(here) is None and not self._is_without_incast():
            if now > self._tried + RETRY_S:
                self._try()
            return None
        return self._exit(code)

    def kill(self) -> None:
        """Ends it at once."""
        if self._refs:
            self._ray.kill(self._refs[0])

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""
        if self._refs is None:
            return self._code or 0
        _, _, code = self._refs
        done, _ = self._ray.wait([code], timeout=timeout)
        if not done:
            raise subprocess.TimeoutExpired("a member on Ray", timeout or 0)
        return self._exit(code)

    def said(self) -> str:
        """Why it has ended, as far as Ray knows."""
        if self._is_without_incast():
            return "incast is not installed there: pip install 'incast[ray]', in the version that is here"
        return self._why

    def _is_without_incast(self) -> bool:
        return "No module named 'incast" in self._why

    def _exit(self, code: Any) -> int:
        got = self._get(code)
        self._code = 1 if got is None else got
        # It may be one that does not end by itself.
        self.kill()
        # What still refers to this child must not keep objects of a cluster that may be left behind.
        self._refs = None
        self._begin = _nothing
        return self._code

    def _get(self, number: Any) -> int | None:
        """What an actor has returned; nothing when it is lost."""
        try:
            return int(self._ray.get(number))
        except self._ray.exceptions.RayError as error:
            self._why = why_lost(error)
            return None


def why_lost(error: Exception) -> str:
    """What an error of Ray's says, without where it came from."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{RunError.__module__}.{RunError.__name__}: ") if lines else ""


def _nothing() -> Begun:
    return None, None, None
