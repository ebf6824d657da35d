"""Rows of bench/results.jsonl, in the file and for the terminal."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable

from benches.run import BENCH, machine

COMMAND = "python -m benches.mine"
Row = dict[str, object]


def record(
    case: str,
    metric: str,
    unit: str,
    value: float,
    peer: tuple[str | None, float | None],
    target: float | None = None,
    bench: str = "mine",
) -> Row:
    """A line of bench/results.jsonl."""
    name, theirs = peer
    return {
        "bench": bench,
        "case": case,
        "metric": metric,
        "unit": unit,
        "ours": value,
        "peer": theirs,
        "peer_name": name,
        "ratio": value / theirs if theirs else None,
        "target": target,
        "met": None if target is None else value <= target,
        "command": COMMAND,
        "date": datetime.date.today().isoformat(),
        "machine": ", ".join(machine().values()),
    }


def text(row: Row) -> str:
    """For the terminal."""
    peer = "" if row["peer"] is None else f"{row['peer_name']} {row['peer']:.3g} (x {row['ratio']:.3g})"
    verdict = "" if row["met"] is None else f"target {row['target']:.3g}: {'met' if row['met'] else 'MISSED'}"
    return f"{row['case']:34} {row['metric']:28} {row['ours']:>8.3g} {row['unit']:3} {peer:34} {verdict}"


def keep(rows: Iterable[Row], command: str) -> None:
    """Prints the rows as they come, and adds them to bench/results.jsonl."""
    BENCH.mkdir(exist_ok=True)
    with (BENCH / "results.jsonl").open("a") as results:
        for row in rows:
            print(text(row), flush=True)
            results.write(json.dumps({**row, "command": command}) + "\n")
