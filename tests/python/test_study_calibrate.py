"""Parameters are found, rounded, bounded and frozen."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.document import read_file
from incast.errors import ScenarioError
from incast.quantity import parse_rate
from incast.study import load
from incast.study.calibrate import Residual, Trial, Values, calibrate, search
from incast.study.cells import document
from incast.study.model import Calibration, Parameter
from incast.study.parameters import fitted, read, write
from incast.study.run import Watcher
from studies import CALIBRATION, SMALL, study


def tried(model: Callable[..., list[float]]) -> tuple[list[Trial], Callable[[Values], Trial]]:
    """An evaluation that asks a formula instead of a simulation, and what it was asked."""
    trials: list[Trial] = []

    def evaluate(values: Values) -> Trial:
        parts = model(*(float(parse_rate(v)) if isinstance(v, str) else float(v) for v in values))
        trials.append(Trial(values, tuple(Residual("c", 1, 1 + part, part) for part in parts)))
        return trials[-1]

    return trials, evaluate


def test_the_search_finds_what_made_the_figures() -> None:
    # Start-up and work at a rate, as a job's time is; 3 s and 50 Mb/s made the figures.
    startup = fitted(Parameter(field="a", start=1.0, low=0.0, high=20.0))
    rate = fitted(Parameter(field="b", start="10Mbps", low="1Mbps", high="1Gbps"))
    published = [3 + size / 50 for size in (100, 1000, 2000)]
    trials, evaluate = tried(
        lambda s, r: [
            (s + size * 1e6 / r) / p - 1 for size, p in zip((100, 1000, 2000), published, strict=True)
        ]
    )
    search([startup, rate], evaluate)
    best = min(trials, key=lambda each: each.rms)
    assert best.values[0] == pytest.approx(3, rel=0.02)
    assert parse_rate(str(best.values[1])) == pytest.approx(50e6, rel=0.02)
    assert len(trials) < 60


@given(st.floats(1e6, 1e12), st.floats(1.1, 1e3), st.floats(0, 1), st.floats(0, 1e13))
def test_values_stay_within_bounds_and_are_read_back(
    low: float, span: float, at: float, value: float
) -> None:
    ends = [f"{round(end)}bps" for end in (low, low * span**at, low * span)]
    each = fitted(Parameter(field="x", start=ends[1], low=ends[0], high=ends[2]))
    found = each.value(value)
    assert each.low * 0.9995 <= parse_rate(str(found)) <= each.high * 1.0005
    assert each.value(float(parse_rate(str(found)))) == found


def test_plain_numbers_stay_plain() -> None:
    whole = fitted(Parameter(field="x", start=4, low=1, high=64))
    assert whole.value(7.6) == 8
    assert fitted(Parameter(field="x", start=0.5, low=0.0, high=1.0)).value(0.123456) == 0.1235


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    calibration = Calibration.model_validate(
        {**CALIBRATION, "parameters": [{**CALIBRATION["parameters"][0], "cells": "deep"}]}
    )
    write(tmp_path / "c.yaml", calibration, ["9Gbps"], [{"cell": "deep/one", "difference": 0.1}])
    assert [node.value for node in read(tmp_path / "c.yaml", calibration)] == ["9Gbps"]
    assert (tmp_path / "c.yaml").read_text().startswith("# Written by `incast calibrate`")


def watched(_: int, __: Trial | None) -> Watcher:
    return Watcher()


def test_a_study_is_calibrated_frozen_and_read(tmp_path: Path) -> None:
    content: dict[str, Any] = {**deepcopy(SMALL), "calibration": {**CALIBRATION, "cells": ["deep/one"]}}
    found = study(tmp_path / "study", content)
    # At 10 Gb/s it takes a quarter of a millisecond; 0.3 ms were published.
    best = calibrate(found, tmp_path / "out", 2, watched)
    assert best.rms < 0.02
    frozen = read_file(tmp_path / "study" / "calibrated.yaml").plain()
    assert frozen["parameters"][0]["value"] == best.values[0]  # type: ignore[index]
    assert frozen["residuals"][0]["cell"] == "deep/one"  # type: ignore[index]
    again = load(tmp_path / "study")
    assert document(again, again.cells[0]).plain()["topology"]["host_link"]["rate"] == best.values[0]  # type: ignore[index]


def test_a_study_without_a_calibration(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="has no calibration"):
        calibrate(study(tmp_path), tmp_path / "out", 1, watched)


def test_a_parameter_that_is_no_field(tmp_path: Path) -> None:
    parameters = [{**CALIBRATION["parameters"][0], "field": "topology.host_link.rat"}]
    found = study(tmp_path, {**SMALL, "calibration": {**CALIBRATION, "parameters": parameters}})
    with pytest.raises(ScenarioError, match="'rat' is not a field here"):
        calibrate(found, tmp_path / "out", 1, watched)
