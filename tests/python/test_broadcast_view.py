"""What a terminal shows of a broadcast under way."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console

from incast.cli.broadcast_view import View


def status(**known: Any) -> dict[str, Any]:
    return {
        "bytes": 0, "total": 100_000_000, "planned": 0, "best": None, "failed": None, "named": "no", **known
    }  # fmt: skip


def drawn(view: View) -> dict[str, list[str]]:
    """The words of each host's line after its bar."""
    console = Console(file=io.StringIO(), width=120)
    console.print(view._drawn())
    assert isinstance(console.file, io.StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()[1:]]
    return {words[0]: [word for word in words[1:] if "━" not in word] for words in lines}


def test_rate_best_possible_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    view = View(Console(file=io.StringIO()), ["fast", "slow", "unknown", "there", "late", "lost"])
    for step in range(11):
        now[0] = 100 + step / 5
        view.see(
            {
                # Alone it could have more than the plan gives it; and less than what came out meanwhile.
                1: status(bytes=step * 5_000_000, planned=150_000_000, best=300_000_000),
                2: status(bytes=step * 500_000, planned=25_000_000, best=20_000_000),
                3: status(bytes=step * 5_000_000, planned=10_000_000_000),
                4: status(bytes=100_000_000, named="done", best=300_000_000),
                6: status(bytes=5, failed="no space", best=300_000_000),
            }
        )
    found = drawn(view)
    assert found["fast"] == ["50%", "200", "Mb/s", "300", "Mb/s", "2", "s"]
    assert found["slow"] == ["5%", "20", "Mb/s", "25", "Mb/s", "38", "s"]
    assert found["unknown"] == ["50%", "200", "Mb/s", "–", "2", "s"]
    assert found["there"][-1] == "done"
    assert found["late"] == ["not", "there"]
    assert found["lost"][-1] == "failed"
