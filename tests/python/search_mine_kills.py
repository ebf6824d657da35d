"""`incast mine --nodes` whose nodes are killed at random moments: the result is that of one node, every time.

Not among the ordinary tests, which kill at events (`test_mine_nodes.py`): `make search` runs it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

RUNS = 200
NODES = 3
KILLS_MAX = 3
COMMAND = ("--support", "1%", "--confidence", "50%", "--format", "csv")
ROWS = [
    sorted({(number * number * step) % modulus for step, modulus in ((3, 31), (5, 17), (7, 13), (11, 41))})
    for number in range(1, 20_001)
]


def start(text: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """The command as a person types it."""
    words = [sys.executable, "-m", "incast", "mine", str(text), *COMMAND, "--out", str(out), *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def found(out: Path) -> bytes:
    """All that a run has found."""
    return (out / "itemsets.csv").read_bytes() + (out / "rules.csv").read_bytes()


def kill_one(parent: int, chance: random.Random) -> None:
    """SIGKILL for one of a process's children, whatever it does just then."""
    with suppress(FileNotFoundError, ProcessLookupError):  # It may have ended by itself.
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if children:
            os.kill(int(chance.choice(children)), signal.SIGKILL)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("kills") / "rows.dat"
    file.write_text("".join(" ".join(map(str, row)) + "\n" for row in ROWS))
    return file


@pytest.fixture(scope="module")
def alone(text: Path) -> bytes:
    with start(text, text.parent / "alone") as child:
        assert child.wait() == 0
    return found(text.parent / "alone")


@pytest.fixture(scope="module")
def duration(text: Path) -> float:
    began = time.monotonic()
    with start(text, text.parent / "calm", "--nodes", str(NODES)) as child:
        assert child.wait() == 0
    return time.monotonic() - began


@pytest.mark.parametrize("seed", range(RUNS))
def test_nodes_that_are_killed_at_random_moments_cost_only_time(
    text: Path, tmp_path: Path, alone: bytes, duration: float, seed: int
) -> None:
    chance = random.Random(seed)
    moments = sorted(chance.uniform(0, duration) for _ in range(chance.randint(1, KILLS_MAX)))
    with start(text, tmp_path / "out", "--nodes", str(NODES)) as child:
        began = time.monotonic()
        for moment in moments:
            time.sleep(max(0.0, began + moment - time.monotonic()))
            if child.poll() is None:
                kill_one(child.pid, chance)
        said, _ = child.communicate(timeout=120)
    assert child.returncode == 0, f"killed after {moments} s: {said}"
    assert found(tmp_path / "out") == alone
