"""The receivers: a file with one host per line.

```
# comments and empty lines are skipped
node01                    # by remote shell, as ssh knows it
admin@10.0.0.7 node07     # the second word is its name in the topology
ssh://admin@node08:2222   # another port
10.0.0.9:7411             # an agent waits there (incast broadcast agent --listen)
[2001:db8::9]:7411        # and there
```
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast.bounded import read_bytes
from incast.errors import Problem, ScenarioError
from incast.hints import shortened, unknown
from incast.quantity import parse_whole

PORT_MAX = 65535
_FILE_BYTES_MAX = 8_000_000
NAME_MAX = 255
_TARGET = re.compile(r"[A-Za-z0-9_.@-]+")
_AGENT = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(\d+)")
_SSH = re.compile(
    r"ssh://(?:([A-Za-z0-9_][A-Za-z0-9_.-]*)@)?([A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?"
)
"""What ssh itself takes instead of a host (ssh(1), *destination*)."""
_USER_AND_PORT = re.compile(r"[^@]+@[^@:]+:\d+")


@dataclass(frozen=True)
class Target:
    """A host that is to receive."""

    shell: str
    """As the remote shell calls it."""
    name: str
    """In the topology and in what is shown."""
    agent: tuple[str, int] | None = None
    """Where its agent waits, instead of a shell."""

    @property
    def host(self) -> str:
        """Its name or address, without a user or port."""
        return self.agent[0] if self.agent else _shell_host(self.shell)


def read(path: Path, known: Collection[str] | None = None, source: str | None = None) -> list[Target]:
    """The hosts in a file.

    `ScenarioError` names all lines that are wrong: hosts that are there twice, or that a topology (`known`)
    doesn't have, or the source itself.
    """
    found: list[Target] = []
    problems: list[Problem] = []
    first: dict[str, int] = {}
    for number, line in enumerate(_lines(path), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            target = _target(words)
            _check(target, first, known, source)
            first.update(dict.fromkeys((target.shell, target.name), number))
            found.append(target)
        except ValueError as error:
            problems.append(Problem(str(error), "", str(path), number))
    if not found and not problems:
        problems.append(Problem("it names no host: at least one is needed, one a line", "", str(path)))
    if problems:
        raise ScenarioError(problems)
    return found


def _lines(path: Path) -> list[str]:
    try:
        return read_bytes(path, _FILE_BYTES_MAX).decode("utf-8").splitlines()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    raise ScenarioError([Problem(why, "", str(path))])


def _check(
    target: Target, first: Mapping[str, int], known: Collection[str] | None, source: str | None
) -> None:
    for key in (target.shell, target.name):
        if key in first:
            raise ValueError(f"{key} is there twice: line {first[key]} has it too")
    if target.name == source:
        raise ValueError(f"{source} is the source: it has the file")
    if known is not None and target.name not in known:
        raise ValueError(unknown("a host of the topology", target.name, known))


def _target(words: Sequence[str]) -> Target:
    if len(words) > 2:
        raise ValueError(
            f"{words[2]!r} is one word too many: a line is HOST or HOST:PORT, and perhaps a name"
        )
    shell = words[0]
    agent = _agent(shell)
    found = Target(shell, shell, agent)
    host = found.host  # It is looked at even where it has another name: `ValueError` says why it is none.
    name = words[1] if len(words) == 2 else host
    if not name.isprintable() or len(name) > NAME_MAX:
        allowed = f"at most {NAME_MAX} printable characters are allowed"
        raise ValueError(f"{shortened(name)!r} is no name: {allowed}")
    return replace(found, name=name)


def _agent(word: str) -> tuple[str, int] | None:
    """Where an agent waits, if that is meant."""
    match = _AGENT.fullmatch(word)
    if not match:
        return None
    host, port = match[1].strip("[]"), _port(match[2])
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ValueError(f"{shortened(host)} is an unknown host") from None
    return host, port


def _shell_host(word: str) -> str:
    """The host of what a remote shell is told."""
    if match := _SSH.fullmatch(word):
        if match[3]:
            _port(match[3])
        return match[2].strip("[]")
    user, _, host = word.rpartition("@")
    if _is_ipv6(host) and (not user or (_TARGET.fullmatch(user) and not user.startswith("-"))):
        return host
    if _USER_AND_PORT.fullmatch(word):
        raise ValueError(
            f"{word!r}: for ssh with another port write ssh://{word}; agents that wait have no user"
        )
    # What begins with a dash would be an option of the remote shell.
    if not _TARGET.fullmatch(word) or word.startswith("-") or len(word) > NAME_MAX:
        raise ValueError(
            f"{shortened(word)!r} is no host: HOST, USER@HOST, ssh://USER@HOST:PORT or HOST:PORT is expected"
        )
    return word.rpartition("@")[2]


def _is_ipv6(word: str) -> bool:
    try:
        # An address of one link (%eth0) means nothing to the other hosts.
        return ipaddress.IPv6Address(word).scope_id is None
    except ValueError:
        return False


def _port(digits: str) -> int:
    if not (port := parse_whole(digits, PORT_MAX)):
        raise ValueError(f"{shortened(digits)} is no port: 1 to {PORT_MAX} are allowed")
    return port
