"""Runs every setting with our TCP and with Linux's own, and prints the tables of docs/validation/linux.md.

    python tests/differential/linux.py [--kept] [--windows] [SETTING …]

The first table has the times of flows, the second their windows (`linux_windows.py`). Linux's figures are kept
in linux.json and linux_windows.json; with names, only those settings run again. It takes some three quarters of
an hour. With --kept only our TCP runs, for a minute, and with --windows there is only the second table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import figures
import linux_matrix
import linux_windows
from testkit import ours

KEPT = Path(__file__).with_name("linux.json")
#: How far ours may be from Linux's, as a part of Linux's.
TOLERANCE = {"fct_p50_us": 0.05, "fct_mean_us": 0.05, "fct_p99_us": 0.1}
#: How far these may be, as a part of Linux's.
COUNTS = dict.fromkeys(("goodput_gbps", "retransmits", "timeouts"), 0.05)
Figures = dict[str, float]


def of_runs(runs: Sequence[dict[str, Any]]) -> Figures:
    """Flow completion times pooled over the seeds; the others are means per run."""
    times = [(flow["finish_ps"] - flow["start_ps"]) / 1e6 for run in runs for flow in run["flows"]]
    found = {"fct_p50_us": figures.quantile(times, 0.5), **figures.of_runs(runs)}
    for count in ("retransmits", "timeouts"):
        found[count] = sum(flow[count] for run in runs for flow in run["flows"]) / len(runs)
    return found


def measure(number: int, *, emulated: bool) -> Figures:
    """One side of the pair of that number."""
    setting, control = linux_matrix.PAIRS[number]
    seeds = range(1, setting.seeds + 1)
    runs = [ours.run(setting.scenario(control, seed, emulated=emulated)) for seed in seeds]
    return {name: round(value, 3) for name, value in of_runs(runs).items()}


def key(number: int) -> str:
    """The name of a pair."""
    setting, control = linux_matrix.PAIRS[number]
    return f"{setting.name}/{control}"


def linux(number: int) -> Figures:
    """Linux's side of a pair."""
    return measure(number, emulated=True)


def distance(mine: float, peer: float) -> float:
    """How far ours is from Linux's, as a part of Linux's."""
    return (mine - peer) / peer


def beyond_counts(mine: Figures, peer: Figures) -> set[str]:
    """Goodput, retransmissions and timeouts that are further from Linux's than allowed."""
    return {name for name, part in COUNTS.items() if abs(mine[name] - peer[name]) > part * peer[name]}


def row(number: int, peer: Figures) -> str:
    """Ours and Linux's: times with the difference, bold where that is more than the tolerance."""
    mine, cells = measure(number, emulated=False), []
    far = beyond_counts(mine, peer)
    for name, value in mine.items():
        if name not in TOLERANCE:
            text = f"{value:.3g} / {peer[name]:.3g}"
            cells.append(f"**{text}**" if name in far else text)
            continue
        apart = distance(value, peer[name])
        text = f"{value:.4g} ({apart:+.1%})".replace("-", "−")
        cells.append(f"**{text}**" if abs(apart) > TOLERANCE[name] else text)
    return f"| {key(number).replace('/', ', ')} | {' | '.join(cells)} |"


def kept() -> dict[str, Figures]:
    """Linux's figures, by pair."""
    found: dict[str, Figures] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def times(names: list[str], *, kept_only: bool) -> None:
    """Runs both, and prints the table of times."""
    print("| setting | p50 µs | mean µs | p99 µs | Gb/s | drops | marks | retransmits | timeouts |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    known = kept()
    wanted = [n for n, (setting, _) in enumerate(linux_matrix.PAIRS) if not names or setting.name in names]
    with ThreadPoolExecutor(2) as pool:
        peers = (known[key(number)] for number in wanted) if kept_only else pool.map(linux, wanted)
        for number, found in zip(wanted, peers, strict=True):
            known[key(number)] = found
            print(row(number, found), flush=True)
    KEPT.write_text(json.dumps(known, indent=1) + "\n")


def main(asked: list[str]) -> None:
    """Prints both tables."""
    names, kept_only = [name for name in asked if not name.startswith("--")], "--kept" in asked
    if "--windows" not in asked:
        times(names, kept_only=kept_only)
        print()
    linux_windows.table(names, kept_only=kept_only)


if __name__ == "__main__":
    main(sys.argv[1:])
