"""Studies of planned broadcasts: cells that are planned instead of simulated, and pictures of plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from incast.broadcast import planned
from incast.broadcast.picture import draw
from incast.document import Node
from incast.errors import ScenarioError
from incast.result import Result
from incast.study import Study, load
from incast.study.cells import cell_runs
from incast.study.outcome import collect
from incast.study.run import run_study

STUDY: dict[str, Any] = {
    "name": "plans",
    "base": {
        "name": "plans",
        "plan": {
            "topology": {"shape": "clusters", "hosts": 12, "bandwidth": "mixed"},
            "destinations": 9,
            "algorithm": "stable",
        },
    },
    "axes": {
        "algorithm": {
            "stable": {"published": {"algorithm": "stable"}},
            "fpfr": {"set": {"plan.algorithm": "fpfr"}, "published": {"algorithm": "fpfr"}},
        },
        "hosts": {"nine": {"published": {"hosts": 9}}, "ten": {"set": {"plan.joins": "10Mbps"}}},
    },
    "seeds": 3,
    "metrics": {"over": "plan.stable_over", "stayed": "plan.stayed", "trees": "plan.trees"},
    "published": {"column": "over", "metric": "over"},
    "bars": [{"id": "who-stays", "place": "slide 33", "metric": "stayed", "cells": ["stable|fpfr"]}],
}


def written(folder: Path, content: Mapping[str, Any] = STUDY) -> Study:
    (folder / "study.yaml").write_text(yaml.safe_dump(dict(content), sort_keys=False), encoding="utf-8")
    (folder / "published.csv").write_text("algorithm,hosts,over\nfpfr,9,2\n", encoding="utf-8")
    return load(folder)


def refused(folder: Path, field: str, value: object) -> str:
    base = {**STUDY["base"], "plan": {**STUDY["base"]["plan"], field: value}}
    found = written(folder, STUDY | {"base": base})
    with pytest.raises(ScenarioError) as caught:
        cell_runs(found, found.cells, [1])
    return str(caught.value)


def test_cells_are_planned_and_compared(tmp_path: Path) -> None:
    from incast.study.page import write

    found = written(tmp_path)
    done = run_study(found, tmp_path / "out", cells=found.cells, seeds=[1, 2, 3], jobs=1)
    assert len(done) == 12
    outcome = collect(found, tmp_path / "out")
    rows = {row.cell.name: row for row in outcome.rows}
    assert set(rows["stable/nine"].figures["over"].values()) == {1.0}
    assert all(value >= 1 for value in rows["fpfr/nine"].figures["over"].values())
    assert rows["stable/ten"].figures["stayed"] == rows["stable/nine"].figures["stayed"]
    assert rows["fpfr/nine"].published == 2
    assert all(row.unfinished == 0 and not any(row.packet_hops.values()) for row in outcome.rows)
    assert "Slide 33" in write(outcome, tmp_path / "out").read_text("utf-8")


def test_what_was_planned_is_not_planned_again_and_is_in_its_folder(tmp_path: Path) -> None:
    found = written(tmp_path)
    cells = found.select(["stable/ten"], "x")
    (done,) = run_study(found, tmp_path / "out", cells=cells, seeds=[4], jobs=1)
    marks = (done.folder / "summary.json").stat().st_mtime_ns
    (again,) = run_study(found, tmp_path / "out", cells=cells, seeds=[4], jobs=1)
    assert (again.folder / "summary.json").stat().st_mtime_ns == marks
    kept = json.loads((done.folder / "plan.json").read_text("utf-8"))
    assert kept["destinations"][-1] == planned.JOINS
    assert len(kept["destinations"]) == 10
    figures = Result.open(done.folder).summary["plan"]
    assert figures["aggregate_bps"] == figures["alone_bps"] == figures["stayed_bps"] + 10_000_000


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("algorithm", "stabel", "plan.algorithm: 'stabel' is not an algorithm. Did you mean 'stable'?"),
        ("destinations", 0, "plan.destinations: 0 is not allowed: must be greater than or equal to 1"),
        ("joins", "10", "plan.joins: "),
        ("source", "host0", "plan.source: 'source' is not a field here."),
        ("topology", {"shape": "cluster", "hosts": 4, "bandwidth": "mixed"}, "plan.topology.shape: 'cluster' is not"),
        ("topology", {"hosts": 4}, "plan.topology.bandwidth: is required"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, field: str, value: object, message: str) -> None:
    assert message in refused(tmp_path, field, value)


def test_bars_of_a_figure_that_there_is_not(tmp_path: Path) -> None:
    bars = [{**STUDY["bars"][0], "metric": "staid"}]
    with pytest.raises(ScenarioError, match=r"bars\[0\].metric: 'staid' is not one of metrics. Did you mean"):
        written(tmp_path, STUDY | {"bars": bars})


def test_the_best_of_many_random_orders_is_the_best() -> None:
    file = planned.validate(Node.of(STUDY["base"]))
    asked = planned.request(file.plan, 2)
    one, many = (planned.best(asked, "random-pipeline", trials) for trials in (1, 20))
    assert many.aggregate >= one.aggregate


def test_a_picture_has_every_node_and_a_colour_a_tree() -> None:
    file = planned.validate(Node.of(STUDY["base"]))
    asked = planned.request(file.plan, 1)
    made = asked.plan("stable")
    svg = draw(asked.topology, made)
    assert svg.startswith("<svg ")
    assert all(f"<title>{node.id}: " in svg for node in asked.topology.nodes)
    assert [f'class="t c{n}"' in svg for n in range(len(made.trees) + 1)] == [True] * len(made.trees) + [
        False
    ]
    assert draw(asked.topology, made, page=True).startswith("<!doctype html>")
