"""Installs other programs that tests use, for root on Debian; elsewhere says which tests will be skipped.

Nothing else needs them. Whatever is there already is left alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple


class Program(NamedTuple):
    """A program under the names that it may have, its Debian package, and what is tested with it."""

    names: tuple[str, ...]
    package: str
    tests: str


PROGRAMS = (
    Program(
        ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
        "chromium-headless-shell",
        "the report in a browser",
    ),
    Program(("sshd",), "openssh-server", "broadcasts by ssh"),
    Program(("tshark",), "tshark", "captures in Wireshark"),
    Program(("redis-server",), "redis-server", "a server on remote memory"),
    Program(("iperf3",), "iperf3", "programs on the modelled network"),
    Program(("ping",), "iputils-ping", "programs on the modelled network"),
)


def main() -> None:
    """Installs what is missing, if it can."""
    missing = [each for each in PROGRAMS if not any(map(_found, each.names))]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [each.package for each in missing]
        print(f"Installing for tests: {' '.join(packages)}", flush=True)
        _apt("apt-get", "--quiet", "update")
        # If one is unknown here, apt-get installs none.
        there = [each for each in packages if _apt("apt-cache", "--no-all-versions", "show", each)]
        _apt("apt-get", "--quiet", "install", "--yes", "--no-install-recommends", *there)
        missing = [each for each in missing if not any(map(_found, each.names))]
    for each in missing:
        print(f"No {each.names[0]}: tests of {each.tests} will be skipped (apt-get install {each.package})")


def _apt(*words: str) -> bool:
    """Whether it did what it was asked for."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(words, env=quiet, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _found(name: str) -> bool:
    # Servers are not on everybody's path.
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") is not None


if __name__ == "__main__":
    main()
