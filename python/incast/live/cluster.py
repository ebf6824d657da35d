"""A Ray cluster as the place of members: one a node, started by an actor of which it is the whole work.

Runs have their place there too, one a processor (`tasks`).

What launcher and members say to each other is the same as on one machine; Ray only starts them (`actor`), and
carries their files to them and back (its object store). A member that died is restarted on its node; on
another when that is gone, unless it belongs there. Needs the extra `ray`. Source: the Ray documentation,
*Scheduling strategies* (NodeAffinitySchedulingStrategy), *Ray Client* and *Terminating Actors* (lifetimes).
"""

from __future__ import annotations

import io
import os
import re
import socket
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import IO, Any, Self

from incast.errors import Problem, RunError, ScenarioError
from incast.extras import MissingLibraryError, extra
from incast.live.actor import ActorChild, Begun, Member, why_lost
from incast.live.launch import Child
from incast.live.place import Write

RAY = "ray://"
LOCAL = "local"
HEAD = "node:__internal_head__"
"""A resource that only a cluster's head has."""
LOOPBACK = "127."
ID_SHOWN = 8
_ADDRESS = re.compile(r"auto|local|ray://[^\s/:]+:[0-9]{1,5}")


@dataclass(frozen=True)
class Node:
    """A machine of a cluster."""

    ident: str
    """Ray's identity of it."""
    name: str
    """As people call it; no other of the cluster has the same."""
    ip: str


def at(address: str) -> Cluster:
    """The cluster that `--cluster` names. Raises `ScenarioError` when it is none, or Ray is not installed."""
    if not _ADDRESS.fullmatch(address):
        message = f"{address!r} is no cluster: ray://HOST:PORT, auto or local is allowed"
        raise ScenarioError([Problem(message, "--cluster")])
    try:
        return Cluster(address)
    except MissingLibraryError as error:
        raise ScenarioError([Problem(str(error), "--cluster")]) from None


