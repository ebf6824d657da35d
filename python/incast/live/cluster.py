"""A Ray cluster as the place of members: one a node, started by an actor of which it is the whole work.

What launcher and members say to each other is the same as on one machine; Ray only starts them, and carries
their files to them and back (its object store). A member that died is started anew on its node, or on
another when that is gone. Needs the extra `ray`. Source: the Ray documentation, *Scheduling strategies*
(NodeAffinitySchedulingStrategy) and *Ray Client*.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any, Self

from incast.errors import RunError
from incast.live.launch import Child
from incast.live.place import Write

RETRY_S = 1.0
"""Between attempts to place a member."""
RAY = "ray://"
LOCAL = "local"


class NoRayError(ImportError):
    """The extra `ray` is not installed."""


class Cluster:
    """A Ray cluster, connected to from `with` on and until the program ends, or by the program itself before.

    Its address: `ray://HOST:PORT`, a cluster's client server; `auto`, the cluster that this machine belongs
    to; `local`, one of this machine alone.
    """

    patience_s = 120.0
    """Workers of a cluster take their time to start."""
    farewell_s = 600.0

    def __init__(self, address: str) -> None:
        # So that who doesn't ask for a cluster needs no Ray.
        try:
            import ray
        except ImportError as error:
            raise NoRayError("Ray is not installed: pip install 'incast[ray]'") from error
        self.address = address
        self._ray = ray
        self._files: dict[int, dict[str, Any]] = {}
        self._at: dict[int, str] = {}
        self._left: dict[int, Any] = {}

    def __enter__(self) -> Self:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            if not self._ray.is_initialized():
                self._ray.init(self.address, log_to_driver=False, logging_level="error")
            self.ip = self._own_ip()
        except (OSError, RuntimeError, ValueError) as error:
            raise RunError(f"{self.address}: no Ray cluster answers there: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        # Not the connection: Ray ends a program that closes one while its threads are still beginning.
        self._files.clear()
        self._left.clear()

    def _own_ip(self) -> str:
        """The launcher's address as the cluster sees it."""
        if not self.address.startswith(RAY):
            return str(self._ray.util.get_node_ip_address())
        host, _, port = self.address.removeprefix(RAY).rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as there:
            return str(there.getsockname()[0])

    def nodes(self) -> list[str]:
        """Nodes that are up and have a processor for members, by their identity."""
        there = (node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1)
        return sorted(node["NodeID"] for node in there)

    def folder(self, _: int) -> str:
        """A member works in its folder, wherever that is."""
        return "."

    def give(self, host: int, name: str, write: Write) -> None:
        """Puts a file into the object store."""
        content = io.BytesIO()
        write(content)
        self._files.setdefault(host, {})[name] = self._ray.put(content.getvalue())

    def start(self, host: int, address: tuple[str, int], key: bytes) -> Child:
        """An actor on a node of the member's own; started anew, there or wherever there is a place."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        again = host in self._at
        nodes = self.nodes()
        node = self._at.setdefault(host, nodes[host % len(nodes)])
        member = self._ray.remote(Member).options(
            # The nodes that are left may have no processor to spare: better two members there than none.
            num_cpus=0 if again or self.address == LOCAL else 1,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=again),
        )
        files = self._files.get(host, {})

        def begin() -> tuple[Any, Any, Any]:
            actor = member.remote()
            here = actor.is_here.remote()
            part = actor.take_part.options(num_returns=2)
            code, self._left[host] = part.remote(address, key, host, list(files), *files.values())
            return actor, here, code

        return _Actor(self._ray, begin, self.patience_s)

    def take(self, host: int, name: str) -> IO[bytes]:
        """A file that a member has left."""
        try:
            return io.BytesIO(self._ray.get(self._left[host])[name])
        except KeyError as error:
            raise FileNotFoundError(f"server {host} has left no {name}") from error
        except self._ray.exceptions.RayError as error:
            raise RunError(f"server {host} was lost with its results, after all walks: {error}") from error


class Member:
    """Is a member, in a worker process of Ray's that does nothing else."""

    def is_here(self) -> int:
        """Says that the actor has come to be."""
        return os.getpid()

    def take_part(
        self, address: tuple[str, int], key: bytes, host: int, names: list[str], *files: bytes
    ) -> tuple[int, dict[str, bytes]]:
        """Takes part in a run; the exit code, and the files it leaves."""
        import ray

        from incast.live.member import serve

        # The same for all lives of a member on this machine, and known to nobody else.
        folder = Path(gettempdir()) / f"incast-{hashlib.sha256(key).hexdigest()[:32]}-{host}"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chdir(folder)
        for each, content in zip(names, files, strict=True):
            (folder / each).write_bytes(content)
        code = serve(address, key, host, ray.util.get_node_ip_address())
        own = {*names, *(file.name for file in folder.glob(".*"))}
        left = {file.name: file.read_bytes() for file in folder.iterdir() if file.name not in own}
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
        return code, left


class _Actor:
    """A member as a child of the launcher.

    A cluster takes a moment to notice that a node is gone, and places actors there until then: one that
    never came to be is tried again.
    """

    def __init__(self, ray: Any, begin: Callable[[], tuple[Any, Any, Any]], patience_s: float) -> None:
        self._ray = ray
        self._begin = begin
        self._end = time.monotonic() + patience_s
        self._code: int | None = None
        self._try()

    def _try(self) -> None:
        self._refs: tuple[Any, Any, Any] | None = self._begin()
        self._tried = time.monotonic()

    def poll(self) -> int | None:
        """Its exit code; 1 when Ray lost it."""
        if self._refs is None:
            return self._code
        _, here, code = self._refs
        done, _ = self._ray.wait([code], timeout=0)
        if not done:
            return None
        now = time.monotonic()
        if now < self._end and self._get(here) is None:
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

    def _exit(self, code: Any) -> int:
        got = self._get(code)
        self._code = 1 if got is None else got
        # Who still knows this child must not keep objects of a cluster that may be left behind.
        self._refs = None
        self._begin = _nothing
        return self._code

    def _get(self, number: Any) -> int | None:
        """What an actor has returned; nothing when it is lost."""
        try:
            return int(self._ray.get(number))
        except self._ray.exceptions.RayError:
            return None


def _nothing() -> tuple[None, None, None]:
    return None, None, None
