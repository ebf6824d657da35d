"""What people and files of others may give to a command: refused in words, with the place, and without harm."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import incast
from helpers import SMALL, only, refused, written
from incast import peers
from incast.broadcast import hosts
from incast.cli import main
from incast.cli.plain import plain
from incast.cli.progress import Bars
from incast.errors import Problem, ResultError, ScenarioError
from incast.lab import graphread
from incast.result import Result
from incast.source import Source
from incast.stop import REQUESTS
from incast.study import claims, published
from incast.walks import partition
from incast.walks import read as walks_read
from studies import NO_TESTS, study
from studies import SMALL as STUDY
from studies import written as write_study

BULK = {"name": "b", "kind": "bulk", "pairs": [["host0", "host1"]], "size": "1kB"}


@dataclass(frozen=True)
class Said:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments: object) -> Said:
    """The command as typed, in this process: starting one takes longer than most of these answers."""
    out, err = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in REQUESTS}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["incast", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return Said(code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        ({"switch": {"buffer": {"kind": "shared", "size": "1kB"}}}, "switch.buffer", "does not fit"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "30kB"},
                    "queue": {"kind": "step", "threshold": "40kB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "30kB"},
                    "queue": {"kind": "red", "min": "40kB", "max": "90kB"},
                }
            },
            "switch.queue.min",
            "above the buffer",
        ),
        ({"switch": {"buffer": {"kind": "static", "limit": "500B"}}}, "switch.buffer", "does not fit"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "100 packets"},
                    "queue": {"kind": "step", "threshold": "2MB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "30kB"},
                    "queue": {"kind": "step", "threshold": "3000 packets"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "1MB", "alpha": 0.1},
                    "queue": {"kind": "step", "threshold": "200kB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "10MB"},
                    "scheduler": {"kind": "ets"},
                    "pfc": {"headroom": "100kB", "xoff": {"kind": "static", "limit": "9.9MB"}},
                }
            },
            "switch.pfc.xoff.limit",
            "no pause would come in time",
        ),
        (
            {
                "topology": {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "1Mbps"}},
                "jobs": [{**BULK, "size": "2TB"}],
            },
            "jobs[0]",
            "longer than the longest run",
        ),
        ({"measure": {"interval": "1ps"}}, "measure.interval", "at least 10ns"),
        ({"thresholds": ["ports.drops < -5"]}, "thresholds[0]", "never below 0"),
        ({"thresholds": ["done < 0s"]}, "thresholds[0]", "never below 0"),
        ({"jobs": [{**BULK, "pairs": [["host0", "host0"]]}]}, "jobs[0].pairs[0]", "sends to itself"),
        (
            {
                "jobs": [
                    {
                        "name": "r",
                        "kind": "replay",
                        "flows": [{"from": "host1", "to": "host1", "size": "1kB"}],
                    }
                ]
            },
            "jobs[0].flows[0]",
            "host1 sends to itself",
        ),
        (
            {"jobs": [{**SMALL["jobs"][0], "senders": ["host1", "host1", "host1"]}]},
            "jobs[0].senders",
            "listed 3 times",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(
    tmp_path: Path, more: dict[str, Any], path: str, said: str
) -> None:
    problem = only(refused_by_the_core(tmp_path, {**SMALL, **more}))
    assert said in problem.message
    assert problem.path == path


def refused_by_the_core(folder: Path, content: dict[str, Any]) -> list[Any]:
    """Python refuses, or the core when it builds."""
    file = written(folder, content)
    found = call("run", file, "--out", folder / "out", "--no-report", "--json")
    assert found.returncode == 2, found.stdout + found.stderr
    assert not (folder / "out").exists() or not any((folder / "out").glob("jobs"))
    listed = json.loads(found.stdout)["problems"]
    return [Problem(each["message"], each.get("path") or "") for each in listed]


def test_a_trace_with_a_column_twice_or_a_flow_to_itself_is_refused(tmp_path: Path) -> None:
    job = {"name": "r", "kind": "replay", "trace": "flows.csv"}
    (tmp_path / "flows.csv").write_text("at_us,from,to,bytes,bytes\n0,host0,host1,1,2\n")
    assert "'bytes' is there 2 times" in only(refused(tmp_path, {**SMALL, "jobs": [job]})).message
    (tmp_path / "flows.csv").write_text("at_us,from,to,bytes\n0,host0,host1,1\n1,host2,host2,1\n")
    problem = only(refused(tmp_path, {**SMALL, "jobs": [job]}))
    assert (problem.line, problem.message) == (3, "host2 sends to itself: two hosts are needed")


@pytest.mark.parametrize(
    "tag", ["!secret 5", "!!python/object:os.system 5", "!!binary aGk=", "!include x.yaml"]
)
def test_tags_of_yaml_are_refused(tmp_path: Path, tag: str) -> None:
    problem = only(refused(tmp_path, f"name: small\nseed: {tag}\n"))
    assert "is a tag, which means nothing here" in problem.message
    assert problem.line == 2


def test_a_path_of_thousands_of_fields_is_refused(tmp_path: Path) -> None:
    problem = only(refused(tmp_path, SMALL, ".".join(["a"] * 5001) + "=1"))
    assert problem.message == "a path of 5001 fields: at most 40 are allowed"


def test_devices_without_end_are_refused() -> None:
    with pytest.raises(ScenarioError, match="the file is too large: at most"):
        Source.from_file(Path("/dev/zero"))


def test_published_figures_that_are_no_text_or_name_a_column_twice_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_bytes(b"cell,time\na,1\nb\xff,2\n")
    with pytest.raises(ScenarioError, match=r"published.csv:3: not UTF-8 text"):
        published.read(file)
    file.write_text('cell,time\n"a,1\nb,2\n')
    with pytest.raises(ScenarioError, match=r"published.csv:2: not a row"):
        published.read(file)
    file.write_text("cell,time,time\na,1,2\n")
    with pytest.raises(ScenarioError, match=r"published.csv:1: has the column 'time' 2 times"):
        published.read(file)


def test_a_study_with_such_figures_answers_in_words(tmp_path: Path) -> None:
    study(tmp_path / "study", STUDY, NO_TESTS)
    file = tmp_path / "study" / "published.csv"
    file.write_bytes(file.read_bytes() + b"\xff,\xff\n")
    found = call("study", "check", tmp_path / "study")
    assert found.returncode == 2
    assert "not UTF-8 text" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("content", ["{}", '{"choices": [1]}', '{"seed": "x"}', "[]", '{"choices": {}}'])
def test_a_summary_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(ResultError, match=r"summary.json: not a summary"):
        Result.open(tmp_path)
    found = call("compare", tmp_path, tmp_path)
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


def test_a_result_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"seed": 1, "jobs": {}}')
    (tmp_path / "incast-run.json").write_text('{"format": 2, "written_by": "incast 9.0"}')
    for command in ("report", "trace"):
        found = call(command, tmp_path)
        assert found.returncode == 2
        assert "was written by incast 9.0 in format 2: this version reads up to 1" in found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--json"],
        ["run", "x.yaml", "--seeds", "many", "--json"],
        ["compare", "a", "--json"],
        ["walk", "--json", "--no-such-option"],
        ["study", "run", "--json", "--jobs", "0", "x"],
    ],
)
def test_json_is_answered_in_json_even_where_the_command_line_is_wrong(arguments: list[str]) -> None:
    found = call(*arguments)
    assert found.returncode == 2
    answer = json.loads(found.stdout)
    assert answer["ok"] is False
    assert answer["problems"][0]["message"]
    assert "╭" not in found.stdout + found.stderr


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


def test_generate_makes_no_folders(tmp_path: Path) -> None:
    found = call("generate", "quest", tmp_path / "a" / "b" / "rows.dat", "--transactions", "10")
    assert found.returncode == 2
    assert f"{tmp_path / 'a' / 'b'} is no folder" in found.stderr
    assert not list(tmp_path.iterdir())


def test_messages_name_fields_and_nothing_of_the_machinery(tmp_path: Path) -> None:
    program = {"name": "p", "memory": "1GB", "faults": 1, "time": "1s", "latency": "5us"}
    node = {"name": "n", "memory": "1GB", "distance": [5], "bandwidth": "1Gbps"}
    file = written(tmp_path, {"programs": [program], "nodes": [node]})
    found = call("farmem", "allocate", file)
    assert found.returncode == 2
    assert "nodes[0].distance: " in found.stderr
    assert not any(word in found.stderr for word in ("function-", "_length", "dict[", "Errno"))
    write_study(tmp_path / "study", {**STUDY, "base": [1]}, NO_TESTS)
    found = call("study", "check", tmp_path / "study")
    assert found.returncode == 2
    assert not any(word in found.stderr for word in ("function-", "dict[", "str,any", "Errno", "Traceback"))
    (tmp_path / "graph.csv").mkdir()
    for command in (
        ["walk", tmp_path / "graph.csv"],
        ["mine", tmp_path, "--support", "0.5"],
        ["run", tmp_path],
    ):
        found = call(*command)
        assert found.returncode in (2, 4)
        assert "Errno" not in found.stderr
        assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    "read",
    [
        lambda file: graphread.read(file.with_suffix(".json")),
        lambda file: graphread.read(file.with_suffix(".csv")),
        lambda file: graphread.read(file.with_suffix(".graphml")),
        lambda file: claims.read(file),
        lambda file: hosts.read(file),
        lambda file: peers.read_key(file),
        lambda file: partition.read(file, 10, 2),
    ],
)
def test_every_reader_of_short_files_ends(tmp_path: Path, read: Callable[[Path], object]) -> None:
    for suffix in ("", ".json", ".csv", ".graphml"):
        (tmp_path / f"zeros{suffix}").symlink_to("/dev/zero")
    with pytest.raises((ScenarioError, graphread.UnreadableError), match="the file is too large: at most"):
        read(tmp_path / "zeros")


def test_a_column_twice_is_refused_in_every_table(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("transaction,item,item\n1,2,3\n")
    with pytest.raises(ScenarioError, match=r"a\.csv:1: the column 'item' is there more than once"):
        incast.mine(file, 0.5)
    file.write_text("source,target,target\n1,2,3\n")
    with pytest.raises(ScenarioError, match=r"a\.csv:1: the column 'target' is there more than once"):
        walks_read.read(file, weighted=False, directed=None, seed=1)
    file.write_text("a,b,b\ns0,s1,s2\n")
    with pytest.raises(graphread.UnreadableError, match="the column 'b' is there 2 times"):
        graphread.read(file)


def test_names_in_bars_are_neither_markup_nor_commands() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    with Bars(["[red]a[/red]", "b\x1b[2J"], console):
        pass
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]a[/red]" in text
    assert "b\\x1b[2J" in text
