"""Runs of a scenario and of a study on a Ray cluster of three nodes, which are raylets of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from testkit.study import NO_TESTS
from typer.testing import CliRunner

from incast.cli.app import app
from incast.cli.running import _say_ended
from incast.errors import RunError, ScenarioError
from incast.live import tasks
from incast.live.cluster import Cluster
from incast.runs import Done, run_all
from incast.runs_on_cluster import run_on_cluster
from incast.study.cells import CellRun
from incast.study.run import Watcher, run_study
from incast.variants import make_variants, seed_list
from incast.written import WrittenScenario
from raylets import NODE, started
from studies import SMALL, study

pytestmark = [
    pytest.mark.timeout(420),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CHOICES = {**SMALL["base"], "choices": {"deep": {}, "shallow": {"switch.buffer.size": "100kB"}}}


@pytest.fixture(scope="module")
def raylets() -> Iterator[Any]:
    with started(3) as raylets:
        yield raylets


def _written(folder: Path, content: dict[str, Any]) -> WrittenScenario:
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(content))
    return WrittenScenario.from_file(file, [])


def _contents(folder: Path) -> dict[str, Any]:
    """What a result holds, but for the time that it took."""

    def content(file: Path) -> Any:
        if file.suffix != ".json":
            return file.read_bytes()
        found = json.loads(file.read_text())
        for cost in ("wall_s", "cost"):
            found.pop(cost, None)
        return found

    return {str(file.relative_to(folder)): content(file) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.usefixtures("raylets")
def test_runs_on_a_cluster_leave_what_they_leave_here(tmp_path: Path) -> None:
    written = _written(tmp_path, CHOICES)
    variants = make_variants(written, (), seed_list(written, 2))
    run_all(written, variants, tmp_path / "here")
    ended: list[int] = []
    with Cluster("auto") as cluster:
        done = run_on_cluster(
            written, variants, tmp_path / "there", cluster, ended=lambda number, _: ended.append(number)
        )
    assert sorted(ended) == list(range(4))
    assert [each.error for each in done] == [""] * 4
    here, there = _contents(tmp_path / "here"), _contents(tmp_path / "there")
    assert len(here) > 100
    assert here == there


@pytest.mark.usefixtures("raylets")
def test_the_command_runs_on_a_cluster(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(SMALL["base"]))
    command = ["run", str(file), "--seeds", "3", "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, [*command, "--cluster", "auto"])
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["runs"]) == 3
    for more in (["--live"], ["--jobs", "2"]):
        refused = CliRunner().invoke(app, [*command, "--force", "--cluster", "auto", *more])
        assert refused.exit_code == 2


@pytest.mark.usefixtures("raylets")
def test_a_run_on_this_machine_s_clock_is_refused(tmp_path: Path) -> None:
    content = {**SMALL["base"], "clock": {"kind": "real"}}
    content["jobs"] = [{"name": "own", "kind": "program", "hosts": "host0", "command": "true"}]
    written = _written(tmp_path, content)
    with Cluster("auto") as cluster, pytest.raises(ScenarioError, match="clock"):
        run_on_cluster(written, make_variants(written), tmp_path / "out", cluster)
    assert not (tmp_path / "out").exists()
    axes: dict[str, Any] = {"rounds": {"one": {}}}
    metrics = {"drops": "ports.drops"}
    cells = {**SMALL, "base": content, "axes": axes, "metrics": metrics, "published": None}
    found = study(tmp_path / "study", cells, NO_TESTS)
    with Cluster("auto") as cluster, pytest.raises(ScenarioError, match="clock"):
        run_study(found, tmp_path / "out", cells=found.cells, seeds=[1], jobs=1, cluster=cluster)


def test_a_run_that_was_lost_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _say_ended("deep seed 1", Done(Path("out"), {}, "its node is gone"))
    assert capsys.readouterr().err == "deep seed 1: failed\n"


def test_runs_of_a_node_that_dies_run_elsewhere(raylets: Any, tmp_path: Path) -> None:
    def work(number: int, place: Path) -> int:  # nodes cannot import this module: it goes there by value
        time.sleep(0.5)
        if number == 3:
            raise RunError("three is wrong")
        place.mkdir()
        (place / "number").write_text(str(number))
        return number * 2

    node = raylets.add_node(**NODE)
    places = [tmp_path / str(number) for number in range(12)]
    found: dict[int, int | None] = {}
    with Cluster("auto") as cluster, closing(tasks.run(work, range(12), places, cluster)) as coming:
        for came in coming:
            found[came.number] = came.value
            if len(found) == 2:
                raylets.remove_node(node, allow_graceful=False)
            assert came.error == ("three is wrong" if came.number == 3 else "")
    assert found == {number: None if number == 3 else number * 2 for number in range(12)}
    assert [(place / "number").read_text() for place in places if place.exists()] == [
        str(number) for number in range(12) if number != 3
    ]


class _Stops(Watcher):
    """Is interrupted when one run has ended."""

    def ended(self, number: int) -> None:  # noqa: ARG002
        raise KeyboardInterrupt


class _Counts(Watcher):
    missing = 0

    def begin(self, missing: Sequence[CellRun], total: int) -> None:  # noqa: ARG002
        self.missing = len(missing)


@pytest.mark.usefixtures("raylets")
def test_a_study_that_was_stopped_runs_what_is_missing(tmp_path: Path) -> None:
    content = deepcopy(SMALL)
    content["seeds"] = 3
    found = study(tmp_path / "study", content)
    asked: dict[str, Any] = {"cells": found.cells, "seeds": [1, 2, 3], "jobs": 1}
    with Cluster("auto") as cluster:
        with pytest.raises(KeyboardInterrupt):
            run_study(found, tmp_path / "out", cluster=cluster, watcher=_Stops(), **asked)
        counts = _Counts()
        done = run_study(found, tmp_path / "out", cluster=cluster, watcher=counts, **asked)
    assert counts.missing == 11
    assert len(done) == 12
    assert all(each.cost.memory_max_bytes > 0 for each in done)
    run_study(found, tmp_path / "here", **asked)
    there, here = _contents(tmp_path / "out" / "runs"), _contents(tmp_path / "here" / "runs")
    assert there == here
