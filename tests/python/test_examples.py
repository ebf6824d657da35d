"""The examples run, their thresholds hold, and each shows what it says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import incast
from incast.emu import kernel
from incast.lab.scenario import Scenario
from incast.lab.validate import validate
from incast.runs import run_all
from incast.variants import make_variants
from incast.written import WrittenScenario

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
# What takes longer than a test may, made shorter.
SHORTER = {"four-switches": ["jobs.shuffle.first=6"], "hadoop": ["jobs.terasort.size=100MB"]}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    real = path.stem == "emu-real"
    if path.stem.startswith("emu-") and not real and kernel.find() is None:
        pytest.skip("the kernel of emulated hosts is not there: make uml")
    if real and not (os.geteuid() == 0 and shutil.which("iperf3")):
        pytest.skip("it takes root and iperf3")
    source = WrittenScenario.from_file(path, SHORTER.get(path.stem, []))
    done = run_all(source, make_variants(source), tmp_path / "out")
    assert [each.error for each in done] == [""] * len(done)
    result = incast.Result.open(tmp_path / "out")
    assert result.passed
    ends = {"finished", "until"} | ({"deadlock"} if path.stem == "pfc-deadlock" else set())
    assert {run.summary["end"] for run in result.runs} <= ends
    assert validate(source.document, Scenario).name == path.stem
    assert validate(source.document, Scenario).description


def test_packets_wait_long_in_the_deep_buffers_of_the_demo(tmp_path: Path) -> None:
    # How much longer its jobs take with five seeds is in README.md, whose figures are tested too.
    source = WrittenScenario.from_file(FOLDER / "hadoop.yaml")
    (deep,) = run_all(source, make_variants(source, ["deep"], [1]), tmp_path / "out")
    # Up to 25 MB in front of one server, at 5 Gb/s.
    assert deep.summary["ports"]["wait_p99_ps"] > 35e9


def test_a_strict_class_passes_a_backup(tmp_path: Path) -> None:
    choices = incast.run(FOLDER / "classes.yaml", tmp_path / "out").choices
    strict, one = (
        choices[name].summary["jobs"]["requests"]["fct_p99_ps"] for name in ("strict", "one-queue")
    )
    assert strict * 2 < one


def test_small_requests_wait_behind_deep_buffers(tmp_path: Path) -> None:
    choices = incast.run(FOLDER / "buffers.yaml", tmp_path / "out").choices
    deep, codel, marks = (
        choices[name].summary["jobs"]["requests"]["fct_p99_ps"]
        for name in ("deep", "deep-codel", "shallow-marks")
    )
    assert deep > 1.5 * codel > 4.5 * marks


def test_pfc_moves_drops_to_the_way_in_and_headroom_ends_them(tmp_path: Path) -> None:
    choices = incast.run(FOLDER / "pfc.yaml", tmp_path / "out").choices

    def drops(name: str) -> tuple[int, int]:
        ports = choices[name].ports
        return int(ports["in_discards"].sum()), int(ports["out_discards"].sum())

    no_pfc, pfc, little = (drops(name) for name in ("none", "pfc", "little-headroom"))
    assert no_pfc[0] == 0 < no_pfc[1]
    assert pfc == (0, 0)
    assert little[0] > 0 == little[1]


def test_a_deadlock_ends_the_run_and_the_watchdog_breaks_it(tmp_path: Path) -> None:
    choices = incast.run(FOLDER / "pfc-deadlock.yaml", tmp_path / "out").choices
    stuck = choices["deadlock"].summary
    assert stuck["end"] == "deadlock"
    ring = [f"switch{n}:switch{(n + 1) % 5}" for n in range(5)]
    assert [each["port"] for each in stuck["deadlock"]["cycle"]] == ring
    assert {each["port"] for each in stuck["deadlock"]["behind"]} == {f"host{n}:switch{n}" for n in range(5)}
    broken = choices["watchdog"].summary
    assert (broken["end"], broken["deadlock"]) == ("finished", None)


def test_red_needs_a_third_of_the_additional_walks_of_tail_drop(tmp_path: Path) -> None:
    source = WrittenScenario.from_file(FOLDER / "random-walk.yaml")
    run_all(source, make_variants(source, ["rq-rg", "tail-drop-rg"]), tmp_path / "out")
    choices = incast.Result.open(tmp_path / "out").choices
    additional = {name: int(run.walks["additional"].sum()) for name, run in choices.items()}
    assert 0 < additional["rq-rg"] <= additional["tail-drop-rg"] / 3


def test_timers_that_differ_end_a_barrier_on_atm(tmp_path: Path) -> None:
    choices = incast.run(FOLDER / "atm-barrier.yaml", tmp_path / "out").choices
    ends = {name: run.summary["jobs"]["barrier"]["duration_ps"] for name, run in choices.items()}
    # The order that a model of single cells gives, and that the experiments of 1998 found.
    assert ends["default"] > 3 * ends["short-maximum"] > 3 * ends["fixed"] > 1.5 * 3 * ends["random"]
    assert ends["rotated-at-once"] * 10 < ends["random"]
    totals = {
        name: run.ports.select("cells_dropped", "drops_merged").sum().row(0) for name, run in choices.items()
    }
    assert min(totals["default"]) > 0
    assert totals["rotated-at-once"] == (0, 0)
    assert choices["default"].ports["queue_max_cells"].max() == 2048


def test_captures_are_written(tmp_path: Path) -> None:
    incast.run(FOLDER / "replay.yaml", tmp_path / "out")
    (capture,) = (tmp_path / "out" / "captures").iterdir()
    assert capture.suffix == ".pcapng"
    assert capture.stat().st_size > 10_000
