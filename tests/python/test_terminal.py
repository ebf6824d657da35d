"""The terminal around a run: how much is said, progress without a terminal, colours, folders, `--watch`."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from helpers import SMALL, until, written
from incast.cli import lines
from incast.cli.app import app
from incast.cli.broadcast_view import View as BroadcastView
from incast.cli.exits import Exit
from incast.cli.progress import Bars
from incast.cli.walk_view import View as WalkView

CHOICES: dict[str, Any] = {"fast": {}, "slow": {"topology.host_link.rate": "1Gbps"}}
TOLD = {"fraction": 0.5, "sim_time_ps": 2 * 10**12, "events": 7}


def call(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(each) for each in arguments])


def ran(folder: Path, content: dict[str, Any], *arguments: object) -> Result:
    return call("run", written(folder, content), "--out", folder / "out", "--no-report", *arguments)


@pytest.fixture
def off_terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A console that is a file, with a line every few milliseconds in place of ten seconds."""
    assert lines.EVERY_S == 10
    monkeypatch.setattr(lines, "EVERY_S", 0.01)
    return Console(file=io.StringIO(), width=200)


def said(console: Console, start: str) -> str:
    """The first line that starts so, once it is there: lines of earlier moments may come before it."""
    file = console.file
    assert isinstance(file, io.StringIO)
    until(lambda: any(line.startswith(start) for line in file.getvalue().splitlines()), limit_s=20)
    return next(line for line in file.getvalue().splitlines() if line.startswith(start))


def test_runs_say_how_far_they_are_where_there_is_no_terminal(off_terminal: Console) -> None:
    with Bars("demo", off_terminal, ["deep", "shallow", "ecn"]) as bars:
        bars.watch(0, TOLD)
        bars.ended(0)
        bars.watch(2, TOLD)
        time.sleep(0.06)
        bars.watch(2, TOLD)
        assert "\x1b" not in said(off_terminal, "demo: 50 %, 1 of 3 runs; ecn: 50 %, 2 s simulated")


def test_walks_and_broadcasts_say_it_too(off_terminal: Console) -> None:
    with WalkView(off_terminal) as walks:
        walks.begin(10, None)
        walks._began -= 60  # it has taken a minute
        walks.more(4)
        said(off_terminal, "walks: 40 %, ")
    states = {
        1: {"bytes": 100, "total": 100, "named": "done", "failed": None, "best": None, "planned": 0},
        2: {"bytes": 25, "total": 100, "named": "receiving", "failed": None, "best": None, "planned": 0},
    }
    with BroadcastView(off_terminal, ["one", "two", "three"]) as sent:
        sent.see(states)
        said(off_terminal, "1 of 3 receivers done; three 0 % at 0 b/s; two 25 % at 0 b/s")


def test_quiet_prints_only_what_is_wrong(tmp_path: Path) -> None:
    found = ran(tmp_path, SMALL, "--quiet")
    assert (found.exit_code, found.output) == (Exit.OK, "")
    wrong = ran(tmp_path, {**SMALL, "thresholds": ["jobs.answers.duration < 1ns"]}, "--quiet")
    assert wrong.exit_code == Exit.THRESHOLD
    assert wrong.stdout.startswith("✗ threshold does not hold: jobs.answers.duration < 1ns: it is ")
    assert len(wrong.output.splitlines()) == 1
    assert json.loads(ran(tmp_path, SMALL, "--quiet", "--json").stdout)["incomplete"] == []


def test_verbose_says_how_each_run_ended(tmp_path: Path) -> None:
    found = ran(tmp_path, {**SMALL, "choices": CHOICES}, "--verbose", "--seeds", 2)
    told = [line.partition(",")[0] for line in found.stderr.splitlines() if " seed " in line]
    assert sorted(told) == [f"{name} seed {seed}: finished" for name in CHOICES for seed in (1, 2)]
    assert " simulated, " in found.stderr
    assert "Result: " in found.stdout
    assert call("run", "a.yaml", "-q", "-v").exit_code == Exit.USAGE


def test_a_folder_that_holds_a_result_gets_a_number(tmp_path: Path) -> None:
    def place(*arguments: object) -> str:
        found = ran(tmp_path, SMALL, *arguments)
        assert found.exit_code == Exit.OK, found.output
        (line,) = [line for line in found.output.splitlines() if line.startswith("Result: ")]
        return line.rpartition("/")[2]

    assert [place() for _ in range(3)] == ["out", "out-2", "out-3"]
    assert place("--force") == "out"
    (tmp_path / "out-4").mkdir()
    (tmp_path / "out-4" / "thesis.tex").touch()
    refused = ran(tmp_path, SMALL)
    assert (refused.exit_code, "isn't a result of incast" in refused.stderr) == (Exit.USAGE, True)


def test_results_of_walks_and_of_mining_get_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.dat").write_text("1 2\n1 2\n")
    for _ in range(2):
        assert call("mine", "a.dat", "--support", "50%").exit_code == Exit.OK
        assert call("walk", "sbm:2,8,1,1").exit_code == Exit.OK
    found = {each.name for each in (tmp_path / "results").iterdir()}
    assert found == {"mine-a", "mine-a-2", "walk-ppr", "walk-ppr-2"}


def running(file: Path, out: Path, *options: str) -> list[str | Path]:
    """A run as a program of its own."""
    return [sys.executable, "-m", "incast", "run", file, "--out", out, "--no-report", *options]


def test_watch_runs_again_when_the_file_changes(tmp_path: Path) -> None:
    file, out = written(tmp_path, SMALL), tmp_path / "out"
    command = running(file, out, "--watch", "--quiet")
    log = tmp_path / "log"

    def waits() -> int:
        return log.read_text().count("Waiting until")

    def size() -> int:
        return int(json.loads((out / "summary.json").read_text())["jobs"]["answers"]["bytes"])

    with log.open("w") as stream, subprocess.Popen(command, stderr=stream) as process:
        until(lambda: waits() == 1, process)
        assert size() == 60_000
        file.write_text(file.read_text().replace("20kB", "10 elephants"))
        until(lambda: waits() == 2, process)
        assert "elephants" in log.read_text()
        other = written(tmp_path, {**SMALL, "jobs": [{**SMALL["jobs"][0], "size": "30kB"}]}, "other.yaml")
        other.replace(file)  # as editors do
        until(lambda: waits() == 3, process)
        assert size() == 90_000
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == Exit.INTERRUPTED
    assert [each.name for each in tmp_path.glob("out*")] == ["out"]


def test_watch_refuses_a_file_that_is_not_there() -> None:
    found = call("run", "none.yaml", "--watch")
    assert found.exit_code == Exit.USAGE
    assert "none.yaml" in found.stderr


@pytest.mark.parametrize("no_color", [{}, {"NO_COLOR": "1"}], ids=["colours", "NO_COLOR"])
def test_no_color_is_heeded(tmp_path: Path, no_color: dict[str, str]) -> None:
    file = written(tmp_path, {**SMALL, "choices": CHOICES})
    command = running(file, tmp_path / "out")
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    ours, theirs = pty.openpty()
    try:
        environment = {**kept, "TERM": "xterm-256color", **no_color}
        with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
            os.close(theirs)
            shown = b""
            try:
                while part := os.read(ours, 65536):
                    shown += part
            except OSError:
                pass  # Linux's end of a terminal: EIO.
        assert process.returncode == Exit.OK, shown
    finally:
        os.close(ours)
    coloured = any(f"\x1b[{style}3{n}m".encode() in shown for style in ("", "1;") for n in range(8))
    assert coloured is not bool(no_color)
