"""Members of receivers on other machines: by a remote shell, or by an agent that waits there."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from incast.broadcast.agent import WaitingChild, run_key
from incast.broadcast.hosts import Target
from incast.broadcast.shell import PROGRAM, SSH, ShellChild, command, host_of
from incast.errors import Problem, ScenarioError
from incast.live.control import family_of
from incast.live.launch import Child

NOWHERE = ("192.0.2.1", "2001:db8::1")
"""Addresses that nobody has (RFC 5737, RFC 3849), to ask the kernel by which of ours they are reached."""
PORT = 9


@dataclass(frozen=True)
class Remote:
    """Remote shells, and agents that wait."""

    targets: Sequence[Target]
    salt: bytes
    shell: str = SSH
    program: str = PROGRAM
    agents_key: bytes | None = None

    def check(self) -> None:
        """Refuses what could not start anything."""
        command(self.shell, "host", self.program)
        waiting = [target for target in self.targets if target.agent]
        if waiting and self.agents_key is None:
            message = f"{waiting[0].shell} is an agent that waits: its key is needed"
            raise ScenarioError([Problem(message, "--key-file")])

    def key(self) -> bytes:
        """The run's key: agents that wait derive it from theirs."""
        return secrets.token_bytes(32) if self.agents_key is None else run_key(self.agents_key, self.salt)

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        """By a shell, or by asking the agent that waits there."""
        target = self.targets[number - 1]
        told = {"ip": address[0], "port": address[1], "host": number}
        if target.agent and self.agents_key is not None:
            return WaitingChild(target.agent, self.agents_key, {**told, "salt": self.salt.hex()})
        words = command(self.shell, target.shell, self.program)
        return ShellChild(words, {**told, "key": key.hex()})


def own_ip(targets: Sequence[Target], shell: str = SSH) -> str:
    """The address of this machine as receivers reach it, as far as the kernel can tell; else loopback."""
    for target in targets:
        if found := _ip_towards(target.host):
            return found
        # A name that only ssh's configuration knows.
        host = None if target.agent else host_of(shell, target.shell)
        if host and (found := _ip_towards(host)):
            return found
    return next(filter(None, map(_ip_towards, NOWHERE)), "127.0.0.1")


def _ip_towards(host: str) -> str | None:
    try:
        family = family_of(host, PORT)
        to = socket.getaddrinfo(host, PORT, family, socket.SOCK_DGRAM)[0][4]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(to)  # Nothing is sent by that.
            return str(probe.getsockname()[0])
    except OSError:
        return None
