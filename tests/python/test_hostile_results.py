"""Folders that hold no result, or one of a later version, are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from testkit.study import NO_TESTS

from incast import folder, report
from incast.errors import OutputExistsError, ResultError
from incast.farmem import grid
from incast.farmem.run import ALL, Memory
from incast.report import load as report_load
from incast.result import Result
from incast.walks.result import WalkResult
from studies import SMALL as STUDY
from studies import study
from typed import call


@pytest.mark.parametrize("content", ["{}", '{"choices": [1]}', '{"seed": "x"}', "[]", '{"choices": {}}'])
def test_a_summary_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(ResultError, match=r"summary.json: not a summary"):
        Result.open(tmp_path)
    found = call("compare", tmp_path, tmp_path)
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("incomplete", 4, "incomplete: expected a list, not 4"),
        ("incomplete", [4], r"incomplete\[0\]: expected a mapping, not 4"),
        ("incomplete", ["x"], r"incomplete\[0\]: expected a mapping, not x"),
        ("jobs", {"a": {"kind": 1}}, "jobs.a.kind: expected a text, not 1"),
        ("jobs", {"a": {"kind": "bulk", "bytes": "x"}}, "jobs.a.bytes: expected a number, not x"),
        ("thresholds", [{"text": "a"}], r"thresholds\[0\].figure: is required"),
        ("seed", 2**64, "seed: .* is not allowed"),
        ("done_ps", 1e300, "done_ps: expected a number"),
    ],
)
def test_a_summary_of_other_types_is_refused(tmp_path: Path, field: str, value: object, message: str) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({"seed": 1, field: value}))
    with pytest.raises(ResultError, match=f"summary.json: not a summary: {message}"):
        Result.open(tmp_path)
    for command in (["compare", tmp_path, tmp_path], ["report", tmp_path]):
        found = call(*command)
        assert (found.returncode, "Traceback" in found.stderr) == (2, False)


def test_a_list_of_runs_that_lists_itself_is_refused(tmp_path: Path) -> None:
    choices = [{"name": "a", "folder": ".", "runs": ["."]}]
    (tmp_path / "summary.json").write_text(json.dumps({"choices": choices}))
    with pytest.raises(ResultError, match=r"\. is no run: it lists runs itself"):
        _ = Result.open(tmp_path).runs


def test_a_result_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"seed": 1, "jobs": {}}')
    (tmp_path / "incast-run.json").write_text('{"format": 2, "written_by": "incast 9.0"}')
    for command in ("report", "trace"):
        found = call(command, tmp_path)
        assert found.returncode == 2
        assert "was written by incast 9.0 in format 2: this version reads up to 1" in found.stderr


@pytest.mark.parametrize("marker", folder.MARKERS)
def test_a_folder_of_any_form_of_a_later_version_is_refused(tmp_path: Path, marker: str) -> None:
    (tmp_path / "summary.json").write_text('{"seed": 1, "jobs": {}}')
    (tmp_path / marker).write_text('{"format": 99, "written_by": "incast 9.0"}')
    for read in (Result.open, report.write, report_load.load, folder.check_format):
        with pytest.raises(ResultError, match=r"by incast 9.0 in format 99: this version reads up to 1"):
            read(tmp_path)


def test_a_study_and_a_grid_go_on_with_no_folder_of_a_later_version(tmp_path: Path) -> None:
    study(tmp_path / "study", STUDY, NO_TESTS)
    for name in ("study", "farmem"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"incast-{name}.json").write_text('{"format": 99}')
    found = call("study", "run", tmp_path / "study", "--out", tmp_path / "study")
    assert "in format 99" in found.stderr
    asked = grid.Request(("true",), (), (), (), Memory(ALL, 0, 0))
    with pytest.raises(ResultError, match="in format 99"):
        grid.MeasuredGrid.open(asked, tmp_path / "farmem")


@pytest.mark.parametrize("marker", [each for each in folder.MARKERS if each != folder.MARKER])
def test_a_result_of_another_kind_is_called_by_its_name(tmp_path: Path, marker: str) -> None:
    """A summary of walks has a seed too: it was compared with that of a run."""
    (tmp_path / "summary.json").write_text('{"seed": 1, "jobs": {}}')
    (tmp_path / marker).write_text('{"format": 1}')
    kind = marker.removeprefix("incast-").removesuffix(".json")
    with pytest.raises(ResultError, match=f"is a result of incast {kind}.*, not of incast run: .* "):
        Result.open(tmp_path)
    with pytest.raises(OutputExistsError, match=f"holds a result of incast {kind}.*: choose another"):
        folder.make_free(tmp_path, force=True)
    found = call("compare", tmp_path, tmp_path)
    assert (found.returncode, f"is a result of incast {kind}" in found.stderr) == (2, True)


def test_a_run_is_no_result_of_walks(tmp_path: Path) -> None:
    (tmp_path / folder.MARKER).write_text('{"format": 1}')
    with pytest.raises(
        ResultError, match="is a result of incast run, not of incast walk: incast report draws"
    ):
        WalkResult.open(tmp_path)
