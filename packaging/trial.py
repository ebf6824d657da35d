"""Installs distributions where there is nothing else, and uses them as a newcomer would.

    python3 packaging/trial.py dist/*.whl [dist/*.tar.gz]

A wheel is tried without Rust and without a compiler: by pip, pipx and uvx. A source distribution is built
first, with the Rust of this machine. Needs pipx and uv next to this Python, or on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WHEEL_MAX_BYTES = 15_000_000
# What pip and uv may be told of their network by the environment; nothing else of it is passed on.
_NETWORK = ("PIP_", "UV_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")


def main(distributions: list[str]) -> None:
    """Tries each distribution; ends with the first command that fails."""
    for each in map(Path, distributions):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            if each.suffix == ".whl":
                _try_wheel(each.resolve(), place)
            else:
                _try_source(each.resolve(), place)
        print(f"{each.name}: installed and tried")


def _try_wheel(wheel: Path, place: Path) -> None:
    size = wheel.stat().st_size
    if size > WHEEL_MAX_BYTES:
        sys.exit(f"{wheel.name} has {size:,} bytes: at most {WHEEL_MAX_BYTES:,} are allowed")
    if not any("manylinux" in part for part in wheel.name.split("-")):
        sys.exit(f"{wheel.name} is for this machine only: its platform is not manylinux")
    environment = _bare(place)
    _use(_installed(f"{wheel}[report]", place, environment, "--only-binary=:all:"), place, environment)
    version = ["--version"]
    _run([_tool("pipx"), "run", "--spec", str(wheel), "incast", *version], place, environment)
    _run([_tool("uvx"), "--from", str(wheel), "incast", *version], place, environment)


def _try_source(source: Path, place: Path) -> None:
    environment = _bare(place) | {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    _use(_installed(str(source), place, environment), place, environment)


def _bare(place: Path) -> dict[str, str]:
    """An environment whose path has Python, a shell, and what the scripts of uv and pip call."""
    programs, home = place / "bin", place / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    for name in ("dirname", "env", "realpath", "sh"):
        (programs / name).symlink_to(shutil.which(name) or sys.exit(f"there is no {name} on this machine"))
    network = {name: value for name, value in os.environ.items() if name.startswith(_NETWORK)}
    return {**network, "PATH": str(programs), "HOME": str(home), "LANG": "C.UTF-8"}


def _installed(what: str, place: Path, environment: dict[str, str], *options: str) -> Path:
    """The command, in an environment of its own."""
    there = place / "venv"
    _run([sys.executable, "-m", "venv", str(there)], place, environment)
    _run([str(there / "bin/pip"), "install", "--quiet", *options, what], place, environment)
    return there / "bin/incast"


def _use(incast: Path, place: Path, environment: dict[str, str]) -> None:
    (place / "baskets.dat").write_text("1 2\n1 2 3\n")
    (place / "edges.txt").write_text("0 1\n1 2\n2 0\n")
    (place / "first.yaml").write_text(_run([str(incast), "example"], place, environment))
    for words in (
        "--help",
        "run first.yaml",
        "example replay",
        "run replay.yaml",
        "walk edges.txt --servers 2",
        "mine baskets.dat --support 50% --nodes 2",
        f"farmem run --local 8MB --latency 1us --bandwidth 10Gbps -- {sys.executable} -c print(1)",
    ):
        _run([str(incast), *words.split()], place, environment)


def _tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or sys.exit(f"{name} is needed: pip install pipx uv")


def _run(command: list[str], place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
