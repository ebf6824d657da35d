"""Runs: what they leave in the folder, side by side, interrupted, failing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import incast
from helpers import SMALL, written
from incast import _core, folder
from incast.runs import run_all
from incast.scenario import (
    Host,
    Incast,
    LeafSpine,
    Link,
    Scenario,
    StaticBuffer,
    Step,
    Switch,
    Tcp,
)
from incast.stop import Stop
from incast.variants import make_variants
from incast.written import WrittenScenario

EXAMPLES = Path(__file__).parents[2] / "examples"
LONG = {**SMALL, "jobs": [{"name": "bg", "kind": "background", "rate": "9Gbps"}], "until": "10min"}


def contents(place: Path) -> dict[str, bytes]:
    """All tables."""
    return {str(part.relative_to(place)): part.read_bytes() for part in sorted(place.rglob("*.parquet"))}


def test_a_run_folder(tmp_path: Path) -> None:
    text = json.dumps(SMALL)
    result = incast.run(written(tmp_path, text), tmp_path / "out")
    place = tmp_path / "out"
    assert (place / folder.WRITTEN).read_text() == text
    assert json.loads((place / folder.GRAPH).read_text())["nodes"][0] == {"name": "host0", "kind": "host"}
    assert {path.name for path in place.iterdir() if path.is_dir()} == set(folder.TABLES)
    summary = result.summary
    assert (summary["name"], summary["seed"], summary["end"], summary["choice"]) == (
        "small",
        1,
        "finished",
        None,
    )
    assert summary["version"] == incast.__version__
    assert summary["jobs"]["answers"]["bytes"] == 60_000
    assert result.flows.height == 3
    assert set(result.flows["outcome"].cast(pl.String)) == {"finished"}
    assert result.jobs["end_ps"][0] == summary["done_ps"]
    assert not result.interrupted
    assert result.passed


def test_the_core_names_ports_as_scenarios_do(tmp_path: Path) -> None:
    link = {"rate": "10Gbps"}
    parallel = {"kind": "leaf-spine", "leaves": [2, 2], "spines": 2, "uplinks_per_spine": 2}
    topology = parallel | {"host_link": link, "uplink": link}
    source = WrittenScenario.from_file(written(tmp_path, SMALL | {"topology": topology}))
    plans = make_variants(source)
    (done,) = run_all(source, plans, tmp_path / "out")
    tables = incast.Result(done.folder)
    named = plans[0].resolved.cluster.ports
    assert sorted(tables.ports["port"]) == sorted(named)
    assert "leaf0:spine1#2" in named
    used = {port for path in [*tables.flows["path"], *tables.flows["path_back"]] for port in path.split()}
    assert used <= set(named)


def test_the_core_reads_and_writes_the_same_scenario(tmp_path: Path) -> None:
    source = WrittenScenario.from_file(written(tmp_path, SMALL))
    plans = make_variants(source)
    (done,) = run_all(source, plans, tmp_path / "out")
    assert json.loads((done.folder / "scenario.json").read_text()) == plans[0].resolved.spec


def test_the_same_seed_gives_the_same_bytes_at_any_number_of_runs_at_a_time(tmp_path: Path) -> None:
    scenario = written(tmp_path, {**SMALL, "choices": {"a": {}, "b": {}, "c": {}}})
    one = incast.run(scenario, tmp_path / "one", jobs=1)
    many = incast.run(scenario, tmp_path / "many", jobs=3)
    tables = [contents(run.path) for run in (*one.runs, *many.runs)]
    assert tables[0]
    assert all(each == tables[0] for each in tables)
    assert len({run.summary["fingerprint"] for run in (*one.runs, *many.runs)}) == 1


# A job of each kind whose hosts act by what they hear; with a crash, and hosts that are several jobs' at a time.
EVERY_KIND: list[dict[str, Any]] = [
    {"name": "all", "kind": "all-to-all", "size": "100kB"},
    {"name": "pages", "kind": "rpc", "clients": "host[0-1]", "servers": "host[2-6]", "calls": 200},
    {"name": "copy", "kind": "broadcast", "source": "host0", "size": "5MB"},
    {
        "name": "walks",
        "kind": "walk",
        "graph": {"kind": "sbm", "sizes": [8] * 8, "inside": 0.7, "between": 0.05},
    },
    {
        "name": "rules",
        "kind": "mine",
        "transactions": {"kind": "quest", "count": 300},
        "support": 0.05,
        "nodes": "host[0-5]",
    },
    {
        "name": "memory",
        "kind": "farmem",
        "programs": ["host1", "host4"],
        "memory": ["host3", "host6"],
        "local": "25%",
        "pattern": {"kind": "random", "size": "1MiB", "accesses": 2000, "writes": 0.3, "compute": "2us"},
    },
    {
        "name": "sort",
        "kind": "shuffle",
        "size": "64MiB",
        "block": "8MiB",
        "compute": "host[0-3]",
        "master": "host4",
        "data": "host[5-6]",
        "input_replication": 2,
        "start": "5ms",
    },
]


@pytest.mark.parametrize("kind", [job["kind"] for job in EVERY_KIND])
def test_the_same_seed_gives_the_same_bytes_at_any_number_of_threads(tmp_path: Path, kind: str) -> None:
    far: dict[str, Any] = {"rate": "10Gbps", "delay": "50us"}
    scenario = {
        **SMALL,
        "topology": {"kind": "leaf-spine", "leaves": [4, 4], "spines": 2, "host_link": far, "uplink": far},
        "jobs": [job for job in EVERY_KIND if job["kind"] in (kind, "all-to-all")],
        "measure": {"interval": "1ms", "flows": True},
    }
    file = written(tmp_path, scenario)
    one, two = (incast.run(file, tmp_path / str(threads), threads=threads) for threads in (1, 2))
    assert one.summary["end"] == "finished"
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert one.summary["fingerprint"] == two.summary["fingerprint"]


def test_jobs_of_every_kind_together_have_the_same_bytes_at_any_number_of_threads(tmp_path: Path) -> None:
    far: dict[str, Any] = {"rate": "10Gbps", "delay": "50us"}
    scenario = {
        **SMALL,
        "topology": {"kind": "leaf-spine", "leaves": [4, 4], "spines": 2, "host_link": far, "uplink": far},
        "jobs": EVERY_KIND,
        "faults": [
            {"at": "3ms", "crash": "host7"},
            {"at": "6ms", "link_down": ["leaf0", "spine1"], "for": "2ms"},
        ],
        "measure": {"interval": "10ms", "flows": True},
        "until": "16s",
    }
    file = written(tmp_path, scenario)
    one, two = (incast.run(file, tmp_path / str(threads), threads=threads) for threads in (1, 2))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert one.summary["fingerprint"] == two.summary["fingerprint"]


def test_pauses_and_deadlocks_have_the_same_bytes_at_any_number_of_threads(tmp_path: Path) -> None:
    scenario = yaml.safe_load((EXAMPLES / "pfc-deadlock.yaml").read_text())
    for link in scenario["topology"]["links"]:
        link["delay"] = "50us"
    scenario["switch"]["buffer"]["size"] = "4MB"
    scenario["switch"]["pfc"]["headroom"] = "200kB"
    scenario["measure"] = {"interval": "1ms", "flows": True}
    scenario["choices"]["storm"] = {
        "switch.pfc.watchdog": {"detection": "20ms", "restoration": "20ms", "poll": "10ms"},
        "faults": [{"at": "1ms", "pause_storm": {"host": "host3", "class": 3}, "for": "1s"}],
    }
    file = written(tmp_path, scenario)
    one, two = (incast.run(file, tmp_path / str(threads), threads=threads) for threads in (1, 2))
    assert {name: run.summary["end"] for name, run in one.choices.items()} == {
        "deadlock": "deadlock",
        "watchdog": "finished",
        "storm": "finished",
    }
    assert set(one.events["what"].cast(pl.String)) > {"pfc-deadlock", "pfc-storm", "pfc-restored"}
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    for first, second in zip(one.runs, two.runs, strict=True):
        assert {**first.summary, "wall_s": 0} == {**second.summary, "wall_s": 0}


def test_choices_and_seeds(tmp_path: Path) -> None:
    choices = {"fast": {}, "slow": {"topology.host_link.rate": "1Gbps"}}
    result = incast.run(written(tmp_path, {**SMALL, "choices": choices}), tmp_path / "out", seeds=2)
    assert list(result.choices) == ["fast", "slow"]
    assert [run.path.relative_to(tmp_path / "out").as_posix() for run in result.runs] == [
        "fast/seed-1",
        "fast/seed-2",
        "slow/seed-1",
        "slow/seed-2",
    ]
    assert result.flows.select("choice", "seed").unique().height == 4
    assert result.choices["fast"].summary["done_ps"] < result.choices["slow"].summary["done_ps"]
    assert {each.choice for each in incast.compare(result, result)} == {"fast", "slow"}
    fast = incast.Result.open(tmp_path / "out" / "fast")
    assert len(fast.runs) == 2
    done = {
        each.figure: each for each in incast.compare(fast, incast.Result.open(tmp_path / "out" / "slow"))
    }["done_ps"]
    assert done.contrast
    assert (done.contrast.more, done.contrast.verdict) == (2, "more")


def test_without_a_folder_the_result_lives_as_long_as_the_object() -> None:
    result = incast.run(incast.Scenario.model_validate(SMALL))
    place = result.path
    assert result.ports.height == 8
    del result
    assert not place.exists()


def test_a_scenario_of_parts() -> None:
    scenario = Scenario(
        name="parts",
        topology=LeafSpine(leaves=[2, 2], spines=1, host_link=Link(rate="10Gbps")),
        switch=Switch(buffer=StaticBuffer(limit="100 packets"), queue=Step(threshold="30kB")),
        host=Host(tcp=Tcp(congestion="dctcp")),
        jobs=[Incast(name="answers", receiver="host0", size="20kB", class_=3)],
    )
    result = incast.run(scenario)
    assert set(result.flows["class"]) == {3}
    assert result.summary["jobs"]["answers"]["unfinished"] == 0


def test_a_captured_syn_says_the_mss_without_options(tmp_path: Path) -> None:
    # RFC 9293, 3.7.1: the MTU less 40 bytes of headers, whatever options segments carry.
    scenario = {**SMALL, "measure": {"capture": ["host1:switch0"]}}
    incast.run(incast.Scenario.model_validate(scenario), tmp_path / "out")
    (file,) = (tmp_path / "out" / "captures").iterdir()
    assert b"\x02\x04" + (1460).to_bytes(2, "big") in file.read_bytes()


@pytest.mark.parametrize("seeds", [0, -1, 10_001])
def test_seeds_out_of_their_range_are_refused(tmp_path: Path, seeds: int) -> None:
    with pytest.raises(
        incast.ScenarioError,
        match=r"seeds: .* must be (greater than or equal to 1|less than or equal to 10000)$",
    ):
        incast.run(written(tmp_path, SMALL), seeds=seeds)


def test_a_full_disk_leaves_what_was_written_and_a_clear_error(tmp_path: Path) -> None:
    # No file may grow beyond this: writing fails as on a full disk.
    limited = (
        "import resource, sys; from incast.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); main()"
    )
    jobs = [{"name": "load", "kind": "load", "duration": "5ms", "sizes": [["1kB", 1.0]]}]
    file = written(tmp_path, {**SMALL, "jobs": jobs, "until": "1s"})
    command = [sys.executable, "-c", limited, "run", str(file), "--out", str(tmp_path / "out"), "--no-report"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 4, found.stderr
    assert "could not be written" in found.stderr
    assert str(tmp_path / "out") in found.stderr
    parts = list((tmp_path / "out").rglob("*.parquet"))
    assert parts
    for part in parts:
        assert pl.read_parquet(part).width > 0
    assert "could not be written" in incast.Result.open(tmp_path / "out").summary["error"]


def test_thresholds_are_checked(tmp_path: Path) -> None:
    thresholds = ["jobs.answers.duration < 1s", "jobs.answers.duration < 1ns"]
    result = incast.run(incast.Scenario.model_validate({**SMALL, "thresholds": thresholds}), tmp_path / "out")
    assert [each["holds"] for each in result.summary["thresholds"]] == [True, False]
    assert not result.passed


def test_a_folder_is_never_overwritten_unasked(tmp_path: Path) -> None:
    scenario = incast.Scenario.model_validate(SMALL)
    incast.run(scenario, tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    before = contents(tmp_path / "out")
    with pytest.raises(incast.OutputExistsError, match="allow it to be overwritten"):
        incast.run(scenario, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    incast.run(scenario, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_overwriting_removes_the_choices_of_before(tmp_path: Path) -> None:
    several = {**SMALL, "choices": {"a": {}, "b": {}}}
    incast.run(incast.Scenario.model_validate(several), tmp_path / "out")
    (tmp_path / "out" / "a" / "notes.txt").write_text("mine")
    incast.run(incast.Scenario.model_validate(SMALL), tmp_path / "out", force=True)
    left = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").glob("[ab]/**/*")}
    assert left == {"a/notes.txt", "a/incast-run.json"}  # the marker, so that it can be used again
    assert incast.Result.open(tmp_path / "out").runs[0].summary["choice"] is None


def test_a_folder_of_something_else_is_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "home"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    with pytest.raises(incast.OutputExistsError, match="isn't a result"):
        incast.run(incast.Scenario.model_validate(SMALL), place, force=True)
    assert [path.name for path in place.iterdir()] == ["thesis.txt"]


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def ctrl_c_unheard() -> None:
    """No wait of the main thread ends by it, as by one that came just before the wait."""
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


@pytest.mark.parametrize("interrupt", [ctrl_c, ctrl_c_unheard])
def test_stopping_keeps_what_was_measured(interrupt: Callable[[], None], tmp_path: Path) -> None:
    source = WrittenScenario.from_file(written(tmp_path, LONG))
    told: list[Mapping[str, Any]] = []

    def watch(number: int, progress: Mapping[str, Any]) -> None:
        assert number == 0
        if not told:
            interrupt()
        told.append(progress)

    (done,) = run_all(source, make_variants(source), tmp_path / "out", watch=watch)
    assert 0 < told[0]["fraction"] < 1
    assert told[0]["events"] > 0
    result = incast.Result.open(done.folder)
    assert result.interrupted
    assert 0 < result.summary["sim_time_ps"] < 600 * 10**12
    assert result.datagrams["received_bytes"].sum() > 0


def test_ctrl_c_asks_first_and_then_ends() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("swallowed")
def test_a_request_that_was_swallowed_is_heard_when_a_run_begins(tmp_path: Path) -> None:
    source = WrittenScenario.from_file(written(tmp_path, LONG))
    with pytest.raises(KeyboardInterrupt):
        run_all(source, make_variants(source), tmp_path / "out")


def test_a_run_that_cannot_write_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(incast.OutputError, match="file/out can't be written"):
        incast.run(incast.Scenario.model_validate(SMALL), tmp_path / "file" / "out")


def test_tables_that_are_missing(tmp_path: Path) -> None:
    result = incast.run(incast.Scenario.model_validate(SMALL), tmp_path / "out")
    with pytest.raises(incast.ResultError, match="Did you mean 'flows'"):
        result.scan("flow")
    for part in (tmp_path / "out" / "waits").iterdir():
        part.unlink()
    with pytest.raises(incast.ResultError, match="no table 'waits'"):
        assert result.waits.height


def test_the_core_refuses_what_is_no_scenario() -> None:
    with pytest.raises(_core.SpecError):
        _core.check("{}")
    with pytest.raises(_core.SpecError):
        _core.expand('{"kind": "ring"}')


def test_the_core_names_the_first_event_that_differs(tmp_path: Path) -> None:
    sources = [
        WrittenScenario.from_file(written(tmp_path, SMALL), [f"jobs.answers.size={n}kB"]) for n in (20, 21)
    ]
    one, other = (make_variants(source)[0].resolved.core for source in sources)
    assert _core.diverge(one, one, lambda _: True) is None
    found = _core.diverge(one, other, lambda _: True)
    assert found
    after, first, second = found
    assert after >= 0
    assert first != second
