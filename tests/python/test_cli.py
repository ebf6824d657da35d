"""The command line: what it prints and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from helpers import SMALL, until, written
from incast.cli.app import app
from incast.cli.exits import Exit
from incast.stop import REQUESTS, Interrupted

ROOT = Path(__file__).parents[2]
CHOICES = {"fast": {}, "slow": {"topology.host_link.rate": "1Gbps"}}


def call(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(each) for each in arguments])


def ran(folder: Path, content: Mapping[str, Any], *arguments: object) -> Result:
    return call("run", written(folder, content), "--out", folder / "out", "--no-report", *arguments)


def test_help_names_the_commands_and_exit_codes() -> None:
    found = call("--help")
    assert found.exit_code == Exit.OK
    for word in ("run", "validate", "schema", "report", "compare", "example", "diverge", "130"):
        assert word in found.output


@pytest.mark.parametrize("group", ["", "broadcast", "emu", "farmem", "show", "study"])
def test_a_list_of_commands_without_one_prints_its_help(group: str) -> None:
    found = call(*group.split())
    assert found.exit_code == Exit.USAGE
    assert found.stderr == call(*group.split(), "--help").stdout
    assert "Commands:" in found.stderr


def test_the_example_is_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(call("example").output)
    found = call("validate", tmp_path / "mine.yaml")
    assert found.exit_code == Exit.OK
    assert "is fine: 16 hosts, 1 switch, 16 links, 1 job, 0 faults; choices: drop, mark" in found.output


def test_examples_are_listed_and_written_with_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = json.loads(call("example", "--list", "--json").stdout)["examples"]
    assert set(listed) == {file.stem for file in (ROOT / "examples").glob("*.yaml")}
    rows = [line.split(maxsplit=1) for line in call("example", "--list").output.splitlines()]
    assert rows == [list(each) for each in listed.items()]
    found = call("example", "replay")
    assert found.output == "Written: replay.yaml, flows.csv, lab.clab.yml\nNext: incast run replay.yaml\n"
    assert call("validate", "replay.yaml").exit_code == Exit.OK
    again = call("example", "replay")
    assert again.exit_code == Exit.USAGE
    assert "error: replay.yaml is there already: nothing was written" in again.stderr
    unknown = call("example", "repla")
    assert unknown.exit_code == Exit.USAGE
    assert "Did you mean 'replay'?" in unknown.stderr


def test_validate_as_json(tmp_path: Path) -> None:
    found = call("validate", written(tmp_path, {**SMALL, "choices": CHOICES}), "--json")
    assert found.exit_code == Exit.OK
    assert json.loads(found.stdout)["choices"] == ["fast", "slow"]


def test_a_bad_scenario_ends_with_2_and_all_problems(tmp_path: Path) -> None:
    file = written(tmp_path, {**SMALL, "sede": 1, "until": 5})
    for command in (("validate",), ("run", "--out", tmp_path / "out")):
        found = call(*command, file)
        assert found.exit_code == Exit.USAGE
        assert f"error: {file}:13: until: " in found.stderr
        assert f"error: {file}:12: sede: 'sede' is not a field here. Did you mean 'seed'?" in found.stderr
    assert not (tmp_path / "out").exists()


def test_problems_as_json(tmp_path: Path) -> None:
    file = written(tmp_path, {**SMALL, "sede": 1})
    found = call("validate", file, "--json", "--set", "until=5")
    assert found.exit_code == Exit.USAGE
    first, second = json.loads(found.stdout)["problems"]
    assert (first["file"], first["line"], first["path"]) == ("--set until=5", None, "until")
    assert (second["file"], second["line"], second["path"]) == (str(file), 12, "sede")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "x.yaml", "--jobs", "0"], ["walk"], ["run", "none.yaml"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    assert call(*arguments).exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("5s", ""),
        ("0.5min", ""),
        ("5", ""),
        ("5x", '"x" is not a unit of time: allowed are ps, ns, us'),
        ("nan", '"nan" is not a time: expected a number that is not negative and a unit, like 10us'),
        ("1ms", "1ms: "),
        ("25h", "25h: "),
    ],
)
@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (["broadcast", "measure", "--to", "hosts", "--patience"], "1s to 24h"),
        (["broadcast", "send", "file", "--to", "hosts", "--patience"], "1s to 24h"),
        (["farmem", "allocate", "none.yaml", "--seconds"], "0.1s to 24h"),
    ],
)
def test_how_long_a_command_may_take_is_a_time(
    command: list[str], allowed: str, said: str, wrong: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A bare number is of seconds, as it always was."""
    monkeypatch.chdir(tmp_path)
    found = call(*command, said)
    assert found.exit_code == Exit.USAGE  # There are neither hosts nor a problem.
    if not wrong:
        assert command[-1] not in found.stderr
        assert re.search("hosts|none.yaml", found.stderr)
    else:
        assert f"error: {command[-1]}: {wrong}" in found.stderr
        assert not wrong.startswith(said) or f"{allowed} is allowed" in found.stderr


