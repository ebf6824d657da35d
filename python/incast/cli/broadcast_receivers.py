"""The receivers, from the options that name them: hosts of a file, or nodes of a cluster."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from incast.broadcast import hosts
from incast.broadcast.nodes import Nodes
from incast.broadcast.remote import Remote, own_ip
from incast.broadcast.shell import PROGRAM, SSH
from incast.errors import Problem, ScenarioError
from incast.live.launch import Child
from incast.peers import read_key


class Way(Protocol):
    """How members of receivers are started."""

    def key(self) -> bytes:
        """A run's key."""
        ...

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        """Starts the member of a receiver, by its number from 1."""
        ...


@dataclass(frozen=True)
class Asked:
    """What the command line says of it."""

    to: Path | None
    cluster: str | None
    rsh: str | None
    program: str | None
    key_file: Path | None
    address: str | None

    def check(self) -> None:
        """Refuses what contradicts itself."""
        if (self.to is None) == (self.cluster is None):
            message = "one of them names the receivers: --to a file with hosts, --cluster a Ray cluster"
            raise ScenarioError([Problem(message, "--to, --cluster")])
        others = {"--rsh": self.rsh, "--incast": self.program, "--key-file": self.key_file}
        unfit = [name for name, value in others.items() if value is not None and self.cluster is not None]
        if unfit:
            raise ScenarioError([Problem("with --cluster Ray starts agents", name) for name in unfit])


@dataclass(frozen=True)
class Receivers:
    """The receivers."""

    names: list[str]
    way: Way
    ip: str
    """Where they reach this machine."""
    agents: frozenset[str] = frozenset()
    """Those at which an agent waits."""


def find(asked: Asked, source: str, known: Collection[str] | None, until: ExitStack) -> Receivers:
    """The receivers, there until the stack is done. Raises `ScenarioError` for what can't be."""
    if asked.cluster is not None:
        nodes = until.enter_context(Nodes(asked.cluster))
        return Receivers(nodes.find(source, known), nodes, asked.address or nodes.ip)
    assert asked.to is not None
    targets = hosts.read(asked.to, known, source)
    key = read_key(asked.key_file) if asked.key_file else None
    rsh = SSH if asked.rsh is None else asked.rsh
    program = PROGRAM if asked.program is None else asked.program
    remote = Remote(targets, secrets.token_bytes(16), rsh, program, key)
    remote.check()
    agents = frozenset(target.name for target in targets if target.agent)
    names = [target.name for target in targets]
    return Receivers(names, remote, asked.address or own_ip(targets, rsh), agents)
