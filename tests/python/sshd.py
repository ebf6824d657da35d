"""An sshd of a test's own on this machine: hosts are addresses of the loopback; all it needs is in one folder."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from helpers import free_port

ROOT = Path(__file__).parents[2]
SBIN = "/usr/sbin:/sbin"
# Without it sshd doesn't begin as root; Debian's service makes it.
PRIVILEGES = Path("/run/sshd")
KIND = "ed25519"
MAIN = "from incast.cli import main; main()"
OLD = "0.0.1"


def unavailable() -> str | None:
    """Why no sshd can be started here; None if it can."""
    missing = [tool for tool in ("sshd", "ssh", "ssh-keygen") if _find(tool) is None]
    if missing:
        return f"no {' and no '.join(missing)}: install openssh-server and openssh-client"
    if os.geteuid() == 0:
        try:
            PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
        except OSError as error:
            return f"sshd needs {PRIVILEGES}: {error}"
    return None


class Sshd:
    """Hosts by name, each at an address 127.0.0.x; all are this machine and this user.

    `bare` hosts have no incast, `old` ones another version of it; `locked` ones let nobody in, `strange` ones
    show another key than the one that is known.
    """

    def __init__(
        self,
        folder: Path,
        hosts: Sequence[str],
        bare: Sequence[str] = (),
        old: Sequence[str] = (),
        locked: Sequence[str] = (),
        strange: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.hosts = hosts
        self.port = free_port()
        self.config = folder / "ssh config"
        self._bare, self._old, self._locked, self._strange = bare, old, locked, strange
        self._daemon: subprocess.Popen[bytes] | None = None

    def address(self, host: str) -> str:
        """IPv4."""
        return f"127.0.0.{2 + self.hosts.index(host)}"

    def rsh(self) -> str:
        """A remote shell that reaches these hosts and no others."""
        return f"ssh -F {shlex.quote(str(self.config))} -o BatchMode=yes"

    def cut(self) -> None:
        """Kills all connections, and lets new ones in."""
        for pid in self._sessions():
            os.kill(pid, 9)

    def __enter__(self) -> Self:
        for key in ("host", "other", "user"):
            make = ["ssh-keygen", "-q", "-t", KIND, "-N", "", "-f", str(self.folder / key)]
            subprocess.run(make, check=True)
        self._write_program("bin", MAIN)
        self._write_program("old", f"import incast; incast.__version__ = '{OLD}'; {MAIN}")
        self._write_config()
        sshd = _find("sshd")
        assert sshd
        log = self.folder / "log"
        self._daemon = subprocess.Popen([sshd, "-D", "-f", str(self.folder / "sshd"), "-E", str(log)])
        deadline = time.monotonic() + 240
        while not self._answers():
            if time.monotonic() > deadline or self._daemon.poll() is not None:
                self._stop()
                raise RuntimeError(log.read_text())
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self.cut()
        if self._daemon:
            self._daemon.kill()
            self._daemon.wait()

    def _write_program(self, folder: str, code: str) -> None:
        program = self.folder / folder / "incast"
        program.parent.mkdir()
        path = shlex.quote(f"{ROOT / 'python'}:{ROOT}")
        words = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"
        program.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {words} "$@"\n')
        program.chmod(0o755)

    def _write_config(self) -> None:
        key = (self.folder / "user.pub").read_text()
        (self.folder / "authorized").write_text(key)
        lines = [
            f"Port {self.port}",
            *(f"ListenAddress {self.address(host)}" for host in self.hosts),
            f"HostKey {_quoted(self.folder / 'host')}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            # A test begins many connections at once.
            "MaxStartups 100",
        ]
        for host in self.hosts:
            lines.append(f"Match LocalAddress {self.address(host)}")
            lines.append(
                f"AuthorizedKeysFile {'none' if host in self._locked else _quoted(self.folder / 'authorized')}"
            )
            own = "none" if host in self._bare else "old" if host in self._old else "bin"
            path = f"{self.folder / own}:/usr/bin:/bin"
            lines.append(f'SetEnv "PATH={path}"')
        (self.folder / "sshd").write_text("\n".join(lines) + "\n")
        known = []
        for host in self.hosts:
            kind, public, *_ = (
                (self.folder / ("other.pub" if host in self._strange else "host.pub")).read_text().split()
            )
            known.append(f"[{self.address(host)}]:{self.port} {kind} {public}\n")
        (self.folder / "known").write_text("".join(known))
        lines = []
        for host in self.hosts:
            lines += [f"Host {host}", f"HostName {self.address(host)}"]
        lines += [
            "Host *",
            f"Port {self.port}",
            f"IdentityFile {_quoted(self.folder / 'user')}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {_quoted(self.folder / 'known')}",
            "GlobalKnownHostsFile none",
            "StrictHostKeyChecking yes",
        ]
        self.config.write_text("\n".join(lines) + "\n")

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address(self.hosts[-1]), self.port), timeout=1) as there:
                return there.recv(3) == b"SSH"
        except OSError:
            return False

    def _sessions(self) -> list[int]:
        """The daemon's own processes for connections."""
        if self._daemon is None:
            return []
        children = Path(f"/proc/{self._daemon.pid}/task/{self._daemon.pid}/children")
        return [int(pid) for pid in children.read_text().split()] if children.exists() else []


def _find(tool: str) -> str | None:
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:{SBIN}")


def _quoted(path: Path) -> str:
    return f'"{path}"'
