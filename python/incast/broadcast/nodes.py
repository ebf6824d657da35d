"""Nodes of a Ray cluster as receivers: one agent a node, placed by Ray (`incast.live.cluster`).

All nodes receive but the one that sends. The run's key reaches agents as an argument, over the connections
that Ray has with its nodes.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from pathlib import PurePosixPath
from types import TracebackType
from typing import Self

from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.live.cluster import at
from incast.live.launch import Child


class Nodes:
    """The nodes of a cluster, from `with` on. Its address is one of `incast.live.cluster.Cluster`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._cluster = at(address)

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        self.ip = self._cluster.ip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.__exit__(kind, error, trace)

    def find(self, source: str, known: Collection[str] | None) -> list[str]:
        """The receivers' names, in the order of their numbers from 1.

        Raises `ScenarioError` when there are none, or a topology (`known`) lacks one.
        """
        nodes = self._cluster.others([source])
        if not nodes:
            message = f"{self._address}: there is no node but this machine, which has the file"
            raise ScenarioError([Problem(message, "--cluster")])
        lacking = [node.name for node in nodes if known is not None and node.name not in known]
        if known is not None and lacking:
            raise ScenarioError(
                [Problem(unknown("a host of the topology", name, known), "--cluster") for name in lacking]
            )
        self._cluster.bind(dict(enumerate(nodes, 1)))
        return [node.name for node in nodes]

    def key(self) -> bytes:
        """The run's key: a new one."""
        return secrets.token_bytes(32)

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        """An agent on the node that has this number."""
        return self._cluster.start(number, address, key)


def check_dest(dest: str | None) -> None:
    """Refuses a place that depends on where an agent is started: on a node that means nothing."""
    if dest is not None and not PurePosixPath(dest).is_absolute():
        message = f"{dest}: with --cluster a path from / on is needed: nodes have no folder of yours"
        raise ScenarioError([Problem(message, "--dest")])
