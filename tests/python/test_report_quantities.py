"""Which numbers of the core's scenario are times, sizes or rates: their fields' types say it, not their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import SMALL, spec
from incast.lab.scenario import Scenario
from incast.report.quantities import told

WALKS = {
    "name": "walks",
    "kind": "walk",
    "graph": {"kind": "sbm", "sizes": [10, 10], "inside": 0.5, "between": 0.1},
}


def shown(folder: Path, content: dict[str, Any]) -> Any:
    return told(spec(folder, content), (Scenario,))


def test_one_name_is_a_time_in_one_part_and_a_number_in_another(tmp_path: Path) -> None:
    (job,) = shown(tmp_path, {**SMALL, "jobs": [WALKS]})["jobs"]
    assert job["start"] == "0 s"
    assert job["work"]["generation"]["max"] == "10 ms"
    assert job["work"]["queue"]["max"] == 100.0


@pytest.mark.parametrize(("depth", "said"), [("65 packets", {"packets": 65}), ("200kB", {"bytes": "200 kB"})])
def test_a_depth_is_in_packets_or_bytes(tmp_path: Path, depth: str, said: dict[str, Any]) -> None:
    switch = {"queue": {"kind": "step", "threshold": depth}}
    (rule,) = shown(tmp_path, {**SMALL, "switch": switch})["switches"]
    assert rule["config"]["queue"]["threshold"] == said


def test_rules_ranges_and_faults(tmp_path: Path) -> None:
    content = {
        **SMALL,
        "host": {"tcp": {"rto_min": ["10ms", "20ms"]}},
        "faults": [{"at": "1us", "rate": {"link": ["host0", "switch0"], "rate": "1Gbps"}}],
    }
    found = shown(tmp_path, content)
    assert found["hosts"][0]["config"]["tcp"]["rto_min"] == {"uniform": ["10 ms", "20 ms"]}
    (fault,) = found["faults"]
    assert (fault["at"], fault["change"]["rate"]) == ("1 µs", "1 Gb/s")
    assert found["seed"] == 1
