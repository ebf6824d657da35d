"""Runs a scenario in ns-3."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from testkit.ns3 import case_file
from testkit.ns3.build import Ns3
from testkit.ns3.case_file import DIFFERENTIAL, Model, Ways

Run = dict[str, Any]


def run(ns3: Ns3, scenario: dict[str, Any], model: Model = DIFFERENTIAL, ways: Ways | None = None) -> Run:
    """What the driver prints: packet-hops, events, drops, marks, CPU seconds, RSS, and every flow."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case"
        file.write_text(case_file.write(scenario, model, ways))
        done = subprocess.run([str(ns3.driver), str(file)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{ns3.name} failed on {scenario['name']}: {done.stderr.strip()}")
    result: Run = json.loads(done.stdout)
    late = [f for f in result["flows"] if f["finish_ps"] < 0]
    if late:
        raise RuntimeError(f"{ns3.name}: {len(late)} flows of {scenario['name']} never finished")
    return result
