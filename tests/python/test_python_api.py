"""The package from Python: a run with changes, frames with units in their names, pictures in one call."""

from __future__ import annotations

from pathlib import Path

import pytest

import incast
from helpers import SMALL, written

SCENARIO = {
    **SMALL,
    "measure": {"interval": "20us"},
    "choices": {
        "deep": {"switch": {"buffer": {"size": "4MB"}}},
        "shallow": {"switch": {"buffer": {"size": "40kB"}}},
    },
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> incast.Result:
    folder = tmp_path_factory.mktemp("api")
    return incast.run(written(folder, SCENARIO), folder / "out", seeds=2)


def test_changes_and_choices_are_those_of_the_command_line(tmp_path: Path) -> None:
    file = written(tmp_path, SCENARIO)
    changes = {"jobs.answers.size": "10kB", "description": "a: [b"}
    found = incast.run(file, set=changes, choice="shallow", seeds=2)
    assert found.figures["choice"].to_list() == ["shallow", "shallow"]
    assert found.figures["bytes"].max() < incast.run(file, choice=["shallow"]).figures["bytes"].min()  # type: ignore[operator]
    with pytest.raises(incast.ScenarioError, match="siez"):
        incast.run(file, set={"jobs.answers.siez": "10kB"})
    with pytest.raises(incast.ScenarioError, match="soon"):
        incast.run(file, set={"until": Path("soon")})
    with pytest.raises(incast.ScenarioError, match="deap"):
        incast.run(file, choice="deap")


def test_figures_have_units_in_their_names(result: incast.Result) -> None:
    row = result.figures.row(0, named=True)
    said = result.runs[0].summary["jobs"][row["job"]]
    assert row["duration_ms"] == said["duration_ps"] / 1e9
    assert row["goodput_gbps"] == said["goodput_bps"] / 1e9
    assert result.figures.select("choice", "seed").rows() == [
        ("deep", 1), ("deep", 2), ("shallow", 1), ("shallow", 2)
    ]  # fmt: skip
    assert result.totals["done_ms"].to_list() == [run.summary["done_ps"] / 1e9 for run in result.runs]
    flows = result.frame("flows")
    assert {"start_ms", "end_ms", "bytes"} <= set(flows.columns)
    assert not [name for name in flows.columns if name.endswith(("_ps", "_bps"))]


@pytest.mark.parametrize("what", ["done", "fct", "queue", "ports.drops", "jobs.answers.fct_p99"])
def test_a_plot_is_one_call(result: incast.Result, tmp_path: Path, what: str) -> None:
    page = tmp_path / "picture.html"
    result.plot(what).save(page)
    assert "shallow" in page.read_text("utf-8")


def test_axes_have_units(result: incast.Result) -> None:
    assert '"goodput (Gb/s)"' in result.plot("jobs.answers.goodput").to_json()


def test_what_cannot_be_drawn_is_said(result: incast.Result) -> None:
    for what in ("dnoe", "jobs.answer.fct_p99"):
        with pytest.raises(incast.ResultError, match="Did you mean"):
            result.plot(what)
    with pytest.raises(incast.ResultError, match="is not a sampled port"):
        result.plot("queue", port="switch9:host0")
