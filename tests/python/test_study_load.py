"""Studies are checked before anything runs."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from incast.errors import ScenarioError
from incast.study.cells import cell_runs, document
from studies import CALIBRATION, CLAIMS, SMALL, refused, study, written


def changed(**fields: Any) -> dict[str, Any]:
    return {**deepcopy(SMALL), **fields}


def test_a_cell_is_the_base_with_its_values_laid_over(tmp_path: Path) -> None:
    found = study(tmp_path)
    (run,) = cell_runs(found, found.select(["shallow/two"], "x"), [7])
    spec = run.work.spec
    assert spec["seed"] == 7
    assert spec["switches"][0]["config"]["buffer"]["size"] == 100_000
    assert spec["jobs"][0]["work"]["rounds"] == 2
    assert str(run.place) == "buffer=shallow/rounds=two/seed=7"


def test_the_base_may_be_a_file(tmp_path: Path) -> None:
    import yaml

    (tmp_path / "base.yaml").write_text(yaml.safe_dump(SMALL["base"]))
    found = study(tmp_path, changed(base="base.yaml"))
    assert document(found, found.cells[0]).plain() == document(study(tmp_path / "b"), found.cells[0]).plain()


def test_published_figures_find_their_cells(tmp_path: Path) -> None:
    found = study(tmp_path)
    assert found.published["shallow/two"] == 600_000_000
    axes = deepcopy(SMALL["axes"])
    axes["buffer"]["huge"] = {"set": {"switch.buffer.size": "1GB"}}
    assert "huge/one" not in study(tmp_path, changed(axes=axes)).published


def test_calibrated_values_come_last(tmp_path: Path) -> None:
    content = changed(calibration=CALIBRATION)
    found = study(tmp_path, content)
    assert document(found, found.cells[0]).plain()["topology"]["host_link"]["rate"] == "10Gbps"  # type: ignore[index]
    (tmp_path / "calibrated.yaml").write_text("parameters: [{field: topology.host_link.rate, value: 20Gbps}]")
    found = study(tmp_path, content)
    assert document(found, found.cells[0]).plain()["topology"]["host_link"]["rate"] == "20Gbps"  # type: ignore[index]


def parameter(**fields: Any) -> dict[str, Any]:
    return {**CALIBRATION, "parameters": [{**CALIBRATION["parameters"][0], **fields}]}


BAD = {
    "no figure": (
        changed(metrics={"time": "jobs.a.durations"}),
        "metrics.time: time: 'jobs.a.durations' is not",
    ),
    "no table": (changed(metrics={"time": {"table": "prts", "column": "x"}}), "'prts' is not a table"),
    "no metric": (changed(published={"column": "ms", "metric": "tim"}), "published.metric: 'tim' is not"),
    "no column": (changed(published={"column": "s", "metric": "time"}), "'s' is not a column"),
    "no unit": (
        changed(published={"column": "ms", "metric": "time"}),
        "published.csv:3: ms: '0.3' with the unit",
    ),
    "no value": (changed(cells=["dep"]), "study.yaml:"),
    "no cell": (changed(cells=["deep/tez"]), "cells[0]: 'tez' is not a value"),
    "twice": (changed(axes={"a": {"x": {}}, "b": {"x": {}}}), "two axes have a value 'x'"),
    "empty": (changed(axes={"a": {}}), "axes.a: has no values"),
    "field": (changed(sed=1), "'sed' is not a field here. Did you mean 'seeds'?"),
    "choices": (changed(base={**SMALL["base"], "choices": {"a": {}}}), "a study's base has no choices"),
    "base": (changed(base="none.yaml"), "none.yaml"),
    "no rows": (
        changed(
            calibration={**CALIBRATION, "cells": ["deep|shallow"]}, axes={**SMALL["axes"], "x": {"y": {}}}
        ),
        "calibration.cells: no published row answers to deep/one/y",
    ),
    "unknowns": (
        changed(
            calibration={**CALIBRATION, "cells": ["deep/one"], "parameters": CALIBRATION["parameters"] * 2}
        ),
        "2 parameters can't be fitted to 1 published rows",
    ),
    "bounds": (changed(calibration=parameter(low="20Gbps")), "low ≤ start ≤ high"),
    "units": (changed(calibration=parameter(low="2ms")), "expected three times"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    assert any(message in str(problem) for problem in refused(tmp_path, content)), refused(tmp_path, content)


def test_a_row_has_to_be_the_only_one(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "published.csv").write_text("buffer,rounds,ms\ndeep,1,2\ndeep,1,3\n")
    from incast.study import load

    with pytest.raises(ScenarioError, match="lines 2 and 3 both answer to deep/one"):
        load(folder)
    (folder / "published.csv").write_text("buffer,rounds,ms\ndeep,1\n")
    with pytest.raises(ScenarioError, match="csv:2: has 2 columns, the header 3"):
        load(folder)


def test_all_cells_are_checked_and_named(tmp_path: Path) -> None:
    axes = deepcopy(SMALL["axes"])
    axes["buffer"]["shallow"]["set"] = {"switch.buffer.size": "0B", "sede": 1}
    found = study(tmp_path, changed(axes=axes))
    with pytest.raises(ScenarioError) as error:
        cell_runs(found, found.cells, [1])
    texts = [str(problem) for problem in error.value.problems]
    assert any(
        "sede: 'sede' is not a field here" in text and "(cell shallow/one and 1 more)" in text
        for text in texts
    )
    assert all(text.startswith(f"{tmp_path}/study.yaml:") for text in texts)


def test_calibrated_values_of_other_parameters(tmp_path: Path) -> None:
    written(tmp_path)
    for text in ("parameters: [{field: seed, value: 2}]", "parameters: []", "residuals: 1"):
        (tmp_path / "calibrated.yaml").write_text(text)
        (problem,) = refused(tmp_path, changed(calibration=CALIBRATION))
        assert "calibrate the study again" in problem.message


BAD_CLAIMS = {
    'tests = [{less = ["deep", "shallow"], within = ["a", "b"]}]': "exactly one relation is expected, found less and within",
    "tests = [{}]": "found none",
    'tests = [{within = ["deep", "shallow"]}]': "part is required with within",
    'tests = [{less = ["deep", "shallow"], part = 0.1}]': "part has no meaning with less",
    'tests = [{ratio = ["deep", "shallow"], between = [2, 1]}]': "between begins at 2",
    'tests = [{less = ["deep", "two"]}]': "claim S1: deep and two have to name values of the same axes",
    'tests = [{less = ["deep|shallow", "deep"]}]': "alternatives (|) are for `over`",
    'tests = [{less = ["deep", "shallow"], over = "deep"}]': "over names axis buffer",
    'tests = [{less = ["deep", "shalow"]}]': "Did you mean 'shallow'?",
    'tests = [{less = ["deep", "shallow"], metric = "drop"}]': "'drop' is not one of the study's metrics",
    'tests = [{above = "deep", value = 5}]': "value is 5.0: expected a time",
    'tests = [{above = "deep", value = "5kB"}]': "is not a unit of time",
    'tests = [{less = ["deep", "shallow"], against = "one|two"}]': "against one|two: one value an axis",
    "checkedby = []": "'checkedby' is not a field here",
    "": "claim S1 has no tests",
}


@pytest.mark.parametrize("line", BAD_CLAIMS)
def test_bad_claims_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    claims = CLAIMS.replace('tests = [{less = ["deep", "shallow"], metric = "drops"}]', line)
    (problem, *_) = refused(tmp_path, claims=claims)
    assert BAD_CLAIMS[line] in str(problem)
    assert str(problem).startswith(f"{tmp_path}/claims.toml:3: claim[0]")


def test_claims_that_are_no_toml_or_not_unique(tmp_path: Path) -> None:
    assert "not TOML" in str(refused(tmp_path, claims="[[")[0])
    assert "two claims have the id 'S1'" in str(refused(tmp_path, claims=CLAIMS.replace("S2", "S1"))[0])


def test_no_study(tmp_path: Path) -> None:
    from incast.study import load

    with pytest.raises(ScenarioError, match=r"is not a study: it has no study\.yaml"):
        load(tmp_path)


def test_no_cell_is_selected(tmp_path: Path) -> None:
    claims = CLAIMS.replace('tests = [{less = ["deep", "shallow"], metric = "drops"}]', 'reason = "none"')
    found = study(tmp_path, changed(cells=["deep"]), claims)
    with pytest.raises(ScenarioError, match="--cells: no cell of the study is selected"):
        found.select(["shallow"], "--cells")
