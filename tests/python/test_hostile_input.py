"""What people and files of others may give to a command: refused in words, with the place, and without harm."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from testkit.study import NO_TESTS

import farmem_traces as traces
import incast
from helpers import SMALL, only, refused, written
from incast import folder, peers, report, stored
from incast.broadcast import hosts
from incast.cli import main
from incast.cli.plain import plain
from incast.cli.progress import Bars
from incast.cli.show import print_json
from incast.errors import OutputError, Problem, ResultError, ScenarioError
from incast.farmem import grid
from incast.farmem.run import ALL, Memory
from incast.farmem.traced import Traced
from incast.lab import graphread
from incast.mining import quest
from incast.quantity import parse_depth
from incast.report import load as report_load
from incast.result import Result
from incast.stop import REQUESTS
from incast.study import claims, published
from incast.variants import make_variants
from incast.walks import changes, partition
from incast.walks import read as walks_read
from incast.written import WrittenScenario
from studies import SMALL as STUDY
from studies import study
from studies import written as write_study

INCAST = {"name": "i", "kind": "incast", "receiver": "host0", "size": "1kB"}
REPLAY = {"name": "r", "kind": "replay"}
FLOW = {"at": "0s", "from": "host0", "to": "host1", "size": "1kB"}
SLOW = {"topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "1Mbps"}}}
RPC = {
    "name": "r",
    "kind": "rpc",
    "clients": "host0",
    "servers": "host[1-2]",
    "arrivals": {"kind": "closed"},
    "reply": "1MB",
}
SHUFFLE = {
    "name": "s",
    "kind": "shuffle",
    "master": "host0",
    "compute": ["host1"],
    "data": ["host2"],
    "input_replication": 1,
}
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
        (
            {"switch": {"buffer": {"kind": "shared", "size": "100kB", "cell": "1MB"}}},
            "switch.buffer",
            "takes 1000000 B",
        ),
        (
            {"switch": {"buffer": {"kind": "shared", "size": "100kB", "alpha": 0.001}}},
            "switch.buffer",
            "an empty queue may hold 100 B at most",
        ),
        ({"switch": {"buffer": {"kind": "cells", "limit": 3}}}, "switch.buffer.limit", "is 32 cells"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "100kB"},
                    "queue": {"kind": "red", "min": "40kB", "max": "190kB"},
                }
            },
            "switch.queue.max",
            "above the buffer",
        ),
        ({"jobs": [{**INCAST, "start": "5000h"}]}, "jobs[0].start", "beyond the longest run (106 days)"),
        (
            {"faults": [{"at": "5000h", "crash": "host1"}]},
            "faults[0].at",
            "beyond the longest run (106 days)",
        ),
        (
            {"jobs": [{**REPLAY, "flows": [{**FLOW, "at": "9999999s"}]}]},
            "jobs[0].flows[0].at",
            "beyond the longest run (106 days)",
        ),
        (
            {"jobs": [{**REPLAY, "start": "2000h", "flows": [FLOW, {**FLOW, "at": "2000h"}]}]},
            "jobs[0].flows[1].at",
            "beyond the longest run (106 days)",
        ),
        ({**SLOW, "jobs": [{**INCAST, "size": "1GB", "rounds": 100_000}]}, "jobs[0]", "than the longest run"),
        (
            {**SLOW, "jobs": [{"name": "b", "kind": "broadcast", "source": "host0", "size": "2TB"}]},
            "jobs[0]",
            "2000000000000 bytes at host0 take longer than the longest run (106 days) at 1Mbps: send less",
        ),
        ({**SLOW, "jobs": [{**RPC, "calls": 10_000_000}]}, "jobs[0]", "than the longest run (106 days)"),
        ({**SLOW, "jobs": [{**SHUFFLE, "size": "4TB"}]}, "jobs[0]", "at host1 take longer than the longest"),
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
        WrittenScenario.from_file(Path("/dev/zero"))


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


@pytest.mark.parametrize("marker", folder.MARKERS)
def test_a_folder_of_any_form_of_a_later_version_is_refused(tmp_path: Path, marker: str) -> None:
    (tmp_path / "summary.json").write_text('{"seed": 1, "jobs": {}}')
    (tmp_path / marker).write_text('{"format": 99, "written_by": "incast 9.0"}')
    for read in (Result.open, report.write, report_load.load, folder.check_format):
        with pytest.raises(ResultError, match=r"by incast 9.0 in format 99: this version reads up to 1"):
            read(tmp_path)


def test_a_study_and_a_grid_go_on_with_no_folder_of_a_later_version(tmp_path: Path) -> None:
    study(tmp_path / "study", STUDY, NO_TESTS)
    for name in ("study", "farmem"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"incast-{name}.json").write_text('{"format": 99}')
    found = call("study", "run", tmp_path / "study", "--out", tmp_path / "study")
    assert "in format 99" in found.stderr
    asked = grid.Request(("true",), (), (), (), Memory(ALL, 0, 0))
    with pytest.raises(ResultError, match="in format 99"):
        grid.MeasuredGrid.open(asked, tmp_path / "farmem")


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
        lambda file: Traced.read(file),
        lambda file: changes.read(file, walks_read.read(_edges(file), weighted=False, directed=None, seed=1)),
        lambda file: published.read(file),
        lambda file: stored.read_run(file),
        lambda file: stored.read_walks(file),
    ],
)
def test_every_reader_of_short_files_ends(tmp_path: Path, read: Callable[[Path], object]) -> None:
    for suffix in ("", ".json", ".csv", ".graphml"):
        (tmp_path / f"zeros{suffix}").symlink_to("/dev/zero")
    refused = (ScenarioError, ResultError, graphread.UnreadableError)
    with bounded_memory(), pytest.raises(refused, match="the file is too large: at most"):
        read(tmp_path / "zeros")


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "edges.txt").open("wb") as edges:
        edges.truncate(8_000_000_000)
    with bounded_memory(), pytest.raises(ScenarioError, match="a line is too long: at most"):
        walks_read.read(tmp_path / "edges.txt", weighted=False, directed=None, seed=1)


def _edges(file: Path) -> Path:
    edges = file.with_name("edges.csv")
    edges.write_text("source,target\na,b\n")
    return edges


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Lets a reader that goes on fail before the machine does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 3_000_000_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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
    told = {"fraction": 0.5, "sim_time_ps": 1, "events": 1}
    with Bars("c", console, ["[red]a[/red]", "b\x1b[2J"]) as bars:
        bars.watch(0, told)
        bars.watch(1, told)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]a[/red]" in text
    assert "b\\x1b[2J" in text


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


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("incomplete", 4, "incomplete: expected a list, not 4"),
        ("incomplete", [4], r"incomplete\[0\]: expected a mapping, not 4"),
        ("incomplete", ["x"], r"incomplete\[0\]: expected a mapping, not x"),
        ("jobs", {"a": {"kind": 1}}, "jobs.a.kind: expected a text, not 1"),
        ("jobs", {"a": {"kind": "bulk", "bytes": "x"}}, "jobs.a.bytes: expected a number, not x"),
        ("thresholds", [{"text": "a"}], r"thresholds\[0\].figure: is required"),
        ("seed", 2**64, "seed: .* is not allowed"),
        ("done_ps", 1e300, "done_ps: expected a number"),
    ],
)
def test_a_summary_of_other_types_is_refused(tmp_path: Path, field: str, value: object, message: str) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({"seed": 1, field: value}))
    with pytest.raises(ResultError, match=f"summary.json: not a summary: {message}"):
        Result.open(tmp_path)
    for command in (["compare", tmp_path, tmp_path], ["report", tmp_path]):
        found = call(*command)
        assert (found.returncode, "Traceback" in found.stderr) == (2, False)


def test_a_list_of_runs_that_lists_itself_is_refused(tmp_path: Path) -> None:
    choices = [{"name": "a", "folder": ".", "runs": ["."]}]
    (tmp_path / "summary.json").write_text(json.dumps({"choices": choices}))
    with pytest.raises(ResultError, match=r"\. is no run: it lists runs itself"):
        _ = Result.open(tmp_path).runs


def test_hosts_with_other_names_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "hosts.txt"
    for line in ("evil\x1b[2J one", "-oProxyCommand=x one", f"{'a' * 300} one"):
        file.write_text(line)
        with pytest.raises(ScenarioError, match="is no host: HOST"):
            hosts.read(file)
    file.write_text("one evil\x1b[2J")
    with pytest.raises(ScenarioError, match="is no name: at most 255 printable"):
        hosts.read(file)
    for line in (f"one:{'7' * 5000}", f"{'a' * 100}:7000"):
        file.write_text(line)
        with pytest.raises(ScenarioError, match=r"is no port|is an unknown host"):
            hosts.read(file)


NINES = "9" * 4400


@pytest.mark.parametrize(
    "refused_at",
    [
        lambda file: partition.read(file, 1000, 2),
        lambda _: partition.read(f"{NINES},1", 1000, 2),
        lambda _: parse_depth(f"{NINES} packets"),
        lambda file: stored.read_run(file),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_in_our_words(
    tmp_path: Path, refused_at: Callable[[Path], object]
) -> None:
    (tmp_path / "summary.json").write_text(NINES)
    with pytest.raises((ScenarioError, ResultError, ValueError)) as refusal:
        refused_at(tmp_path / "summary.json")
    assert "set_int_max_str_digits" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_messages_on_files_are_our_words(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").symlink_to("/dev/zero")
    with pytest.raises(ScenarioError, match="can't read it: the file is too large") as refusal:
        claims.read(tmp_path / "claims.toml")
    assert "Errno" not in str(refusal.value)
    (tmp_path / "graph.parquet").mkdir()
    (tmp_path / "graph.csv").mkdir()
    for name in ("graph.parquet", "graph.csv", "none.parquet", "none.csv"):
        for command in (["walk", tmp_path / name], ["mine", tmp_path / name, "--support", "0.5"]):
            found = call(*command, "--out", tmp_path / "out")
            assert found.returncode == 2
            assert re.search(r"is a directory|no such file", found.stderr), found.stderr
            assert not re.search(r"PlRefPath|os error|Errno|Traceback", found.stderr)


def test_paths_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    rows = tmp_path / "rows.dat"
    rows.write_text("1 2\n" * 5)
    found = call("mine", rows, "--support", "0.5", "--out", tmp_path / "evil\x1b[2J")
    assert found.returncode == 0
    assert "\x1b" not in found.stdout + found.stderr
    assert "evil\\x1b[2J" in found.stdout


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


@pytest.mark.parametrize("name", ["rows.parquet", "rows.CSV", "rows.json.gz", "-"])
def test_generate_refuses_names_of_other_files(tmp_path: Path, name: str) -> None:
    found = call("generate", "quest", tmp_path / name, "--transactions", "10")
    assert found.returncode == 2
    assert "a transaction per line; choose a name like quest.txt.gz" in found.stderr
    assert not list(tmp_path.iterdir())


def test_a_long_change_is_shortened(tmp_path: Path) -> None:
    problem = only(refused(tmp_path, SMALL, ".".join(["a"] * 5001) + "=1"))
    assert len(str(problem)) < 200


def test_measured_cells_with_a_column_twice_are_refused(tmp_path: Path) -> None:
    traces.write(tmp_path / "a.trace", traces.scans(100, 3))
    measured = tmp_path / "measured.csv"
    measured.write_text("degradation,local_bytes,degradation\n1,2,3\n")
    found = call("farmem", "predict", tmp_path / "a.trace", "--measured", measured)
    assert found.returncode == 2
    assert "the column 'degradation' is there more than once" in found.stderr


@pytest.mark.parametrize(
    "nan", [Decimal("NaN"), Decimal("sNaN"), float("nan"), np.float32("nan"), complex("nan")]
)
def test_no_number_is_no_item(nan: object) -> None:
    one = type(nan)(1)  # type: ignore[call-arg]
    with pytest.raises(ScenarioError, match="transaction 2: there is no value"):
        incast.mine([[one], [nan, one]], 0.5)


def test_bytes_of_an_argument_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        WrittenScenario.from_file(written(tmp_path, SMALL), ["name=\udcff"])


def test_json_shows_nothing_that_a_terminal_acts_on(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[31m\x9b31m\u202e"
    print_json({"node": name})
    said = capsys.readouterr().out
    assert said == plain(said)
    assert json.loads(said) == {"node": name}


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe.dat", tmp_path / "link.dat"
    os.mkfifo(pipe)
    link.symlink_to(pipe)

    def export(file: Path) -> None:
        with folder.exported(file):
            raise AssertionError

    for way in (pipe, link):
        for write in (partial(quest.generate, quest.Quest(transactions=1), force=True), export):
            with pytest.raises(OutputError, match="is no file: choose another"):
                write(way)
    with pytest.raises(OutputError, match="is no file: choose another"):
        folder.write_text(pipe, "")
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    file, link = tmp_path / "file.dat", tmp_path / "link.dat"
    file.touch()
    link.symlink_to(file)
    quest.generate(quest.Quest(transactions=1), link, force=True)
    assert link.is_symlink()
    assert file.read_text()


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