def test_a_folder_that_was_removed_is_said_where_paths_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run needs it only for paths that begin there."""
    file = written(tmp_path, SMALL)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    gone = "the folder where incast was started is gone: change to another one (cd)"
    assert call("run", file, "--out", tmp_path / "out", "--no-report").exit_code == Exit.OK
    for command in (
        ("run", file),
        ("validate", "x.yaml"),
        ("generate", "quest", "x"),
        ("walk", "sbm:2,9,1,1"),
    ):
        found = call(*command)
        assert found.exit_code in (Exit.USAGE, Exit.FAILED)
        assert found.stderr.endswith(f"error: {gone}\n"), command
    said = json.loads(call("run", file, "--json").stdout)
    assert said["problems"][-1]["message"] == gone


def test_a_run_ends_with_its_tables(tmp_path: Path) -> None:
    found = ran(tmp_path, SMALL)
    assert found.exit_code == Exit.OK, found.output
    for word in (
        "answers",
        "duration",
        "FCT p99",
        "goodput",
        "timeouts",
        "drops",
        f"Result: {tmp_path / 'out'}",
    ):
        assert word in found.output.replace("\n", "")


def test_jobs_that_do_not_fit_are_in_further_tables(tmp_path: Path) -> None:
    names = [f"requests-{number}" for number in range(17)]
    jobs = [{"name": name, "kind": "incast", "receiver": "host0", "size": "20kB"} for name in names]
    found = ran(tmp_path, SMALL | {"jobs": jobs})
    heads = [line.split() for line in found.output.splitlines() if "requests-" in line]
    assert [name for head in heads for name in head] == names
    assert len(heads) > 1
    assert found.output.count("duration") == len(heads)


def test_a_fingerprint_is_printed(tmp_path: Path) -> None:
    def printed(*arguments: object) -> str:
        found = ran(tmp_path, SMALL, "--force", *arguments)
        (line,) = [line for line in found.output.splitlines() if line.startswith("Fingerprint: ")]
        return line.removeprefix("Fingerprint: ")

    alone = printed()
    assert alone == json.loads((tmp_path / "out" / "summary.json").read_text())["fingerprint"]
    assert printed() == alone
    assert printed("--set", "jobs.answers.size=30kB") != alone
    several = printed("--seeds", 2)
    assert several != alone
    assert printed("--seeds", 2, "-j", 1) == several


def test_a_run_as_json(tmp_path: Path) -> None:
    found = ran(tmp_path, SMALL, "--json", "--seed", 5)
    (run,) = json.loads(found.stdout)["runs"]
    assert run["seed"] == 5
    assert run["jobs"]["answers"]["bytes"] == 60_000


def test_choices_end_with_a_table_that_marks_the_best(tmp_path: Path) -> None:
    found = ran(tmp_path, {**SMALL, "choices": CHOICES})
    assert "★ fast" in found.output
    assert found.stdout.lstrip().startswith("fast finishes all jobs first, after ")
    again = ran(tmp_path, {**SMALL, "choices": CHOICES}, "--force", "--choice", "slow", "--set", "seed=3")
    assert again.exit_code == Exit.OK
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["choice"] == "slow"


def test_giving_up_early_is_not_best(tmp_path: Path) -> None:
    crash = {"at": "10us", "crash": "host1", "for": "1us"}
    choices: dict[str, Any] = {"whole": {}, "lossy": {"faults": [crash]}}
    job = {"name": "copy", "kind": "bulk", "pairs": [["host0", "host1"]], "size": "1MB"}
    found = ran(tmp_path, {**SMALL, "jobs": [job], "choices": choices})
    assert "★ whole" in found.output
    (row,) = [line for line in found.output.splitlines() if "unfinished flows" in line]
    assert row.split()[-2:] == ["0", "1"]
    alone = ran(tmp_path, {**SMALL, "jobs": [job], "choices": choices}, "--force", "--choice", "lossy")
    assert "unfinished flows" in alone.output
    alone = ran(tmp_path, {**SMALL, "jobs": [job], "choices": choices}, "--force", "--choice", "whole")
    assert "unfinished flows" not in alone.output


def test_the_report_is_written(tmp_path: Path) -> None:
    found = call("run", written(tmp_path, SMALL), "--out", tmp_path / "out")
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in found.output
    (tmp_path / "out" / "report.html").unlink()
    again = call("report", tmp_path / "out", "--json")
    assert json.loads(again.stdout) == {"report": str(tmp_path / "out" / "report.html")}
    assert (tmp_path / "out" / "report.html").stat().st_size > 1000


@pytest.mark.parametrize("choices", [{}, CHOICES])
@pytest.mark.parametrize("place", ["/proc/x", "scenario.yaml/x", "x" * 300], ids=["no", "file", "long"])
def test_a_folder_that_cannot_be_made_is_said_before_the_run(
    tmp_path: Path, place: str, choices: dict[str, Any]
) -> None:
    file = written(tmp_path, {**SMALL, "choices": choices})
    found = call("run", file, "--out", tmp_path / place)
    assert found.exit_code == Exit.USAGE
    assert f"error: {tmp_path / place} can't be written: " in found.stderr


def test_a_report_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    assert ran(tmp_path, SMALL).exit_code == Exit.OK
    (tmp_path / "out" / "report.html").mkdir()
    found = call("report", tmp_path / "out")
    assert found.exit_code == Exit.FAILED
    assert found.stderr.startswith("error: ")
    assert "is a directory" in found.stderr


def test_a_threshold_that_does_not_hold_ends_with_3(tmp_path: Path) -> None:
    found = ran(tmp_path, {**SMALL, "thresholds": ["jobs.answers.duration < 1ns", "ports.drops == 0"]})
    assert found.exit_code == Exit.THRESHOLD
    assert "✗ threshold does not hold: jobs.answers.duration < 1ns: it is " in found.output
    assert "✓ 1 threshold holds" in found.output


def test_no_result_ends_with_2(tmp_path: Path) -> None:
    for arguments in (["report", tmp_path], ["compare", tmp_path, tmp_path]):
        found = call(*arguments)
        assert found.exit_code == Exit.USAGE
        assert "is not a result" in found.stderr


def test_two_results_are_compared(tmp_path: Path) -> None:
    ran(tmp_path, {**SMALL, "choices": CHOICES}, "--seeds", 3)
    sides = (tmp_path / "out" / "fast" / "seed-1", tmp_path / "out" / "slow" / "seed-1")
    found = call("compare", *sides, "--json")
    differences = {each["figure"]: each for each in json.loads(found.stdout)["differences"]}
    assert differences["done_ps"]["contrast"]["change"] > 1
    table = call("compare", *sides)
    assert table.exit_code == Exit.OK
    assert "done " in table.output
    both = call("compare", tmp_path / "out" / "fast", tmp_path / "out" / "slow")
    assert "95 %" in both.output.replace("\n", " ")


def test_diverge_names_the_first_event_that_differs(tmp_path: Path) -> None:
    same = call("diverge", written(tmp_path, SMALL))
    assert same.exit_code == Exit.OK
    assert "equal" in same.output
    other = call("diverge", written(tmp_path, SMALL), "--set", "jobs.answers.size=21kB", "--json")
    assert other.exit_code == Exit.DIFFERENT
    found = json.loads(other.stdout)
    assert found["equal"] is False
    assert found["first"] != found["second"]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_to_end_gives_130_and_keeps_what_was_measured(
    tmp_path: Path, request_: signal.Signals
) -> None:
    background = {"name": "bg", "kind": "background", "rate": "9Gbps"}
    file = written(tmp_path, {**SMALL, "jobs": [background], "until": "10min", "choices": {"a": {}, "b": {}}})
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        marker = tmp_path / "out" / "a" / "incast-run.json"
        until(marker.exists, process)
        os.kill(process.pid, request_)
        printed, said = process.communicate(timeout=240)
    assert process.returncode == Exit.INTERRUPTED, said
    assert "Interrupted" in said
    assert "Result:" in printed
    for choice in ("a", "b"):
        summary = json.loads((tmp_path / "out" / choice / "summary.json").read_text())
        assert summary["end"] == "interrupted"


@pytest.mark.parametrize("command", [["schema"], ["examples", "--json"]])
def test_an_output_that_is_full_is_told(command: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "incast", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        4,
        "error: the output can't be written: no space left on device\n",
    )


def test_a_request_to_end_of_which_a_library_makes_an_error_ends_quietly() -> None:
    code = (
        "import signal, incast.cli.app as place\n"
        "from incast.cli import main\n"
        "def app():\n"
        "    try:\n        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt as error:\n        raise ValueError('a serializer failed') from error\n"
        "place.app = app\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("incast.walks.run.run", ["walk", "sbm:2,9,0.5,0.1"]),
        ("incast.cli.mine.run", ["mine", "-", "--support", "1%"]),
    ],
)
@pytest.mark.parametrize("kept", ["", "the same command goes on."])
def test_a_command_without_a_result_yet_says_in_json_that_it_was_interrupted(
    run: str, words: list[str], kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise Interrupted(kept)

    monkeypatch.setattr(run, interrupted)
    done = call(*words, "--json")
    assert done.exit_code == Exit.INTERRUPTED
    message = f"Interrupted: {kept}" if kept else "Interrupted."
    assert json.loads(done.stdout) == {"ok": False, "interrupted": True, "problems": [{"message": message}]}
    assert message in call(*words).stderr
