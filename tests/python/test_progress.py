"""How much of a run is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import SMALL, spec
from incast.progress import Share


def told(count: int = 0, ms: int = 0, fraction: float | None = None) -> dict[str, Any]:
    return {"bytes": count, "sim_time_ps": ms * 10**9, "fraction": fraction}


@pytest.mark.parametrize(
    ("job", "count"),
    [
        ({"kind": "incast", "receiver": "host0", "size": "10B", "rounds": 4}, 120),
        ({"kind": "bulk", "pairs": "random", "size": "10B"}, 40),
        ({"kind": "permutation", "size": "10B"}, 40),
        ({"kind": "all-to-all", "size": "10B"}, 120),
        ({"kind": "replay", "flows": [{"from": "host0", "to": "host1", "size": "10B"}] * 3}, 30),
    ],
)
def test_by_bytes(tmp_path: Path, job: dict[str, Any], count: int) -> None:
    share = Share(spec(tmp_path, {**SMALL, "jobs": [{"name": "a", **job}]}))
    assert share.of(told(count // 2)) == (count // 2) / count
    assert share.of(told(count + 9)) == 1
    assert share.of(told(0, fraction=0.5)) == 0.5


def test_by_time(tmp_path: Path) -> None:
    load = {"name": "a", "kind": "load", "duration": "4ms", "start": "1ms"}
    assert Share(spec(tmp_path, {**SMALL, "jobs": [load]})).of(told(ms=2)) == 0.4
    background = {"name": "a", "kind": "background", "rate": "1Mbps"}
    share = Share(spec(tmp_path, {**SMALL, "jobs": [background], "until": "1s"}))
    assert share.of(told()) is None
    assert share.of(told(fraction=0.25)) == 0.25
