"""The package from Python: a run with changes, frames with units in their names, pictures in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incast
from helpers import SMALL, written
from incast.mining import mlxtend

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


ROWS = [[1, 2], [1, 2, 3], [2, 3]]
GRAPH = "sbm:2,10,0.5,0.2"
package: Any = incast
"""Without the types that mypy would keep people to."""
as_mlxtend: Any = mlxtend


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: package.mine(ROWS, 0.5, longest="a"),
            "longest: 'a' is not allowed: must be a whole number",
        ),
        (
            lambda: package.mine(ROWS, 0.5, threads=1.5),
            "threads: 1.5 is not allowed: must be a whole number",
        ),
        (
            lambda: package.mine(ROWS, 0.5, threads=True),
            "threads: True is not allowed: must be a whole number",
        ),
        (
            lambda: package.mine(ROWS, 0.5, memory=-1),
            "memory: -1 is not allowed: must be a text or greater than or equal to 0",
        ),
        (
            lambda: package.mine(ROWS, 0.5, nodes=2**70),
            "nodes: 1180591620717411303424 is not allowed: must be less than 2147483648",
        ),
        (lambda: package.mine(ROWS, 0.5, cluster=3), "cluster: 3 is not allowed: must be a text"),
        (lambda: as_mlxtend.fpgrowth(None, max_len="a"), "max_len: 'a' is not allowed"),
        (lambda: package.walk(GRAPH, threads="2"), "threads: '2' is not allowed: must be a whole number"),
        (lambda: package.walk(GRAPH, thread=2), "'thread' is not an argument. Did you mean 'threads'?"),
        (lambda: package.walk(GRAPH, app=[]), "app: [] is not allowed: must be a text"),
        (
            lambda: package.walk(GRAPH, servers=2, partition=3),
            "partition: 3 is not allowed: must be a text or an instance of Path",
        ),
        (
            lambda: package.walk(GRAPH, servers=2, settings=3),
            "settings: 3 is not allowed: must be an instance of ServerSettings or a mapping",
        ),
        (
            lambda: package.walk(GRAPH, changes=3),
            "changes: 3 is not allowed: must be a text or an instance of Path or an instance of Iterable",
        ),
        (lambda: package.walk(GRAPH, out=3), "out: 3 is not allowed: must be a text or an instance of Path"),
        (lambda: package.run(3), "scenario: 3 is not allowed: must be an instance of Scenario or a text"),
        (lambda: package.run({}), "scenario: {} is not allowed: must be an instance of Scenario or a text"),
        (lambda: package.run("x", set=["a=1"]), "set: ['a=1'] is not allowed: must be a mapping"),
        (
            lambda: package.run("x", seeds=0),
            "seeds: 0 is not allowed: must be greater than or equal to 1",
        ),
        (
            lambda: package.run("x", choice=[3]),
            "choice: [3] is not allowed: must be a text\nchoice[0]: 3 is not allowed: must be",
        ),
        (lambda: package.run("x", jobs=-1), "jobs: -1 is not allowed: must be greater than or equal to 1"),
        (lambda: package.run("x", force="no"), "force: 'no' is not allowed: must be true or false"),
        (lambda: package.compare(3, 4), "a: 3 is not allowed: must be an instance of Result"),
        (lambda: package.Result(None), "path: None is not allowed: must be a text or an instance of Path"),
        (lambda: package.WalkResult.open(3), "path: 3 is not allowed: must be a text or an instance of Path"),
        (
            lambda: package.Scenario.from_yaml(3),
            "path: 3 is not allowed: must be a text or an instance of Path",
        ),
    ],
)
def test_arguments_of_wrong_types_are_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(incast.IncastError) as error:
        call()
    assert str(error.value).startswith(said)


def test_tables_and_figures_are_asked_for_by_name(result: incast.Result) -> None:
    asked: list[Any] = [result.scan, result.frame, result.plot]
    for ask in asked:
        with pytest.raises(incast.ResultError, match="3 is not allowed: must be a text"):
            ask(3)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    mined = package.mine(ROWS, np.float32(0.5), longest=np.int64(1), threads=np.uint8(1))
    assert {len(each) for each in mined.frequent_itemsets()["itemsets"]} == {1}
    walked = package.walk(GRAPH, walks=10, threads=np.int64(1), weighted=np.False_, top=None)
    assert walked.summary["seed"] == 1
    found = package.run(written(tmp_path, SMALL), seeds=np.int64(2), force=np.True_)
    assert len(found.runs) == 2
    with pytest.raises(TypeError, match=r"mine\(\) got an unexpected keyword argument 'longset'"):
        package.mine(ROWS, 0.5, longset=1)
