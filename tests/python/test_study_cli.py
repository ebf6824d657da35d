"""Studies from the command line."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from testkit.study import NO_TESTS
from typer.testing import CliRunner, Result

from incast.cli import show_study
from incast.cli.app import app
from incast.cli.exits import Exit
from studies import CALIBRATION, SMALL, written


def call(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that was run and its results."""
    folder = tmp_path_factory.mktemp("cli")
    written(folder / "studies" / "small")
    found = call("study", "run", folder / "studies" / "small", "--out", folder / "results" / "small")
    assert found.exit_code == Exit.OK, found.output
    for word in (
        "deep/one",
        "published",
        "packet-hops",
        "CPU",
        "memory",
        "1 holds, 1 does not hold, 1 not tested",
    ):
        assert word in found.output
    return folder


def test_report(place: Path, tmp_path: Path) -> None:
    where = ("study", "report", place / "studies/small", "--results", place / "results/small")
    page = place / "results/small/report.html"
    assert page.is_file()  # run has written it
    page.unlink()
    found = call(*where)
    assert found.exit_code == Exit.OK, found.output
    assert f"Report: {page}" in found.output.replace("\n", "")
    assert page.is_file()
    content = json.loads(call(*where, "--svg", tmp_path / "svg", "--json").stdout)
    assert content == {"ok": True, "report": str(page), "kept": 0, "svg": []}


