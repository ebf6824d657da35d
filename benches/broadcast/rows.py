"""Lines of bench/results.jsonl, from which the section of docs/benchmarks.md on broadcasts is written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results.jsonl"
COMMAND = "python -m benches.broadcast"

Row = dict[str, Any]


def row(
    case: str,
    metric: str,
    unit: str,
    ours: float | None,
    peer: tuple[str, float | None] | None = None,
    target: tuple[float, bool] | None = None,
    command: str = COMMAND,
) -> Row:
    """A line of bench/results.jsonl."""
    name, value = peer or (None, None)
    return {
        "bench": "broadcast",
        "case": case,
        "metric": metric,
        "unit": unit,
        "ours": ours,
        "peer": value,
        "peer_name": name,
        "ratio": ours / value if ours is not None and value else None,
        "target": target[0] if target else None,
        "met": target[1] if target else None,
        "command": command,
    }


def keep(rows: Iterable[Row]) -> None:
    """Writes a case at once, because several runs may write to the file."""
    lines = "".join(json.dumps(each) + "\n" for each in rows)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("ab", buffering=0) as results:
        results.write(lines.encode())
