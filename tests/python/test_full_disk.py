"""A disk without room: walks go on, the result and the exit code say what is missing, and its path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from helpers import SMALL, written
from incast.cli.app import app
from incast.folder import MARKER, STUDY_MARKER, make_free, write_table, write_text
from incast.scratch import PREFIX
from incast.study.run import claim
from studies import study
from walk_servers import SBM, told

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for some parts of a graph and short journals."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_walks_go_on_without_journals_and_files_and_say_so(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = incast.walk(SBM, walks=2000)
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr("tempfile.tempdir", None)
    out = tmp_path / "out"
    code, said = told(["--walks", "2000", "--servers", "2", "--out", str(out)])
    assert code == 4, said
    result = incast.WalkResult.open(out)
    order = ["start", "node"]
    assert result.table("scores").sort(order).equals(memory.table("scores").sort(order))
    assert not result.interrupted
    assert result.unwritten == result.summary["unwritten"]
    for server in (0, 1):
        journal = next(each for each in result.unwritten if f"/{server}/.journal" in each)
        assert journal.startswith(f"{disk}/{PREFIX}")
        assert "could not be kept" in journal
    assert any("/walks.npz can't be written: no space left on device" in each for each in result.unwritten)
    for each in result.unwritten:
        assert f"{each}: the walks went on" in said
    assert not list(disk.iterdir())


def test_a_part_of_the_graph_that_finds_no_room_is_named(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr("tempfile.tempdir", None)
    (disk / "other").write_bytes(bytes(126_000))
    code, said = told(["--servers", "2", "--out", str(tmp_path / "out")])
    assert code == 4
    assert f"error: {disk}/{PREFIX}" in said
    assert "/part.npz can't be written: no space left on device" in said


def test_tables_of_walks_that_find_no_room_are_named(disk: Path) -> None:
    (disk / "other").write_bytes(bytes(100_000))
    code, said = told(["--servers", "2", "--walks", "2000", "--out", str(disk / "out")])
    assert code == 4
    assert f"error: {disk}/" in said
    assert "no space left on device" in said
    assert [each.name for each in disk.iterdir()] == ["other"]


def test_a_matrix_of_walks_that_finds_no_room_ends_before_it_is_filled(disk: Path) -> None:
    # In a process of its own, which a signal may end.
    command = [sys.executable, "-m", "incast", "walk", SBM, "--app", "node2vec", "--out", str(disk / "out")]
    done = subprocess.run([*command, "--walks", "2000"], capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "no space left on device" in done.stderr
    assert not list(disk.iterdir())


def test_a_table_that_finds_no_room_is_named_wherever_the_room_ends(disk: Path) -> None:
    frame = pl.DataFrame({f"c{number}": [number] for number in range(300)})
    # Of memory by pages: its head, its columns and its end come to the end of the room.
    for room in range(6):
        (disk / "other").write_bytes(bytes((32 - room) * 4096))
        with pytest.raises(OSError, match="No space left on device") as raised:
            write_table(disk / "table.parquet", frame)
        assert raised.value.filename == str(disk / "table.parquet")
        (disk / "table.parquet").unlink(missing_ok=True)


def test_a_text_that_finds_no_room_is_named_and_the_old_one_stays(disk: Path) -> None:
    file = disk / "report.html"
    write_text(file, "old")
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_text(file, "x" * 200_000)
    assert raised.value.filename == str(file)
    assert [(each.name, each.read_text()) for each in disk.iterdir()] == [("report.html", "old")]


@pytest.mark.parametrize("size", [20_000, 100_000])
def test_captures_and_tables_that_find_no_room_are_named(disk: Path, tmp_path: Path, size: int) -> None:
    (disk / "other").write_bytes(bytes(128 * 1024 - size))
    file = written(tmp_path, {**SMALL, "measure": {"capture": ["switch0:host0"]}})
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(disk / "out"), "--json"])
    assert done.exit_code == 4, done.output
    (said,) = json.loads(done.stdout)["problems"]
    assert str(disk / "out") in said["message"]


@pytest.mark.parametrize("room", [8_000, 40_000, 90_000])
def test_a_study_that_finds_no_room_says_where_and_goes_on_when_there_is(
    disk: Path, tmp_path: Path, room: int
) -> None:
    study(tmp_path)
    (disk / "other").write_bytes(bytes(128 * 1024 - room))
    command = ["study", "run", str(tmp_path), "--out", str(disk / "out"), "--jobs", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 4, done.output
    assert f"error: {disk / 'out'}/" in done.stderr
    assert "no space left on device" in done.stderr
    assert not list(disk.rglob(".*"))
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    assert CliRunner().invoke(app, command).exit_code == 0


@pytest.mark.parametrize("seeds", [[], ["--seeds", "2"]])
def test_several_runs_that_find_no_room_may_be_overwritten(
    disk: Path, tmp_path: Path, seeds: list[str]
) -> None:
    (disk / "other").write_bytes(bytes(88_000))
    file = written(tmp_path, {**SMALL, "choices": {"a": {}, "b": {}}})
    command = ["run", str(file), "--out", str(disk / "out"), "--force", *seeds]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 4, done.output
    assert f"error: {disk / 'out'}/" in done.stderr
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    assert CliRunner().invoke(app, command).exit_code == 0


def test_a_marker_that_is_not_whole_keeps_nobody_out(tmp_path: Path) -> None:
    for place, marker in ((tmp_path / "run", MARKER), (tmp_path / "study", STUDY_MARKER)):
        place.mkdir()
        (place / f".{marker}.tmp").touch()
    make_free(tmp_path / "run", force=False)
    claim(tmp_path / "study", study(tmp_path))


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_itemsets_and_transactions_that_find_no_room_are_named(disk: Path, tmp_path: Path, form: str) -> None:
    data = tmp_path / "all.dat"
    data.write_text(" ".join(map(str, range(14))) + "\n")
    (disk / "other").write_bytes(bytes(110_000))
    out = disk / "out"
    mine = ["mine", str(data), "--support", "100%", "--out", str(out), "--format", form]
    quest = ["generate", "quest", str(disk / "quest.dat"), "--transactions", "20000"]
    for command, place in ((mine, out / f"itemsets.{form}"), (quest, disk / "quest.dat")):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 4, done.output
        assert f"error: {place}: no space left on device" in " ".join(done.stderr.split())
