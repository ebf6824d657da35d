"""Gets the peers: wheels from PyPI, udpcast and uftp from the packages of the Linux distribution.

All of it lies in `.bench-cache/broadcast`, nothing is installed into the system. Of what can't be had, the
reason is kept and printed, and its rows are left out.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CACHE = ROOT / ".bench-cache" / "broadcast"
REASON_LINES = 3


class UnavailableError(Exception):
    """A peer can't be had here; the message says why."""


def run(command: list[str], cwd: Path | None = None) -> str:
    """A step; the end of what it said is the reason where it fails."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise UnavailableError(f"no {missing.filename}") from missing
    if done.returncode != 0:
        end = (done.stdout + done.stderr).strip().splitlines()[-REASON_LINES:]
        raise UnavailableError(f"`{' '.join(command[:4])} …`: {' '.join(end)}")
    return done.stdout


@functools.cache
def environment() -> Path:
    """The folder of programs of an environment with the wheels; made on the first call."""
    home = CACHE / "venv"
    wanted = (HERE / "requirements.txt").read_text()
    done = home / "installed"
    if not done.exists() or done.read_text() != wanted:
        run([sys.executable, "-m", "venv", str(home)])
        install = ["-m", "pip", "--disable-pip-version-check", "install", "-q", "-r"]
        run([str(home / "bin" / "python"), *install, str(HERE / "requirements.txt")])
        done.write_text(wanted)
    return home / "bin"


def version(wheel: str) -> str:
    """As pinned."""
    found = re.search(rf"^{wheel}==(\S+)$", (HERE / "requirements.txt").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@functools.cache
def package(name: str) -> tuple[Path, str]:
    """The folder of programs of a distribution's package, unpacked, and its version."""
    home = CACHE / name
    kept = home / "version"
    if not kept.exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise UnavailableError(f"{name} is taken from a Debian package")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        run(["apt-get", "-q", "download", name], cwd=home)
        (archive,) = home.glob("*.deb")
        run(["dpkg-deb", "-x", str(archive), str(home)])
        kept.write_text(run(["dpkg-deb", "-f", str(archive), "Version"]).strip())
    return home / "usr" / "bin", kept.read_text()
