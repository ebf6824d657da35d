"""`incast new`: four questions, or options that answer them, and the scenario that comes of it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from helpers import variants
from incast.cli.app import app
from incast.cli.exits import Exit
from incast.new import QUESTIONS, scenario


def call(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_are_four_questions_and_every_answer_leads_to_a_scenario(tmp_path: Path) -> None:
    assert len(QUESTIONS) == 4
    _, _, job, compare = QUESTIONS
    for kind in job.allowed:
        for what in compare.allowed:
            text = scenario("x", {"hosts": "3", "rate": "1Gbps", "job": kind, "compare": what})
            made = variants(tmp_path, text)
            assert len(made) == (1 if what == "nothing" else len(made)) > 0
            assert len(made[0].resolved.cluster.hosts) == 3
            assert made[0].resolved.spec["jobs"][0]["work"]["kind"] == kind


def test_options_answer_the_questions() -> None:
    found = call("new", "mine", "--hosts", "8", "--rate", "25Gbps", "--compare", "buffers")
    assert (found.exit_code, found.output) == (Exit.OK, "Written: mine.yaml\nNext: incast run mine.yaml\n")
    told = json.loads(call("validate", "mine.yaml", "--json").stdout)
    assert (told["name"], told["hosts"], told["choices"]) == ("mine", 8, ["shallow", "deep"])
    assert "rate: 25Gbps" in Path("mine.yaml").read_text()
    assert call("run", "mine.yaml", "--no-report").exit_code == Exit.OK
    again = call("new", "mine")
    assert again.exit_code == Exit.USAGE
    assert again.stderr == "error: mine.yaml is there already: nothing was written\n"


@pytest.mark.parametrize(
    ("option", "answer", "message"),
    [
        ("--hosts", "ten", "expected a whole number, not ten"),
        ("--hosts", "2", "at least 3 hosts are needed"),
        ("--hosts", "9, x: 1", "expected a whole number"),
        ("--rate", "10", "has no unit"),
        ("--job", "incats", "Did you mean 'incast'? Allowed: incast, all-to-all"),
        ("--compare", "everything", "Allowed: marks, buffers, transports, nothing"),
    ],
)
def test_a_wrong_answer_is_refused_as_validate_does(option: str, answer: str, message: str) -> None:
    found = call("new", "mine", option, answer)
    assert found.exit_code == Exit.USAGE
    assert found.stderr.startswith(f"error: {option} {answer}: ")
    assert message in found.stderr
    assert not list(Path().iterdir())


def test_a_name_that_is_no_file_name_is_refused() -> None:
    found = call("new", "../mine")
    assert found.exit_code == Exit.USAGE
    assert "error: NAME: '../mine' is not a name" in found.stderr


def test_a_terminal_is_asked_again_after_a_wrong_answer(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "incast", "new", "mine", "--rate", "40Gbps"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path) as process:
        os.close(theirs)
        shown = b""

        def sees(words: str, answer: str | None = None) -> None:
            nonlocal shown
            while words.encode() not in shown:
                shown += os.read(ours, 4096)
            shown = shown.partition(words.encode())[2]
            if answer is not None:
                os.write(ours, f"{answer}\n".encode())

        sees("How many hosts are on the switch? [16]:", "many")
        sees("expected a whole number, not many")
        sees("How many hosts are on the switch? [16]:", "6")
        sees("shuffle) [incast]:", "rpc")
        sees("What do you want to compare? (marks, buffers, transports, nothing) [marks]:", "")
        sees("Next: incast run mine.yaml")
        assert process.wait(timeout=60) == Exit.OK
    os.close(ours)
    text = (tmp_path / "mine.yaml").read_text()
    for words in ("hosts: 6", "rate: 40Gbps", "kind: rpc", "mark:"):
        assert words in text
