"""A study from its files to its tables, in processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from testkit.study import NO_TESTS

from helpers import until
from incast.errors import OutputExistsError, ResultError, RunError
from incast.live import tasks
from incast.runs import run_all
from incast.study import Study, noted, remote
from incast.study.cells import CellRun, cell_runs
from incast.study.execute import tell_nobody
from incast.study.outcome import collect, write
from incast.study.run import Watcher, run_study
from incast.variants import make_variants
from studies import SMALL, study

DETERMINISTIC = ("results.json", "results.parquet", "runs.parquet", "claims.json")


class Seen(Watcher):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.missing: list[CellRun] = []
        self.done: list[int] = []

    def begin(self, missing: Any, total: int) -> None:
        self.missing = list(missing)
        assert len(self.missing) <= total

    def ended(self, number: int) -> None:
        self.done.append(number)


def ran(found: Study, out: Path, jobs: int = 2, force: bool = False) -> Seen:
    seen = Seen()
    run_study(found, out, cells=found.cells, seeds=[1, 2], jobs=jobs, force=force, watcher=seen)
    write(collect(found, out), out)
    return seen


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("whole")
    found = study(folder / "study")
    assert sorted(ran(found, folder / "out").done) == list(range(8))
    return found, folder / "out"


def content(out: Path) -> Mapping[str, bytes]:
    return {name: (out / name).read_bytes() for name in DETERMINISTIC}


def test_results_are_the_same_bytes_for_any_number_of_workers(
    whole: tuple[Study, Path], tmp_path: Path
) -> None:
    found, out = whole
    ran(found, tmp_path / "out", jobs=3)
    assert content(tmp_path / "out") == content(out)


def test_a_cell_is_what_a_run_of_its_scenario_is(whole: tuple[Study, Path], tmp_path: Path) -> None:
    from incast.written import WrittenScenario

    _, out = whole
    run = out / "runs/buffer=shallow/rounds=two/seed=2"
    source = WrittenScenario.from_file(run / "scenario.yaml", ["seed=2"])
    (done,) = run_all(source, make_variants(source), tmp_path / "alone")
    kept = json.loads((run / "summary.json").read_text())
    assert done.summary["fingerprint"] == kept["fingerprint"]


def test_figures_stand_beside_the_published_ones(whole: tuple[Study, Path]) -> None:
    _, out = whole
    frame = pl.read_parquet(out / "results.parquet")
    assert frame["cell"].to_list() == ["deep/one", "deep/two", "shallow/one", "shallow/two"]
    row = frame.row(0, named=True)
    summaries = [
        json.loads((out / f"runs/buffer=deep/rounds=one/seed={s}/summary.json").read_text()) for s in (1, 2)
    ]
    times = [each["jobs"]["answers"]["duration_ps"] for each in summaries]
    assert row["time_mean_ps"] == sum(times) / 2
    assert row["time_low_ps"] <= row["time_mean_ps"] <= row["time_high_ps"]
    assert row["published"] == 300_000_000
    assert row["difference"] == pytest.approx(row["time_mean_ps"] / 300_000_000 - 1)
    assert (row["seeds"], row["fitted"], row["drops_mean"]) == (2, False, 0)
    shallow = frame.row(2, named=True)
    assert shallow["drops_mean"] == shallow["discards_mean"] > 0
    costs = pl.read_parquet(out / "costs.parquet")
    assert costs.height == 8
    assert costs["cpu_s"].min() > 0  # type: ignore[operator]
    assert costs["memory_max_bytes"].min() > 10_000_000  # type: ignore[operator]


def test_claims_are_judged(whole: tuple[Study, Path]) -> None:
    _, out = whole
    claims = {each["id"]: each for each in json.loads((out / "claims.json").read_text())}
    assert [claims[name]["verdict"] for name in ("S1", "S2", "S3")] == [
        "holds",
        "does not hold",
        "not tested",
    ]
    first = claims["S1"]["comparisons"][0]
    assert (first["cells"], first["ours"][0]) == (["deep/one", "shallow/one"], 0)


def test_what_was_run_is_not_run_again(whole: tuple[Study, Path], tmp_path: Path) -> None:
    found, out = whole
    shutil.copytree(out, tmp_path / "out")
    assert ran(found, tmp_path / "out").missing == []
    # A changed cell, and one whose end was not noted.
    axes = deepcopy(SMALL["axes"])
    axes["buffer"]["shallow"]["set"]["switch.buffer"]["size"] = "120kB"
    other = study(tmp_path / "study", {**SMALL, "axes": axes})
    assert {row.cell.name for row in collect(other, tmp_path / "out").rows} == {"deep/one", "deep/two"}
    (tmp_path / "out/runs/buffer=deep/rounds=one/seed=2/study-run.json").unlink()
    places = [str(each.place) for each in ran(other, tmp_path / "out").missing]
    assert places == [
        "buffer=deep/rounds=one/seed=2",
        *(f"buffer=shallow/rounds={r}/seed={s}" for r in ("one", "two") for s in (1, 2)),
    ]


def test_a_run_that_a_cluster_gave_back_in_part_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(work: Any, items: Any, places: Any, _: Any) -> Any:
        yield tasks.Came(0, work(items[0], places[0]))
        work(items[1], places[1])
        raise OSError("no space")

    monkeypatch.setattr(tasks, "run", torn)
    found = study(tmp_path / "study")
    runs = cell_runs(found, found.cells, [1])
    with pytest.raises(OSError, match="no space"):
        list(remote.run(runs, tmp_path, tell_nobody, cast(Any, None)))
    assert [noted.read(each, tmp_path / each.place) is not None for each in runs] == [True, *[False] * 3]


def test_other_seeds_and_cells_add_to_what_is_there(whole: tuple[Study, Path], tmp_path: Path) -> None:
    found, out = whole
    shutil.copytree(out, tmp_path / "out")
    seen = Seen()
    cells = found.select(["deep/one"], "x")
    run_study(found, tmp_path / "out", cells=cells, seeds=[1, 2, 3], jobs=1, watcher=seen)
    assert [str(each.place) for each in seen.missing] == ["buffer=deep/rounds=one/seed=3"]
    assert [row.seeds for row in collect(found, tmp_path / "out").rows] == [3, 2, 2, 2]


def test_a_column_that_no_table_has(whole: tuple[Study, Path], tmp_path: Path) -> None:
    _, out = whole
    figure = {"table": "ports", "column": "paused"}
    other = study(tmp_path, {**SMALL, "metrics": {**SMALL["metrics"], "paused": figure}})
    with pytest.raises(ResultError, match="'paused' is not a column of ports"):
        collect(other, out)


def test_a_figure_by_another_column(whole: tuple[Study, Path], tmp_path: Path) -> None:
    _, out = whole
    sizes = {"table": "flows", "column": "bytes", "per": "end_ps", "where": {"job": "answers"}}
    other = study(tmp_path, {**SMALL, "metrics": {**SMALL["metrics"], "speed": sizes}})
    row = collect(other, out).rows[0]
    flows = pl.read_parquet(out / "runs/buffer=deep/rounds=one/seed=1/flows/*.parquet").filter(
        pl.col("job") == "answers"
    )
    assert row.figures["speed"][1] == float(flows["bytes"].sum()) / float(flows["end_ps"].sum())


def test_a_figure_since_another_column(whole: tuple[Study, Path], tmp_path: Path) -> None:
    _, out = whole
    lasted = {
        "table": "flows",
        "column": "end_ps",
        "since": "start_ps",
        "of": "max",
        "where": {"job": "answers"},
    }
    other = study(tmp_path, {**SMALL, "metrics": {**SMALL["metrics"], "lasted": lasted}})
    row = collect(other, out).rows[0]
    flows = pl.read_parquet(out / "runs/buffer=deep/rounds=one/seed=1/flows/*.parquet").filter(
        pl.col("job") == "answers"
    )
    ends, starts = flows["end_ps"].to_list(), flows["start_ps"].to_list()
    assert row.figures["lasted"][1] == float(max(ends) - min(starts))


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    found = study(tmp_path / "study")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(OutputExistsError):
        ran(found, tmp_path / "out")
    assert collect(found, tmp_path / "nothing").rows == []


def test_a_run_that_fails_stops_no_other(tmp_path: Path) -> None:
    found = study(tmp_path / "study", {**SMALL, "cells": ["one"]}, NO_TESTS)
    place = tmp_path / "out/runs/buffer=deep/rounds=one"
    place.mkdir(parents=True)
    (tmp_path / "out" / "incast-study.json").write_text("{}")
    (place / "seed=1").write_text("in the way")
    with pytest.raises(RunError, match="buffer=deep/rounds=one/seed=1: "):
        ran(found, tmp_path / "out")
    assert [row.seeds for row in collect(found, tmp_path / "out").rows] == [1, 2]


def test_a_killed_process_takes_no_other_run_with_it(tmp_path: Path) -> None:
    """It was sent one ahead, which another process does."""

    class Kills(Seen):
        def ended(self, number: int) -> None:
            super().ended(number)
            if len(self.done) in (4, 9):
                for child in multiprocessing.active_children():
                    child.kill()

    axes = {"size": {f"s{size}": {"set": {"jobs.answers.size": f"{size}kB"}} for size in range(1, 17)}}
    content = {**SMALL, "axes": axes, "metrics": {"drops": "ports.drops"}, "published": None}
    found, seen = study(tmp_path / "study", content, NO_TESTS), Kills()
    with suppress(RunError):
        run_study(found, tmp_path / "out", cells=found.cells, seeds=[1], jobs=1, watcher=seen)
    assert sorted(seen.done) == list(range(16))
    ended = list((tmp_path / "out").rglob("study-run.json"))
    assert len(ended) >= 14


@pytest.mark.parametrize("request_", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_keeps_what_has_ended(tmp_path: Path, request_: signal.Signals) -> None:
    content = deepcopy(SMALL)
    slow = {"name": "slow", "kind": "background", "rate": "9Gbps"}
    content["axes"]["rounds"]["two"]["set"] = {"jobs": [slow], "until": "10min"}
    content["metrics"] = {"drops": "ports.drops"}
    content["published"] = None
    study(tmp_path / "study", content, NO_TESTS)
    command = [
        sys.executable,
        "-m",
        "incast",
        "study",
        "run",
        "study",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--out",
        "out",
    ]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as process:
        until((tmp_path / "out/runs/buffer=deep/rounds=two/seed=1/incast-run.json").exists, process)
        os.killpg(process.pid, request_)
        _, said = process.communicate(timeout=240)
    assert process.returncode == 130, said
    assert b"what has ended is kept" in said
    ended = sorted(str(each.parent.relative_to(tmp_path)) for each in tmp_path.rglob("study-run.json"))
    assert ended == ["out/runs/buffer=deep/rounds=one/seed=1"]


def test_runs_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    content = deepcopy(SMALL)
    slow = {"name": "slow", "kind": "background", "rate": "9Gbps"}
    content["base"] = {**content["base"], "jobs": [slow], "until": "10min"}
    content["axes"] = {"rounds": {"one": {}}}
    content["metrics"] = {"drops": "ports.drops"}
    content["published"] = None
    study(tmp_path / "study", content, NO_TESTS)
    command = [sys.executable, "-m", "incast", "study", "run", "study", "--seeds", "1", "--out", "out"]
    marker = tmp_path / "out/runs/rounds=one/seed=1/incast-run.json"
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        until(marker.exists, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
    assert children
    # A run does not go on without anybody to wait for it.
    until(lambda: not any(running(child) for child in children))


def running(child: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{child}/status").read_text()
    except OSError:
        return False


SCRIPT = """
from pathlib import Path
from incast.study import load
from incast.study.run import run_study
print("begun")
found = load(Path("small"))
run_study(found, Path("out"), cells=found.cells[:2], seeds=[1], jobs=2)
"""


def test_a_script_is_not_run_again_by_its_processes(tmp_path: Path) -> None:
    """It says nothing of `__main__`, and each process would begin the study again."""
    study(tmp_path / "small")
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "begun\n"), ended.stderr
    assert len(list((tmp_path / "out").rglob("summary.json"))) == 2


@pytest.mark.usefixtures("swallowed")
def test_a_request_that_was_swallowed_is_heard_before_runs_begin(tmp_path: Path) -> None:
    found = study(tmp_path / "study")
    with pytest.raises(KeyboardInterrupt):
        run_study(found, tmp_path / "out", cells=found.cells, seeds=[1], jobs=1)
    assert not (tmp_path / "out").exists()
