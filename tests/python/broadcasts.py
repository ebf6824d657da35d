"""Broadcasts for tests: commands that are started as people do, with hosts that are all this machine."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MBPS = 1_000_000
LIMIT_S = 240
INCAST = [sys.executable, "-m", "incast"]
HERE = "sh -c 'shift; exec \"$@\"' sh {host}"
"""A remote shell that stays here."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}


def interruptible() -> None:
    """A shell's jobs in the background ignore Ctrl-C, and so do their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def incast(*words: str, before: Sequence[str] = (), **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, *INCAST, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
        **more,
    )


def ended(child: subprocess.Popen[str]) -> tuple[int, Any, str]:
    """Exit code, what it printed as JSON, and all that it said."""
    try:
        out, err = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        pytest.fail(f"no end within {LIMIT_S} s: {out} {err}")
    return child.returncode, json.loads(out) if out.startswith("{") else out, out + err


def content(size: int, seed: int = 0) -> bytes:
    return hashlib.shake_128(seed.to_bytes(4, "big")).digest(size)


def here(
    place: Path, *more: str, file: str = "file.bin", rsh: str = HERE, **options: Any
) -> subprocess.Popen[str]:
    words = [
        "broadcast", file if file == "-" else str(place / file), "--to", str(place / "hosts.txt"), "--rsh", rsh,
        "--incast", " ".join(INCAST), "--address", "127.0.0.1", "--dest", str(place / "{host}") + "/", "--json",
    ]  # fmt: skip
    return incast(*words, *more, **options)


def states(said: Any) -> dict[str, str]:
    return {each["host"]: each["state"] for each in said["receivers"]}


def nothing_else(folder: Path) -> bool:
    return not [each for each in folder.iterdir() if "incast" in each.name]


def size(file: Path) -> int:
    """In bytes; none of a file that is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
