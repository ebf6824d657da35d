"""TeraSort from a scenario to its tables, and a job that hangs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from helpers import variants, written
from incast.cli.app import app
from incast.cli.show_run import unfinished
from incast.kinds.shuffle import ShuffleCosts
from incast.lab.base import docstrings

SORT: dict[str, Any] = {
    "name": "sort",
    "kind": "shuffle",
    "size": "64MiB",
    "block": "8MiB",
    "compute": "host[0-1]",
    "master": "host2",
    "data": "host[3-4]",
    "slots": 2,
    "reduces": 3,
    "input_replication": 2,
    "log_size": "10kB",
}
SCENARIO: dict[str, Any] = {
    "name": "sorted",
    "topology": {"kind": "single-switch", "hosts": 6, "host_link": {"rate": "10Gbps"}},
    "jobs": [SORT],
}


def work(folder: Path, **change: object) -> dict[str, Any]:
    (plan,) = variants(folder, {**SCENARIO, "jobs": [{**SORT, **change}]})
    found: dict[str, Any] = plan.resolved.spec["jobs"][0]["work"]
    return found


def test_defaults_are_the_frameworks(tmp_path: Path) -> None:
    mapreduce, tez = (work(tmp_path, framework=name) for name in ("mapreduce", "tez"))
    assert (mapreduce["parallel_copies"], tez["parallel_copies"]) == (5, 20)
    assert (mapreduce["slow_start"], tez["slow_start"]) == ((0.05, 1.0), (0.25, 0.75))
    assert (mapreduce["costs"]["umbilical"], tez["costs"]["umbilical"]) == (10**12, 10**11)
    assert mapreduce["log_nodes"] == mapreduce["data"] == ["host3", "host4"]
    assert work(tmp_path, reduces=None)["reduces"] == 3, "0.95 of four slots"
    assert work(tmp_path, framework="tez", slow_start=0.9)["slow_start"] == (0.9, 0.9)


def test_a_field_of_the_costs_is_set_by_its_path(tmp_path: Path) -> None:
    (plan,) = variants(tmp_path, SCENARIO, "jobs.0.costs.map_rate=150MB/s", "jobs.sort.costs.heartbeat=2s")
    costs = plan.resolved.spec["jobs"][0]["work"]["costs"]
    assert (costs["map_rate"], costs["heartbeat"]) == (1_200_000_000, 2 * 10**12)


def test_remote_calls_have_defaults_and_may_be_none(tmp_path: Path) -> None:
    mapreduce, tez = work(tmp_path)["costs"], work(tmp_path, framework="tez")["costs"]
    fields = [field for field in mapreduce if field.endswith("_rpcs")]
    assert len(fields) == 6
    for field in fields:
        said = docstrings(ShuffleCosts)[field]
        assert f"Without a value {mapreduce[field]}, with Tez {tez[field]}" in said
        assert work(tmp_path, costs={field: 0})["costs"] == {**mapreduce, field: 0}
    assert mapreduce["commit_rpcs"] > tez["commit_rpcs"], "MapReduce's client waits for the history file"


@pytest.mark.parametrize("framework", ["mapreduce", "tez"])
def test_tasks_are_in_the_tables(tmp_path: Path, framework: str) -> None:
    file = written(tmp_path, {**SCENARIO, "jobs": [{**SORT, "framework": framework, "log_nodes": "host5"}]})
    result = incast.run(file, tmp_path / "out")
    assert result.summary["end"] == "finished"
    assert "unfinished_tasks" not in result.summary
    tasks = result.tasks
    counts = dict(tasks.group_by("kind").len().iter_rows())
    assert counts["map"] == 8
    assert counts["reduce"] == counts["shuffle"] == counts["merge"] == 3
    assert tasks.filter(pl.col("kind") == "reduce")["bytes"].sum() == 64 << 20
    assert tasks["end_ps"].null_count() == 0
    # Logs go where they are told to, and every flow but those to the master belongs to a task.
    logs = tasks.filter(pl.col("kind") == "log-upload")["task"].to_list()
    flows = result.flows
    assert set(flows.filter(pl.col("group").is_in(logs))["to"]) == {"host5"}
    assert set(flows.filter(pl.col("group") == 0)["to"]) <= {"host0", "host1", "host2"}
    assert set(flows["group"]) - {0} <= set(tasks["task"])


def test_a_job_that_hangs_says_what_is_stuck_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = [{"at": "8s", "crash": "host3"}, {"at": "8s", "crash": "host4"}]
    file = written(tmp_path, {**SCENARIO, "faults": faults})
    found = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--no-report"])
    assert "stuck: application 0 on host2 since 0 s" in found.output
    assert "stuck: failed-map" in found.output
    summary = incast.Result.open(tmp_path / "out").summary
    assert summary["end"] == "stuck"
    assert summary["unfinished_tasks"]["first"][0]["kind"] == "application"
    # Of a run that was interrupted nothing is stuck.
    (tmp_path / "out" / "summary.json").write_text(json.dumps({**summary, "end": "interrupted"}))
    unfinished(incast.Result.open(tmp_path / "out").runs)
    assert capsys.readouterr().out == ""