def test_the_table_as_text(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "ours.csv"
    where = ("study", "report", place / "studies/small", "--results", place / "results/small")
    found = call(*where, "--csv", file)
    assert f"Table: {file}" in found.output.replace("\n", "")
    rows = {row["cell"]: row for row in pl.read_csv(file).to_dicts()}
    kept = {row["cell"]: row for row in pl.read_parquet(place / "results/small/results.parquet").to_dicts()}
    assert list(rows) == list(kept)
    row = rows["deep/two"]
    assert (row["seeds"], row["published_s"]) == (2, 0.0006)
    for part, column in (("", "time_mean_ps"), ("_low", "time_low_ps"), ("_high", "time_high_ps")):
        assert row[f"time{part}_s"] == pytest.approx(kept["deep/two"][column] / 1e12, rel=1e-4)
    assert row["packet_hops"] == pytest.approx(kept["deep/two"]["packet_hops"], rel=1e-4)
    assert row["cpu_s"] > 0
    assert row["memory_mb"] > 10


def test_files_are_overwritten_only_if_they_may_be(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn"
    bars = {"id": "bars", "place": "page 1", "cells": ["deep"], "metric": "time"}
    written(drawn, {**deepcopy(SMALL), "bars": [bars]})
    ours = call("study", "run", drawn, "--out", tmp_path / "results", "--seeds", 1)
    assert ours.exit_code == Exit.OK, ours.output
    (tmp_path / "bars.svg").write_text("the user's")
    (tmp_path / "own.csv").write_text("the user's")
    where = ("study", "report", drawn, "--results", tmp_path / "results")
    for option, to, file in (("--svg", tmp_path, "bars.svg"), ("--csv", tmp_path / "own.csv", "own.csv")):
        refused = call(*where, option, to)
        assert refused.exit_code == Exit.USAGE
        assert f"{file} is there already: choose another, or allow it to be overwritten" in refused.stderr
        assert (tmp_path / file).read_text() == "the user's"
        assert call(*where, option, to, "--force").exit_code == Exit.OK
        assert (tmp_path / file).read_text() != "the user's"


def test_report_over_something_else_is_refused(place: Path) -> None:
    found = call("study", "report", place / "studies/small", "--results", place / "studies/small")
    assert found.exit_code == Exit.USAGE
    assert "it isn't a result of incast" in found.stderr
    assert not (place / "studies/small/report.html").exists()


def test_names_and_figures_of_cells_are_broken_on_no_terminal(place: Path) -> None:
    where = ("study", "run", place / "studies/small", "--out", place / "results/small")
    found = CliRunner(env={"COLUMNS": "40"}).invoke(app, [str(each) for each in where])
    assert found.exit_code == Exit.OK
    lines = [line.split() for line in found.stdout.splitlines()]
    # A table for each few columns, with a row for each cell.
    assert sum("cell" in line for line in lines) == sum("shallow/two" in line for line in lines) > 2
    assert all(any(head in line for line in lines) for head in ("discards", "difference", "packet-hops"))
    assert "…" not in found.stdout
    names = "two/three/four/fives/sixes/sevens/eights/nine"
    assert show_study._in_lines(names) == "two/three/four/fives/sixes/\nsevens/eights/nine"


def test_a_path_that_leads_to_no_study_is_told_from_a_folder_without_one(place: Path) -> None:
    study = place / "studies/small"
    for path, said in (
        (study / "study.yaml", f"is a file, and a study is a folder with study.yaml: {study}"),
        (place / "none", "there is no such folder"),
        (place, "is not a study: it has no study.yaml"),
    ):
        found = call("study", "check", path)
        assert (found.exit_code, f"{path}: {said}" in found.stderr) == (Exit.USAGE, True), found.stderr
    found = call("reproduce", study, "--studies", place / "studies")
    assert "is a path: the study's name is expected, 'small'" in found.stderr


def test_a_report_of_nothing_is_refused(place: Path, tmp_path: Path) -> None:
    """An empty page would look like a study of which nothing holds."""
    (tmp_path / "empty").mkdir()
    for results in (tmp_path / "nowhere", tmp_path / "empty"):
        found = call("study", "report", place / "studies/small", "--results", results)
        assert found.exit_code == Exit.USAGE
        assert f"{results} holds no finished run of the study as it is now" in found.stderr
    assert [each.name for each in tmp_path.rglob("*")] == ["empty"]


def test_run_as_json(place: Path) -> None:
    found = call(
        "study",
        "run",
        place / "studies/small",
        "--out",
        place / "results/small",
        "--cells",
        "deep|shallow/one",
        "--json",
    )
    assert found.exit_code == Exit.OK
    content = json.loads(found.stdout)
    assert [each["cell"] for each in content["cells"]] == ["deep/one", "shallow/one"]
    figures = content["cells"][0]["figures"]["time_ps"]
    assert figures["low"] <= figures["mean"] <= figures["high"]
    assert content["cells"][0]["cpu_s"] > 0
    assert {each["id"]: each["verdict"] for each in content["claims"]}["S1"] == "holds"


def test_reproduce_shows_every_claim(place: Path) -> None:
    where = ("--studies", place / "studies", "--results", place / "results")
    found = call("reproduce", *where)
    assert found.exit_code == Exit.OK, found.output
    for word in ("S1", "S2", "S3", "page 2", "Deep buffers drop less.", "holds (2 of 2)", "nobody knows"):
        assert word in found.output
    listed = json.loads(call("reproduce", "small", *where, "--json").stdout)
    assert listed[0]["study"] == "small"
    assert [each["verdict"] for each in listed[0]["claims"]] == ["holds", "does not hold", "not tested"]


def test_claims_can_be_read_at_80_columns(place: Path) -> None:
    """Figures are below what the document says: six columns would leave a few characters for each."""
    where = ("reproduce", "--studies", str(place / "studies"), "--results", str(place / "results"))
    found = {width: CliRunner(env={"COLUMNS": width}).invoke(app, where).output for width in ("200", "80")}
    wide, narrow = ([" ".join(line.split()) for line in each.splitlines()] for each in found.values())
    assert "claim place what the document says published ours verdict" in wide
    start = narrow.index("claim what the document says verdict")
    assert narrow[start + 2 : start + 4] == [
        "S1 Deep buffers drop less. holds",
        "page 1 ours: deep/one: 0 / 50; deep/two: 0 / 100 (2 of 2)",
    ]
    assert "published: deep/two: 600 µs / 300 µs" in narrow


def test_reproduce_before_anything_was_run(tmp_path: Path) -> None:
    written(tmp_path / "studies" / "small")
    found = call("reproduce", "--studies", tmp_path / "studies", "--results", tmp_path / "results")
    assert found.exit_code == Exit.OK
    assert "3 not tested" in found.output
    assert not (tmp_path / "results").exists()


def test_reproduce_runs_what_is_missing(tmp_path: Path) -> None:
    content = {**deepcopy(SMALL), "cells": ["deep/one"], "metrics": {"time": "jobs.answers.duration"}}
    written(tmp_path / "studies" / "small", content, NO_TESTS)
    where = ("--studies", tmp_path / "studies", "--results", tmp_path / "results")
    assert call("reproduce", "--run", "--seeds", 1, *where).exit_code == Exit.OK
    assert (tmp_path / "results/small/claims.json").is_file()
    assert (tmp_path / "results/small/runs/buffer=deep/rounds=one/seed=1/summary.json").is_file()


def test_reproduce_a_study_that_is_not_there(place: Path) -> None:
    found = call("reproduce", "smal", "--studies", place / "studies")
    assert found.exit_code == Exit.USAGE
    assert "Did you mean 'small'?" in found.stderr
    assert "holds no study" in call("reproduce", "--studies", place).stderr


def test_check(place: Path) -> None:
    found = call("study", "check", place / "studies/small")
    assert found.exit_code == Exit.OK
    assert "is fine: 4 cells, 4 with a published figure, 3 claims, 2 seeds" in found.output
    assert (
        json.loads(call("study", "check", place / "studies/small", "--json").stdout)["names"][0] == "deep/one"
    )


def test_a_bad_study_ends_with_2(tmp_path: Path) -> None:
    written(tmp_path, {**SMALL, "sed": 3})
    for command in (("study", "run"), ("study", "check"), ("calibrate",)):
        found = call(*command, tmp_path)
        assert found.exit_code == Exit.USAGE
        assert "'sed' is not a field here" in found.stderr
    (problem,) = json.loads(call("study", "check", tmp_path, "--json").stdout)["problems"]
    assert (problem["path"], problem["file"]) == ("sed", str(tmp_path / "study.yaml"))


def test_no_such_cells(place: Path) -> None:
    found = call("study", "run", place / "studies/small", "--cells", "dep")
    assert found.exit_code == Exit.USAGE
    assert "error: --cells: 'dep' is not a value of an axis. Did you mean 'deep'?" in found.stderr


def test_calibrate(tmp_path: Path) -> None:
    content: dict[str, Any] = {**deepcopy(SMALL), "calibration": {**CALIBRATION, "evaluations": 2}}
    written(tmp_path / "study", content)
    found = call("calibrate", tmp_path / "study", "--out", tmp_path / "out")
    assert found.exit_code == Exit.OK, found.output
    for word in ("topology.host_link.rate", "Residuals", "deep/two", "root mean square"):
        assert word in found.output
    assert (tmp_path / "study" / "calibrated.yaml").is_file()
    again = json.loads(call("calibrate", tmp_path / "study", "--out", tmp_path / "out", "--json").stdout)
    assert {each["cell"] for each in again["residuals"]} == {"deep/one", "deep/two"}
    run = call("study", "run", tmp_path / "study", "--cells", "deep", "--seeds", 1, "--out", tmp_path / "out")
    assert run.exit_code == Exit.OK, run.output
    other = {**content["calibration"], "parameters": [{**CALIBRATION["parameters"][0], "cells": "deep"}]}
    written(tmp_path / "study", {**content, "calibration": other})
    assert call("calibrate", tmp_path / "study", "--out", tmp_path / "out").exit_code == Exit.OK
    written(tmp_path / "another", {**SMALL, "name": "another"})
    taken = call("study", "run", tmp_path / "another", "--out", tmp_path / "out")
    assert taken.exit_code == Exit.USAGE
    assert "holds runs of the study" in taken.stderr
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter").touch()
    refused = call("calibrate", tmp_path / "study", "--out", tmp_path / "theirs")
    assert refused.exit_code == Exit.USAGE
    assert [each.name for each in (tmp_path / "theirs").iterdir()] == ["letter"]


def test_no_calibration_ends_with_2(place: Path) -> None:
    found = call("calibrate", place / "studies/small", "--out", place / "c")
    assert found.exit_code == Exit.USAGE
    assert "has no calibration" in found.stderr
