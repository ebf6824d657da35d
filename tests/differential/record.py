"""Runs every setting in ns-3 and writes reference.json, which the comparison reads.

    python tests/differential/record.py [SETTING …]

With names, only those settings are run again. It takes some ten minutes of CPU for all.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import figures
import matrix
from testkit import ours
from testkit.ns3 import build, case_file, simulate

REFERENCE = Path(__file__).with_name("reference.json")
#: A scenario, and which of several equal ways each pair of hosts takes.
Case = tuple[dict[str, Any], case_file.Ways | None]
COMMAND = "python tests/differential/record.py"


def digest(setting: matrix.Setting, cases: list[Case]) -> str:
    """Of the very cases that ns-3 was given: a reference of other cases must not be compared with."""
    texts = [case_file.write(scenario, setting.model, ways) for scenario, ways in cases]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def scenarios(setting: matrix.Setting, control: str) -> list[dict[str, Any]]:
    """One for each seed."""
    return [setting.scenario(control, seed) for seed in range(setting.seeds)]


def cases(setting: matrix.Setting, control: str, runs: list[ours.Run]) -> list[Case]:
    """What ns-3 is given: the scenarios, and where there are several ways those of our runs."""
    given = scenarios(setting, control)
    if not setting.several_ways:
        return [(scenario, None) for scenario in given]
    return [(scenario, ours.ways(run)) for scenario, run in zip(given, runs, strict=True)]


def record(ns3: build.Ns3, setting: matrix.Setting, control: str) -> dict[str, Any]:
    """The figures of one setting under one congestion control."""
    mine = []
    if setting.several_ways:
        mine = [ours.run(scenario) for scenario in scenarios(setting, control)]
    given = cases(setting, control, mine)
    runs = [simulate.run(ns3, scenario, setting.model, ways) for scenario, ways in given]
    rounded = {key: round(value, 3) for key, value in figures_of(setting, runs).items()}
    return {"cases": digest(setting, given), "runs": setting.seeds, "figures": rounded}


def figures_of(setting: matrix.Setting, runs: list[dict[str, Any]]) -> dict[str, float]:
    """What is compared in that setting."""
    return figures.of_long_runs(runs) if setting in matrix.LONG_SETTINGS else figures.of_runs(runs)


def main(names: list[str]) -> None:
    ns3 = build.wheel()
    old = json.loads(REFERENCE.read_text())["settings"] if REFERENCE.exists() else {}
    settings = {}
    for setting, control in matrix.PAIRS + matrix.LONG_PAIRS:
        key = f"{setting.name}/{control}"
        if key in old and names and setting.name not in names:
            settings[key] = old[key]
            continue
        settings[key] = record(ns3, setting, control)
        print(key, settings[key]["figures"], flush=True)
    text = {"simulator": ns3.name, "command": COMMAND, "settings": settings}
    REFERENCE.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
