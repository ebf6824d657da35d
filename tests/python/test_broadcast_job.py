"""The job `broadcast`: from YAML to results, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from incast.cli.app import app
from incast.errors import ScenarioError
from incast.report import write
from incast.result import Result

STAR: dict[str, Any] = {
    "kind": "graph",
    "nodes": {"S": "host", "A": "host", "B": "host", "C": "host", "switch": "switch"},
    "links": [
        {"ends": [host, "switch"], "rate": f"{rate}Mbps", "delay": "50us", "mtu": "1500B"}
        for host, rate in (("S", 100), ("A", 100), ("B", 40), ("C", 10))
    ],
}
PLAN = {
    "algorithm": "by hand",
    "source": "S",
    "destinations": ["A", "B", "C"],
    "trees": [{"rate": 10_000_000, "hops": [["S", "switch", host] for host in ("A", "B", "C")]}],
}


def scenario(**job: Any) -> dict[str, Any]:
    return {
        "name": "copy",
        "topology": STAR,
        "host": {"mtu": "1500B"},
        "jobs": [{"name": "image", "kind": "broadcast", "source": "S", "size": "2MB", **job}],
        "until": "100s",
    }


def run(folder: Path, **job: Any) -> Result:
    path = folder / "copy.yaml"
    path.write_text(json.dumps(scenario(**job)))
    return incast.run(path, folder / "run")


def completions(result: Result) -> dict[str, float]:
    tasks = result.tasks
    assert set(tasks["kind"].cast(pl.String)) == {"receive"}
    assert set(tasks["bytes"]) == {2_000_000}
    ends = zip(tasks["host"].cast(pl.String), tasks["end_ps"], strict=True)
    return {host: end / 1e12 for host, end in ends}


def test_each_receiver_gets_what_it_could_get_alone(tmp_path: Path) -> None:
    result = run(tmp_path)
    for host, seconds in completions(result).items():
        planned = 16e6 / {"A": 100e6, "B": 40e6, "C": 10e6}[host] * 1538 / 1448
        assert seconds == pytest.approx(planned, rel=0.06), host
    job = result.summary["jobs"]["image"]
    assert job["kind"] == "broadcast"
    # What a receiver takes on average: the streams to the source don't count.
    assert job["group_mean_ps"] < 1e12


def test_a_plan_from_a_file_is_carried_out(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    result = run(tmp_path, plan="plan.json")
    # Its only tree has 10 Mb/s, times the headroom.
    assert completions(result)["A"] == pytest.approx(16e6 / 11e6, rel=0.06)


@pytest.mark.parametrize(
    ("job", "place", "what"),
    [
        ({"source": "X"}, "source", "X"),
        ({"destinations": ["S", "A"]}, "destinations", "it has the file"),
        ({"destinations": "S"}, "destinations", "at least one other"),
        ({"chunk": "5MiB"}, "chunk", "the largest"),
        ({"chunk": "1B"}, "chunk", "larger ones are needed"),
        ({"silence": "300ms"}, "silence", "three reports"),
        ({"patience": "2s"}, "patience", "less than `silence`"),
        ({"headroom": 0.1}, "headroom", "0.5"),
        ({"algorithm": "magic"}, "algorithm", "stable"),
        ({"plan": "nowhere.json"}, "plan", "no such file"),
    ],
)
def test_what_can_not_be_is_refused(tmp_path: Path, job: dict[str, Any], place: str, what: str) -> None:
    with pytest.raises(ScenarioError) as error:
        run(tmp_path, **job)
    assert place in str(error.value)
    assert what in str(error.value)


def test_a_plan_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(
        json.dumps({**PLAN, "trees": [{"rate": 50_000_000, "hops": [["S", "C"]]}]})
    )
    with pytest.raises(ScenarioError, match=r"jobs\[0\]\.plan: .*no link from"):
        run(tmp_path, plan="plan.json")


def test_tables_say_how_each_host_fared_and_what_it_had_when(tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    faults = [{"at": "200ms", "crash": "B"}]
    measured = {**scenario(), "measure": {"interval": "250ms"}, "faults": faults}
    path.write_text(json.dumps(measured))
    result = incast.run(path, tmp_path / "run")
    hosts = {row["host"]: row for row in result.broadcasts.iter_rows(named=True)}
    outcomes = {host: row["outcome"] for host, row in hosts.items()}
    assert outcomes == {"S": "complete", "A": "complete", "B": "gone", "C": "complete"}
    assert hosts["S"]["sent_bytes"] >= 2_000_000
    assert hosts["S"]["complete_ps"] is None
    for host in ("A", "C"):
        series = result.broadcasts_series.filter(host=host)
        assert series["bytes"].is_sorted()
        assert series["bytes"][-1] == hosts[host]["bytes"] == 2_000_000
        assert series["received_bytes"].sum() == hosts[host]["received_bytes"]
        assert hosts[host]["complete_ps"] in series["time_ps"]
    page = write(tmp_path / "run").read_text("utf-8")
    assert "Receivers of a broadcast" in page
    assert "Hosts of a broadcast" in page


def test_a_live_run_leaves_the_same_tables(tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    path.write_text(json.dumps({**scenario(size="200kB"), "measure": {"interval": "100ms"}}))
    folder = tmp_path / "run"
    done = CliRunner().invoke(app, ["run", str(path), "--live", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    result = Result.open(folder)
    hosts = {row["host"]: row for row in result.broadcasts.iter_rows(named=True)}
    assert {host: row["outcome"] for host, row in hosts.items()} == dict.fromkeys("SABC", "complete")
    assert hosts["S"]["complete_ps"] is None
    for host in "ABC":
        assert hosts[host]["bytes"] == hosts[host]["received_bytes"] == 200_000
        series = result.broadcasts_series.filter(host=host)
        assert series["bytes"][-1] == series["received_bytes"].sum() == 200_000
        assert hosts[host]["complete_ps"] in series["time_ps"]
    assert sum(row["sent_bytes"] for row in hosts.values()) == 600_000
    assert "Hosts of a broadcast" in (folder / "report.html").read_text("utf-8")
