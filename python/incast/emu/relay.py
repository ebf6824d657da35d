"""What an emulated host runs for an operator: a shell, whose commands come in files. `relay.py FOLDER`.

A datagram says that there is another file: `asked.N`, a command, or `interrupt.N`. What a command prints goes
to `answer.N`; a line on the console says that it has ended. The standard library is enough for all of that.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

PORT = 10
"""Where the datagrams come (`ASKED` of crates/scenario/src/emulate)."""


def say(number: int, code: int) -> None:
    """The command of this number has ended; 0: commands may come."""
    Path("/dev/console").write_text(f"incast: answered {number} {code}\n")


class Shell:
    """A shell that keeps its folder and variables from command to command. One that ends is replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0
        self.place: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def do(self, number: int) -> None:
        """Runs a command."""
        self.number = number
        if self.process is None or self.process.poll() is not None:
            self._start()
        assert self.process
        assert self.process.stdin
        asked, answer = self.folder / f"asked.{number}", self.folder / f"answer.{number}"
        self.process.stdin.write(
            f'eval "$(cat {asked})" </dev/null >{answer} 2>&1; incast_code=$?; sync {answer}; '
            f'echo "incast: answered {number} $incast_code" >/dev/console; (exit $incast_code)\n'.encode()
        )
        self.process.stdin.flush()

    def interrupt(self) -> None:
        """As Ctrl-C does. A loop ends together with its shell: the next one begins in the same folder."""
        if self.process and self.process.poll() is None:
            self.place = str(Path(f"/proc/{self.process.pid}/cwd").readlink())
            os.killpg(self.process.pid, signal.SIGINT)

    def _start(self) -> None:
        program = shutil.which("bash") or "/bin/sh"
        self.process = process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=self.place,
            start_new_session=True,
        )
        self.place = None
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        # One that was interrupted between two commands may have a successor, whose command goes on.
        if process is self.process:
            say(self.number, code if code >= 0 else 128 - code)


def main(folder: Path) -> None:
    """Never ends."""
    shell = Shell(folder)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as told:
        told.bind(("", PORT))
        say(0, 0)
        number = 0
        while True:
            told.recv(1)
            number += 1
            if (folder / f"interrupt.{number}").exists():
                shell.interrupt()
            else:
                shell.do(number)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
