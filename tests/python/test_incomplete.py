"""Runs whose jobs failed or did not end: no duration, thresholds that fail, an exit code, and never the best."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import incast
from helpers import SMALL, written
from incast.choose import best
from incast.cli.app import app
from incast.comparison import compare
from incast.result import Result
from incast.samples import by_choice

NETWORK = {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "10Mbps", "delay": "10us"}}
DEAD = {"at": "0s", "loss": {"link": ["switch0", "host0"], "probability": 1}}
CUT = {"at": "1s", "loss": {"link": ["switch0", "host0"], "probability": 1}}
JOB = {"name": "answers", "kind": "incast", "receiver": "host0", "size": "1MB"}


def scenario(**more: Any) -> dict[str, Any]:
    return {"name": "dead", "topology": NETWORK, "jobs": [JOB], **more}


def call(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    return found.exit_code, found.stdout


def test_a_job_whose_flows_all_time_out_has_no_duration_and_passes_no_threshold(tmp_path: Path) -> None:
    thresholds = [
        "jobs.answers.duration < 130s",
        "done < 130s",
        "jobs.answers.goodput < 1Gbps",
        "flows.fct_p50 < 1h",
    ]
    file = written(tmp_path, scenario(faults=[DEAD], thresholds=thresholds))
    code, said = call("run", file, "--out", tmp_path / "out")
    assert code == 7
    assert said.lstrip().startswith("incomplete: answers failed: 3 of 3 flows timed out")
    assert said.count("✗ threshold does not hold") == 4
    result = Result.open(tmp_path / "out")
    assert result.incomplete == ["answers failed: 3 of 3 flows timed out"]
    assert result.jobs.select("outcome", "end_ps").row(0) == ("failed", None)
    assert {result.summary["done_ps"], result.summary["jobs"]["answers"]["duration_ps"]} == {None}
    assert {each["why"] for each in result.summary["thresholds"]} == set(result.incomplete)
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("answers failed: 3 of 3 flows timed out") < page.index('class="headline"')


def test_walks_that_are_lost_in_all_their_attempts_are_missing_and_counted(tmp_path: Path) -> None:
    job = {
        "name": "walks",
        "kind": "walk",
        "graph": {"kind": "sbm", "sizes": [20] * 4, "inside": 0.5, "between": 0.05},
        "loss": {"attempts": 3, "initial": "50ms"},
    }
    file = written(tmp_path, scenario(jobs=[job], faults=[DEAD]))
    code, said = call("run", file, "--out", tmp_path / "out")
    assert code == 7
    result = Result.open(tmp_path / "out")
    assert (result.jobs.item(0, "outcome"), result.jobs.item(0, "end_ps")) == ("failed", None)
    walks = result.walks.select("finished", "given_up", "required").sum()
    finished, given_up = walks.item(0, "finished"), walks.item(0, "given_up")
    assert min(finished, given_up) > 0
    assert finished + given_up == walks.item(0, "required")
    assert len(result.incomplete) == 1
    assert "given up: all their attempts timed out" in result.incomplete[0]
    assert said.lstrip().startswith("incomplete: walks failed")


def test_a_stuck_run_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path, scenario(faults=[{"at": "100ms", "crash": "host0"}]))
    code, said = call("run", file, "--out", tmp_path / "out")
    assert code == 4
    first, second, *_ = said.strip().splitlines()
    assert first == "error: the run is stuck: jobs had not ended, and nothing was left to happen"
    assert second.startswith("incomplete: answers did not end: ")
    code, said = call("run", file, "--out", tmp_path / "again", "--json")
    assert code == 4
    assert json.loads(said)["incomplete"][0].startswith("answers did not end")


def test_until_before_the_end_is_incomplete_but_for_loads_and_background(tmp_path: Path) -> None:
    load = {"name": "web", "kind": "load", "sizes": "web-search", "load": 0.5, "duration": "1s"}
    noise = {"name": "noise", "kind": "background", "rate": "1Mbps"}
    cut = incast.run(written(tmp_path, scenario(until="100ms")), tmp_path / "cut")
    assert cut.incomplete == [
        "answers did not end: the run ended when the time was over, at 100 ms: 3 of 3 flows not done"
    ]
    flows = incast.run(written(tmp_path, scenario(jobs=[load, noise], until="200ms")), tmp_path / "flows")
    assert flows.summary["end"] == "until"
    assert flows.incomplete == []


def test_background_that_has_said_all_is_not_stuck(tmp_path: Path) -> None:
    noise = {"name": "noise", "kind": "background", "rate": "1Mbps", "duration": "10ms"}
    result = incast.run(written(tmp_path, scenario(jobs=[noise], until="1s")), tmp_path / "out")
    assert (result.summary["end"], result.incomplete) == ("finished", [])


@pytest.mark.parametrize("seeds", [None, 2])
def test_a_choice_that_gave_up_is_never_best(tmp_path: Path, seeds: int | None) -> None:
    choices = {"whole": {}, "dead": {"faults": [DEAD]}, "cut": {"faults": [CUT]}}
    rounds = scenario(choices=choices, jobs=[{**JOB, "rounds": 2}])
    result = incast.run(written(tmp_path, rounds), tmp_path / "out", seeds=seeds)
    assert best(by_choice(result.runs)) == "whole"
    assert best({name: by_choice(result.runs)[name] for name in ("dead", "cut")}) is None
    code, said = call("compare", tmp_path / "out" / "whole", tmp_path / "out" / "dead")
    assert code == 0
    assert "incomplete: answers failed" in said.splitlines()[0]
    differences = compare(result.choices["whole"], result.choices["dead"])
    found = {each.figure: each for each in differences}
    for figure in (
        "done_ps",
        "jobs.answers.duration_ps",
        "jobs.answers.fct_p50_ps",
        "flows.fct_p99_ps",
        "flows.fct_mean_ps",
    ):
        assert found[figure].b is None
        assert found[figure].contrast is None


def test_percentiles_count_flows_that_never_finished_as_longest(tmp_path: Path) -> None:
    pairs = [["host1", "host2"], ["host2", "host3"], ["host3", "host1"], ["host1", "host0"]]
    job = {"name": "copies", "kind": "bulk", "pairs": pairs, "size": "100kB"}
    result = incast.run(written(tmp_path, scenario(jobs=[job], faults=[DEAD])), tmp_path / "out")
    found = result.summary["jobs"]["copies"]
    assert found["unfinished"] == 1
    assert found["fct_p50_ps"] is not None
    assert {found[name] for name in ("fct_mean_ps", "fct_p99_ps", "fct_max_ps", "duration_ps")} == {None}


def test_a_broadcast_that_a_host_did_not_get_failed(tmp_path: Path) -> None:
    job = {"name": "copy", "kind": "broadcast", "source": "host1", "size": "1MB"}
    faults = [{"at": "200ms", "crash": "host0"}]
    result = incast.run(
        written(tmp_path, scenario(jobs=[job], faults=faults, until="300s")), tmp_path / "out"
    )
    (line,) = result.incomplete
    assert "copy" in line
    assert "1 of 4 hosts" in line
    assert result.summary["jobs"]["copy"]["duration_ps"] is None


@pytest.mark.parametrize(
    "job",
    [
        {"kind": "incast", "receiver": "right0", "rounds": 2},
        {"kind": "bulk", "pairs": [["left0", "right0"], ["left1", "right0"]]},
        {"kind": "permutation"},
        {"kind": "all-to-all"},
    ],
    ids=lambda job: job["kind"],
)
@pytest.mark.parametrize("size", ["1B", "5kB", "40kB"])
def test_a_finished_job_leaves_no_flow_unfinished(tmp_path: Path, job: dict[str, Any], size: str) -> None:
    """Its last byte ends the run, while acknowledgements and FINs are on their way."""
    links = {"host_link": {"rate": "1Gbps"}, "bottleneck": {"rate": "1Gbps"}}
    cluster = {"kind": "dumbbell", "left": 3, "right": 3, **links}
    file = written(tmp_path, {"name": "s", "topology": cluster, "jobs": [{"name": "j", "size": size, **job}]})
    result = incast.run(file)
    assert result.summary["end"] == "finished"
    assert result.flows["outcome"].unique().to_list() == ["finished"]
    assert result.flows["end_ps"].max() <= result.summary["done_ps"]


def test_thresholds_on_all_flows_fail_where_some_did_not_finish(tmp_path: Path) -> None:
    file = written(tmp_path, {**SMALL, "until": "30us", "thresholds": ["flows.fct_max < 1s"]})
    (verdict,) = incast.run(file).summary["thresholds"]
    assert not verdict["holds"]
    assert "answers" in verdict["why"]
