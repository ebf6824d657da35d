"""Runs that are kept with a study."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from incast.cli.exits import Exit
from incast.errors import ScenarioError
from incast.study import kept, load
from incast.study.outcome import collect
from incast.study.run import run_study
from studies import SMALL, written
from test_study_cli import call


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that was run and kept, and its results."""
    folder = tmp_path_factory.mktemp("kept")
    written(folder / "small")
    assert call("study", "run", folder / "small", "--out", folder / "out").exit_code == Exit.OK
    found = call("study", "report", folder / "small", "--results", folder / "out", "--keep")
    assert found.exit_code == Exit.OK, found.output
    assert f"Runs: {folder / 'small/runs.csv'}" in found.output.replace("\n", "")
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    """The same, to change."""
    return copytree(finished, tmp_path, dirs_exist_ok=True)


def test_all_that_was_found_is_found_without_the_folder(place: Path) -> None:
    study = load(place / "small")
    before = collect(study, place / "out")
    rmtree(place / "out")
    after = collect(study, place / "out")
    assert (after.ran, after.rows, after.findings) == (before.ran, before.rows, before.findings)
    assert (len(after.done), after.kept) == (0, 8)
    assert before.kept == 0


def test_it_is_said_what_was_not_run_here(place: Path) -> None:
    rmtree(place / "out")
    found = call("reproduce", "small", "--studies", place, "--results", place / "results")
    assert "1 holds, 1 does not hold, 1 not tested" in found.output
    assert "8 of 8 runs not run here: kept with the study, in runs.csv." in found.output
    assert not (place / "results").exists()


def test_some_kept_runs_are_run_again(place: Path) -> None:
    rmtree(place / "out")
    asked = ("reproduce", "small", "--studies", place, "--results", place / "results")
    assert "4 kept runs run again here, with the same figures." in call(*asked).output
    (said,) = json.loads(call(*asked, "--json").stdout)
    assert said["run_again"] == {"runs": 4, "other": []}


def test_kept_runs_of_an_earlier_version_are_told(place: Path) -> None:
    """A figure that this version does not find stands for what an earlier one found."""
    rmtree(place / "out")
    file = place / "small/runs.csv"
    head, *rows = file.read_text().splitlines()
    column = head.split(",").index("time_ps")
    for number, row in enumerate(rows):
        if row.startswith("shallow/two,"):
            fields = row.split(",")
            fields[column] = str(int(fields[column]) + 1)
            rows[number] = ",".join(fields)
    file.write_text("\n".join([head, *rows]) + "\n")
    asked = ("reproduce", "small", "--studies", place, "--results", place / "results")
    said = " ".join(call(*asked).output.split())
    assert "earlier version: 1 of 4 that were run again have other figures, like shallow/two" in said
    (found,) = json.loads(call(*asked, "--json").stdout)
    assert [each.partition("/seed-")[0] for each in found["run_again"]["other"]] == ["shallow/two"]


def test_what_was_run_here_is_not_run_again(place: Path) -> None:
    asked = ("reproduce", "small", "--studies", place, "--results", place / "results", "--json")
    (place / "results").mkdir()
    (place / "out").rename(place / "results/small")
    (said,) = json.loads(call(*asked).stdout)
    assert said["run_again"] == {"runs": 0, "other": []}


def test_kept_again_they_are_the_same_bytes(place: Path) -> None:
    before = (place / "small/runs.csv").read_bytes()
    rmtree(place / "out")
    found = call("study", "report", place / "small", "--results", place / "out", "--keep")
    assert found.exit_code == Exit.OK
    assert "8 of 8 runs not run here" in found.stdout
    assert (place / "small/runs.csv").read_bytes() == before


def test_what_is_run_here_counts_before_what_is_kept(place: Path) -> None:
    file = place / "small/runs.csv"
    lines = file.read_text().splitlines()
    changed = [line.replace(",finished,", ",out of time,") for line in lines]
    file.write_text("\n".join(changed) + "\n")
    assert [row.unfinished for row in collect(load(place / "small"), place / "out").rows] == [0] * 4
    assert [row.unfinished for row in collect(load(place / "small"), place / "none").rows] == [2] * 4


def test_seeds_are_added_to_those_that_are_kept(place: Path) -> None:
    rmtree(place / "out")
    added = ("study", "run", place / "small", "--out", place / "out", "--seeds", 3, "--but-kept", "--json")
    assert [cell["seeds"] for cell in json.loads(call(*added).stdout)["cells"]] == [3] * 4
    assert sorted(each.name for each in (place / "out/runs").glob("*/*/*")) == ["seed=3"] * 4


def test_a_scenario_that_has_changed_needs_new_runs(place: Path) -> None:
    changed = deepcopy(SMALL)
    changed["axes"]["buffer"]["shallow"]["set"]["switch.buffer"]["size"] = "120kB"
    written(place / "small", changed)
    runs = kept.read(load(place / "small"))
    assert sorted({each.cell.name for each in runs}) == ["deep/one", "deep/two"]


def test_run_without_but_kept_runs_all(place: Path) -> None:
    study = load(place / "small")
    done = run_study(study, place / "again", cells=study.cells, seeds=[1, 2], jobs=2)
    assert len(done) == 8


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",finished,", ",finished,x", "2: time_ps is 'x"),
        ("packet_hops", "hops", "1: has no column packet_hops"),
        ("deep/one,2,", "deep/one,1,", "3: deep/one has seed 1 twice"),
        ("deep/one,1,", "deep/one,1.5,", "2: seed is '1.5': a whole number"),
        ("deep/one,1,", "deep/one,1,1,", "2: has"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(place: Path, old: str, new: str, said: str) -> None:
    file = place / "small/runs.csv"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(ScenarioError) as refused:
        kept.read(load(place / "small"))
    assert f"{file}:{said}" in str(refused.value)
