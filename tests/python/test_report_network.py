"""Buffers, ECMP ways and pauses in the report."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

import incast
from helpers import SMALL, written
from incast.network import buffers
from incast.report import write
from incast.result import Result
from test_network import FABRIC
from test_report import text_of
from test_report_congestion import UNITS, panels

TITLE = "Buffers, ways and pauses over time"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("network")
    return incast.run(written(folder, FABRIC), folder / "out")


def test_the_highest_point_is_the_watermark(run: Result) -> None:
    found = {what: (unit, points) for what, unit, points in panels(write(run.path))}
    for what, table, column in (
        ("shared watermark", "pools_series", "used_max_bytes"),
        ("queue watermark", "queues_series", "queue_max_bytes"),
        ("held watermark", "pauses_series", "held_max_bytes"),
    ):
        unit, points = found[what]
        samples: list[int] = getattr(run, table)[column].to_list()
        assert max(points["y"]) * UNITS[unit] == pytest.approx(max(samples), rel=1e-3)


def test_ways_and_pauses_are_drawn_and_told(run: Result) -> None:
    page = write(run.path)
    found = {what: points for what, _, points in panels(page)}
    assert all(0.5 <= even <= 1 for even in found["Jain's index"]["y"])
    assert 0 < max(found["time paused"]["y"]) <= 100
    words = text_of(page)
    cause = run.pause_causes.sort("asked_ps").row(-1, named=True)
    assert f"{cause['port']} 3 {cause['egress']} is congested {cause['paused']}" in words
    assert "ECMP groups, least even first" in words


def test_choices_are_compared_by_the_fullest_switch(tmp_path: Path) -> None:
    scenario = FABRIC | {"choices": {"pfc": {}, "lossy": {"switch.pfc": None}}}
    result = incast.run(written(tmp_path, scenario), tmp_path / "out")
    used = pl.concat([buffers.pools(partial(getattr, each)) for each in result.runs])
    fullest = used.sort("used_max")["switch"][-1]
    assert f"{TITLE} Shared memory of {fullest} pfc lossy" in text_of(write(result.path))


def test_a_run_without_samples_has_no_such_section(tmp_path: Path) -> None:
    bare = incast.run(written(tmp_path, SMALL), tmp_path / "out")
    assert TITLE not in text_of(write(bare.path))
