"""Agents that are started by a remote shell: ssh, or any command in the manner of `rsync -e`.

What an agent has to know, the key above all, goes to its standard input: others on the machine can read
arguments.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import PurePath

from incast.errors import Problem, ScenarioError

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 {host}"
"""No password is asked for: there may be many hosts, and nobody at the terminal. ssh drops a host that is
silent for 30 s (three questions, its default), so that one that was off is started again."""
PROGRAM = "incast"
LINES_KEPT = 20
ASK_S = 5.0
"""ssh reads its configuration in less."""
_JOINING = {"ssh", "rsh", "dbclient"}
"""Remote shells that give what they run to a shell at the other end, which splits it into words again."""
_NOT_FOUND = 127
"""What a shell ends with when there is no such program (POSIX, 2.8.2)."""
_WAYS_OUT = (
    (r"Permission denied \(", "it must be possible to log in without a password (a key, ssh-agent)"),
    (r"Host key verification failed", "if it is the host that you mean, log in once and accept its key"),
    (r"Could not resolve hostname", "is its name right?"),
    (r"no agent answers", "is `incast broadcast agent --listen` running there?"),
    (r"its agent has another key", "--key-file has to be the same at both ends"),
    (r"can't reach the launcher", "say with --address where hosts reach this machine"),
    (r"No module named '?incast", "install incast there, or say with --incast where it is"),
)


def command(shell: str, host: str, program: str) -> list[str]:
    """The command that starts an agent on a host: `{host}` stands for it, or it comes last.

    ssh is given the program as it was written: the shell there splits it, and knows what ~ means.
    """
    words, agent = _split(shell, "--rsh"), _split(program, "--incast")
    if not any("{host}" in word for word in words):
        words.append("{host}")
    if any(_joins(word) for word in words):
        agent = [program]
    return [*(word.replace("{host}", host) for word in words), *agent, "broadcast", "agent"]


def _split(text: str, option: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ScenarioError([Problem(f"{text}: {str(error).lower()}", option)]) from None
    if not words:
        raise ScenarioError([Problem("it is empty: a command is expected", option)])
    return words


def _joins(word: str) -> bool:
    return PurePath(word).name in _JOINING


def host_of(shell: str, host: str) -> str | None:
    """What stands for a host in ssh's configuration (ssh(1), -G); nothing when the shell is not ssh."""
    words = [word.replace("{host}", host) for word in shlex.split(shell) if word != "{host}"]
    at = next((place for place, word in enumerate(words) if PurePath(word).name == "ssh"), None)
    if at is None:
        return None
    try:
        asked = [*words[: at + 1], "-G", *words[at + 1 :], host]
        said = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (line.partition(" ") for line in said.stdout.splitlines())
    return next((value for key, _, value in lines if key == "hostname"), None)


def with_way_out(line: str) -> str:
    """What a shell or an agent has said, and what helps."""
    way = next((way for pattern, way in _WAYS_OUT if re.search(pattern, line)), None)
    return f"{line}: {way}" if way else line


class ShellChild:
    """An agent at the other end of a remote shell."""

    def __init__(self, words: Sequence[str], told: dict[str, object]) -> None:
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._failed = ""
        try:
            # In a group of its own: a Ctrl-C in the terminal is the launcher's.
            self._child = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                process_group=0,
            )
        except OSError as error:
            self._failed = f"{words[0]}: {(error.strerror or str(error)).lower()}"
            return
        # The pipe is filled at once, and the agent reads it when it is there.
        with contextlib.suppress(BrokenPipeError):
            assert self._child.stdin is not None
            self._child.stdin.write((json.dumps(told) + "\n").encode())
            self._child.stdin.close()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._child.stderr is not None
        for line in self._child.stderr:
            self._lines.append(line.decode(errors="replace").strip())

    def poll(self) -> int | None:
        """Its exit code; `None` while it runs."""
        return 1 if self._failed else self._child.poll()

    def kill(self) -> None:
        """Ends the shell at once; the agent sees its channel closed."""
        if not self._failed:
            self._child.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""
        return 1 if self._failed else self._child.wait(timeout)

    def said(self) -> str:
        """The last line of what it wrote to standard error, and what helps."""
        if self._failed:
            return self._failed
        self._reader.join(0.5)
        line = next((line for line in reversed(self._lines) if line), "")
        if self._child.poll() == _NOT_FOUND:
            return f"{line or 'no such program'}: install incast there, or say with --incast where it is"
        return with_way_out(line)
