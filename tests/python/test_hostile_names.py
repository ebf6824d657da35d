"""Names of nodes, files and folders act on no terminal, and brackets and line ends in them are only text."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import incast
from helpers import SMALL, written
from incast import folder
from incast.cli.plain import plain
from incast.cli.progress import Bars
from incast.cli.show import print_json
from incast.result import Result
from incast.variants import make_variants
from incast.written import WrittenScenario
from typed import call


def test_names_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    assert plain("a\x1b[2Jb\rc\u202ed\te\nf\x9b") == "a\\x1b[2Jb\\rc\\u202ed\te\nf\\x9b"
    edges = tmp_path / "edges.csv"
    evil = "\x1b]0;gone\x07\x1b[2J\u202e"
    edges.write_text(f"source,target\n{evil}a,b\nb,{evil}c\n{evil}c,{evil}a\n")
    found = call("walk", edges, "--walks", "5", "--out", tmp_path / "walks")
    assert found.returncode == 0, found.stderr
    rows = tmp_path / "rows.dat"
    rows.write_text(f"{evil}x y\n" * 5)
    mined = call("mine", rows, "--support", "0.5", "--out", tmp_path / "mined")
    for shown in (found.stdout, found.stderr, mined.stdout, mined.stderr):
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b]0;gone\\x07" in found.stdout


def test_paths_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    rows = tmp_path / "rows.dat"
    rows.write_text("1 2\n" * 5)
    found = call("mine", rows, "--support", "0.5", "--out", tmp_path / "evil\x1b[2J")
    assert found.returncode == 0
    assert "\x1b" not in found.stdout + found.stderr
    assert "evil\\x1b[2J" in found.stdout


def test_json_shows_nothing_that_a_terminal_acts_on(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[31m\x9b31m\u202e"
    print_json({"node": name})
    said = capsys.readouterr().out
    assert said == plain(said)
    assert json.loads(said) == {"node": name}


def test_names_in_bars_are_neither_markup_nor_commands() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    told = {"fraction": 0.5, "sim_time_ps": 1, "events": 1}
    with Bars("c", console, ["[red]a[/red]", "b\x1b[2J"]) as bars:
        bars.watch(0, told)
        bars.watch(1, told)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]a[/red]" in text
    assert "b\\x1b[2J" in text


def test_an_ascii_terminal_shows_what_it_can(tmp_path: Path) -> None:
    thresholds = ["done < 1h"]
    file = written(tmp_path, {**SMALL, "thresholds": thresholds, "choices": {"a": {}, "b": {"seed": 2}}})
    command = [
        sys.executable,
        "-m",
        "incast",
        "run",
        str(file),
        "--out",
        str(tmp_path / "out"),
        "--no-report",
    ]
    ascii_ = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=ascii_)
    assert (found.returncode, "Traceback" in found.stderr) == (0, False), found.stderr
    assert "2 thresholds hold" in found.stdout


def test_paths_with_brackets_are_names(tmp_path: Path) -> None:
    file = written(tmp_path, SMALL)
    out = tmp_path / "r[1]"
    found = call("run", file, "--out", out, "--no-report")
    assert found.returncode == 0, found.stderr
    # Of two folders that a pattern could mean, it is this one.
    (tmp_path / "r1" / "flows").mkdir(parents=True)
    assert Result.open(out).flows.height > 0
    for command in ("report", "trace"):
        found = call(command, out)
        assert (found.returncode, str(out) in found.stdout) == (0, True), found.stderr
    rows, frame = tmp_path / "m[1].csv", tmp_path / "e[1].parquet"
    rows.write_text("transaction,item\n1,2\n1,3\n")
    assert call("mine", rows, "--support", "0.5", "--out", tmp_path / "m[a]").returncode == 0
    pl.DataFrame({"source": [0, 1], "target": [1, 2]}).write_parquet(frame)
    walked = call("walk", frame, "--walks", "5", "--out", tmp_path / "w[bold]")
    assert walked.returncode == 0, walked.stderr
    assert f"Result: {tmp_path}/w[bold]" in walked.stdout
    assert incast.WalkResult.open(tmp_path / "w[bold]").table("scores").height
    (tmp_path / "t[1].csv").write_text("at,from,to,size\n0s,host0,host1,1kB\n")
    replay = {"name": "r", "kind": "replay", "trace": "t[1].csv"}
    assert make_variants(WrittenScenario.from_file(written(tmp_path, {**SMALL, "jobs": [replay]})))


def test_a_name_with_two_lines_says_one(tmp_path: Path) -> None:
    forged = "a\nerror: b"
    rows = tmp_path / "rows.dat"
    rows.write_text("1 2\n" * 5)
    found = call("mine", rows, "--support", "0.5", "--out", tmp_path / forged)
    assert found.returncode == 0
    assert "a\\nerror: b" in found.stdout
    for command in (("run", tmp_path / f"{forged}.yaml"), ("report", tmp_path / forged / "not there")):
        found = call(*command)
        assert found.returncode == 2
        assert "a\\nerror: b" in found.stderr
        assert not any(line.startswith("error: b") for line in found.stderr.splitlines())


def test_names_of_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "\udcff.csv"
    table.write_text("transaction,item\n1,2\n")
    scenario = written(tmp_path, SMALL)
    commands = (
        ["mine", str(table), "--support", "1"],
        ["run", str(scenario), "--out", f"{tmp_path}/\udcff"],
        ["walk", "sbm:2,4,1,1", "--out", f"{tmp_path}/\udcff"],
    )
    for command in commands:
        done = call(*command)
        assert done.returncode == 2, done.stderr
        assert "the name is not utf-8 text" in done.stderr.lower()
    with pytest.raises(OSError, match="the name is not UTF-8 text"):
        folder.write_table(tmp_path / "\udcff.parquet", pl.DataFrame())
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([table.name, scenario.name])