class Cluster:
    """A Ray cluster, connected to from `with` on and until the program ends, or by the program itself before.

    Its address: `ray://HOST:PORT`, a cluster's client server; `auto`, the cluster that this machine belongs
    to; `local`, one of this machine alone.
    """

    attempts = 5
    """Of a client: Ray now and then loses the server that it forks for one (ray-project/ray#63202)."""
    patience_s = 120.0
    """Workers of a cluster take their time to start."""
    farewell_s = 600.0

    def __init__(self, address: str) -> None:
        # It would print what happens to actors, among the results of commands.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        with extra("ray"):
            import ray
        self.address = address
        self._ray = ray
        self._files: dict[int, dict[str, Any]] = {}
        self._at: dict[int, str] = {}
        self._bound: dict[int, str] = {}
        self._left: dict[int, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._connect()
            self.ip = self._own_ip()
        except (OSError, RuntimeError, ValueError) as error:
            raise RunError(f"{self.address}: no Ray cluster answers there: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        # Not the connection: Ray ends a program that closes one while its threads are still beginning.
        self._files.clear()
        self._left.clear()

    def _connect(self) -> None:
        for attempt in range(1, self.attempts + 1):
            if self._ray.is_initialized():
                return
            try:
                with warnings.catch_warnings():
                    # Our error says so.
                    warnings.filterwarnings("ignore", "Ray Client connection timed out")
                    self._ray.init(self.address, log_to_driver=False, logging_level="error")
            except ConnectionAbortedError:
                if attempt == self.attempts:
                    raise

    def _own_ip(self) -> str:
        """The launcher's address as the cluster sees it."""
        if not self.address.startswith(RAY):
            return str(self._ray.util.get_node_ip_address())
        host, _, port = self.address.removeprefix(RAY).rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as there:
            own = str(there.getsockname()[0])
        if own.startswith(LOOPBACK):
            # This is the head itself: others know it by another address.
            own = next((node["NodeManagerAddress"] for node in self._up() if HEAD in node["Resources"]), own)
        return own

    def _up(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def processors(self) -> int:
        """Those of all nodes that are up."""
        return int(sum(node["Resources"].get("CPU", 0) for node in self._up()))

    def task(self, work: Callable[..., Any], retries: int) -> Callable[..., Any]:
        """A function whose calls each take a processor of the cluster; they return promises.

        A call that is lost with its node or its process is made again, up to `retries` times.
        """
        begin: Callable[..., Any] = self._ray.remote(num_cpus=1, max_retries=retries)(work).remote
        return begin

    def kept(self, promises: list[Any], timeout_s: float) -> list[Any]:
        """Promises that are kept by now; waits for one at most for so long."""
        return list(self._ray.wait(promises, timeout=timeout_s)[0])

    def outcome(self, promise: Any) -> Any:
        """What a call returned; a `RunError` when it failed or was lost."""
        try:
            return self._ray.get(promise)
        except self._ray.exceptions.RayError as error:
            return RunError(why_lost(error))

    def cancel(self, promises: list[Any]) -> None:
        """Ends calls, whatever they do."""
        for promise in promises:
            self._ray.cancel(promise, force=True)

    def nodes(self) -> list[str]:
        """Nodes that are up and have a processor for members, by their identity."""
        return sorted(node["NodeID"] for node in self._up() if node["Resources"].get("CPU", 0) >= 1)

    def others(self, taken: Collection[str] = ()) -> list[Node]:
        """All nodes that are up but this machine's own, by name; none has a name that is taken."""
        up = self._up()
        own = self._own_node(up)
        names = Counter([*taken, *map(_called, up)])

        def named(node: Mapping[str, Any]) -> Node:
            name, ident = _called(node), str(node["NodeID"])
            return Node(
                ident,
                name if names[name] == 1 else f"{name}-{ident[:ID_SHOWN]}",
                str(node["NodeManagerAddress"]),
            )

        found = [named(node) for node in up if node["NodeID"] != own]
        return sorted(found, key=lambda node: (node.name, node.ident))

    def _own_node(self, up: Collection[Mapping[str, Any]]) -> str | None:
        """The node that is this machine. A client's is found by its address, if only one node has that."""
        if not self.address.startswith(RAY):
            return str(self._ray.get_runtime_context().get_node_id())
        here = [str(node["NodeID"]) for node in up if node["NodeManagerAddress"] == self.ip]
        return here[0] if len(here) == 1 else None

    def bind(self, nodes: Mapping[int, Node]) -> None:
        """Members by number that belong to nodes: they move nowhere else, and need no processor.

        They live on when the launcher is gone, for as long as their work does.
        """
        self._bound = {host: node.ident for host, node in nodes.items()}

    def folder(self, _: int) -> str:
        """A member works in its folder, wherever that is."""
        return "."

    def give(self, host: int, name: str, write: Write) -> None:
        """Puts a file into the object store."""
        content = io.BytesIO()
        write(content)
        self._files.setdefault(host, {})[name] = self._ray.put(content.getvalue())

    def start(self, host: int, address: tuple[str, int], key: bytes) -> Child:
        """An actor on a node of the member's own; restarted, there or wherever there is a place."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        again, bound = host in self._at, self._bound.get(host)
        if bound is None:
            nodes = self.nodes()
            node = self._at.setdefault(host, nodes[host % len(nodes)])
        else:
            node = bound
        member = self._ray.remote(Member).options(
            # The nodes that are left may have no processor to spare: better two members there than none.
            num_cpus=0 if again or bound or self.address == LOCAL else 1,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=again and not bound),
            lifetime="detached" if bound else None,
        )
        files = self._files.get(host, {})

        def begin() -> Begun:
            if bound and all(bound != each["NodeID"] for each in self._up()):
                raise RunError("its node is no longer in the cluster")
            actor = member.remote(outlives=bound is not None)
            here = actor.is_here.remote()
            part = actor.take_part.options(num_returns=2)
            code, self._left[host] = part.remote(address, key, host, list(files), *files.values())
            return actor, here, code

        return ActorChild(self._ray, begin, self.patience_s)

    def take(self, host: int, name: str) -> IO[bytes]:
        """A file that a member has left; what begins with a dot stays where it is."""
        try:
            left = self._left[host]
            if not self._ray.wait([left], timeout=0, fetch_local=False)[0]:
                raise FileNotFoundError(f"server {host} has left nothing yet")
            return io.BytesIO(self._ray.get(left)[name])
        except KeyError as error:
            raise FileNotFoundError(f"server {host} has left no {name}") from error
        except self._ray.exceptions.RayError as error:
            raise RunError(f"server {host} was lost with its results, after all walks: {error}") from error


def _called(node: Mapping[str, Any]) -> str:
    """What a node was named when it was started; else its machine's name."""
    name, ip = str(node.get("NodeName") or ""), str(node["NodeManagerAddress"])
    return name if name and name != ip else str(node.get("NodeManagerHostname") or ip)
