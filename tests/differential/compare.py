"""Prints our figures next to the recorded ones of ns-3, as the table of docs/validation/ns3.md.

python tests/differential/compare.py [SETTING …]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import figures
import matrix
import record
from testkit import ours


def cell(figure: str, mine: float, peer: float) -> str:
    """Ours, and how far it is from ns-3's; bold where that is more than the tolerance."""
    apart = figures.distance(figure, mine, peer)
    text = f"{mine:.4g} ({apart:+.1%})"
    return f"**{text}**" if abs(apart) > figures.TOLERANCE[figure] else text


def main(names: list[str]) -> None:
    """Runs ours."""
    reference = json.loads(record.REFERENCE.read_text())["settings"]
    print("| setting | mean µs | p99 µs | Gb/s | drops | marks |\n|---|--:|--:|--:|--:|--:|")
    for setting in matrix.SETTINGS:
        for control in matrix.CONTROLS:
            if names and setting.name not in names:
                continue
            runs = [ours.run(scenario) for scenario in record.scenarios(setting, control)]
            peer = reference[f"{setting.name}/{control}"]["figures"]
            cells = [cell(name, value, peer[name]) for name, value in figures.of_runs(runs).items()]
            print(f"| {setting.name}, {control} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
