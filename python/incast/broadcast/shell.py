"""Agents that are started by a remote shell: ssh, or any command in the manner of `rsync -e`.

What an agent has to know, the key above all, goes to its standard input: others on the machine can read
arguments.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Sequence

from incast.errors import Problem, ScenarioError

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 {host}"
"""No password is asked for: there may be many hosts, and nobody at the terminal."""
PROGRAM = "incast"
LINES_KEPT = 20


def command(shell: str, host: str, program: str) -> list[str]:
    """The command that starts an agent on a host: `{host}` stands for it, or it comes last."""
    try:
        words, agent = shlex.split(shell), shlex.split(program)
    except ValueError as error:
        raise ScenarioError([Problem(f"{shell}: {str(error).lower()}", "--rsh")]) from None
    if not words:
        raise ScenarioError([Problem("it is empty: a command like ssh is expected", "--rsh")])
    if not any("{host}" in word for word in words):
        words.append("{host}")
    return [*(word.replace("{host}", host) for word in words), *agent, "broadcast", "agent"]


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
        """The last line of what it wrote to standard error."""
        if self._failed:
            return self._failed
        self._reader.join(0.5)
        return next((line for line in reversed(self._lines) if line), "")
