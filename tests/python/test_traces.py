"""Flow lists, coflow traces and size distributions from files, good and hostile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import SMALL, only, refused, spec, written
from incast.errors import ScenarioError
from incast.kinds import flow_tables

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def replay(trace: str, **more: Any) -> dict[str, Any]:
    return {**SMALL, "jobs": [{"name": "flows", "kind": "replay", "trace": trace, **more}]}


def coflows(trace: str, **more: Any) -> dict[str, Any]:
    return {**SMALL, "jobs": [{"name": "shuffles", "kind": "coflows", "trace": trace, **more}]}


def work(resolved: dict[str, Any]) -> Any:
    return resolved["jobs"][0]["work"]


def flow(at: int, source: str, sink: str, size: int, group: int = 0) -> dict[str, Any]:
    return {"at": at, "from": source, "to": sink, "bytes": size, "group": group}


DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def numbers(rows: str) -> Iterator[int]:
    """The numbers of packed flows: digits of five bits, the lowest first, as crates/traffic/src/flows.rs says."""
    value = shift = 0
    for digit in map(DIGITS.index, rows):
        value |= digit % 32 << shift
        shift += 5
        if digit < 32:
            yield value
            value = shift = 0


def flows(resolved: dict[str, Any]) -> list[dict[str, Any]]:
    """The flows that the core would read; times and groups are written as differences."""
    packed = work(resolved)["flows"]
    found, at, group, rest = [], 0, 0, numbers(packed["rows"])
    for step, source, sink, size, other in zip(rest, rest, rest, rest, rest, strict=True):
        at, group = at + (step >> 1 ^ -(step & 1)), group + (other >> 1 ^ -(other & 1))
        found.append(flow(at, packed["hosts"][source], packed["hosts"][sink], size, group))
    return found


def test_a_flow_list_with_units(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("at,from,to,size,group\n2us,host0,host1,1kB,7\n1us,host1,host2,1MB,8\n")
    assert flows(spec(tmp_path, replay("f.csv"))) == [
        flow(1_000_000, "host1", "host2", 1_000_000, 8),
        flow(2_000_000, "host0", "host1", 1_000, 7),
    ]


def test_a_flow_list_with_units_in_its_columns(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("at_us,from,to,bytes\n1.5,0,5,1000\n")
    assert flows(spec(tmp_path, replay("f.csv"))) == [flow(1_500_000, "host0", "host1", 1000)]


def test_a_flow_list_in_parquet(tmp_path: Path) -> None:
    columns = {"at_s": [0.25], "from": [3], "to": ["host1"], "bytes": [7]}
    pl.DataFrame(columns).write_parquet(tmp_path / "f.parquet")
    resolved = spec(tmp_path, replay("f.parquet", scale=2.0, time_scale=0.1, place=["host2"]))
    assert flows(resolved) == [flow(25_000_000_000, "host2", "host1", 14)]


def test_long_lists_are_read_in_parts(tmp_path: Path) -> None:
    """Lines are counted from the file's first, whatever part they are in."""
    count = 2 * flow_tables.ROWS_AT_A_TIME + 1
    rows = [f"{count - n}us,host0,host{1 + n % 3},{n + 1}B" for n in range(count)]
    (tmp_path / "f.csv").write_text("\n".join(["at,from,to,size", *rows]))
    found = flows(spec(tmp_path, replay("f.csv")))
    assert [each["bytes"] for each in found] == list(range(count, 0, -1)), "sorted by time"
    assert [each["to"] for each in found[-4:]] == ["host1", "host3", "host2", "host1"]
    (tmp_path / "f.csv").write_text("\n".join(["at,from,to,size", *rows, "1us,host0,host9,1B", "1,a,a,1B"]))
    first, second = refused(tmp_path, replay("f.csv"))
    assert (first.line, second.line) == (count + 3, count + 2)
    assert first.message.startswith('at: "1" has no unit')
    assert second.message.startswith("'host9' is not a host")


PEAK = """
import pathlib, sys
from incast.variants import make_variants
from incast.written import WrittenScenario
make_variants(WrittenScenario.from_file(pathlib.Path(sys.argv[1])))
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""
"""Reads and checks a scenario; prints the most memory that it took, in KiB."""


@pytest.mark.alone
def test_a_long_list_takes_little_memory(tmp_path: Path) -> None:
    """Each flow took 1,000 bytes when all of them were objects of Python and JSON at the same time."""
    peaks = []
    for count in (1_000, 301_000):
        rows = (f"{n}.25us,host{n % 4},host{(n + 1) % 4},{n % 1_000 + 1}B" for n in range(count))
        (tmp_path / "f.csv").write_text("\n".join(["at,from,to,size", *rows]))
        command = [sys.executable, "-c", PEAK, str(written(tmp_path, replay("f.csv")))]
        peaks.append(int(subprocess.check_output(command)))
    bytes_each = (peaks[1] - peaks[0]) * 1024 / 300_000
    assert bytes_each < 350


@pytest.mark.parametrize("at", [[[1]], [{"us": 1}], [b"\xff"]], ids=["list", "struct", "binary"])
def test_a_parquet_file_with_other_columns_is_refused(tmp_path: Path, at: list[Any]) -> None:
    pl.DataFrame({"at_us": at, "from": [3], "to": [1], "bytes": [7]}).write_parquet(tmp_path / "f.parquet")
    (problem,) = refused(tmp_path, replay("f.parquet"))
    assert (problem.file, problem.path) == (str(tmp_path / "f.parquet"), "jobs[0].trace")


@pytest.mark.parametrize("lines", [["x" * 200_000, "1"], ["at,from,to,size", "1us," + "x" * 200_000]])
def test_a_cell_that_is_too_long_is_refused_with_its_line(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "f.csv").write_text("\n".join(lines))
    (problem,) = refused(tmp_path, replay("f.csv"))
    assert (problem.line, "field larger than field limit" in problem.message) == (
        lines.index(max(lines, key=len)) + 1,
        True,
    )


def test_only_the_first_entries(tmp_path: Path) -> None:
    rows = "".join(f"{n}us,host0,host1,1B\n" for n in range(10))
    (tmp_path / "f.csv").write_text("at,from,to,size\n" + rows)
    assert len(flows(spec(tmp_path, replay("f.csv", first=3)))) == 3


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("", None, "the trace is empty"),
        ("at,from,to,size\n", None, "the trace is empty: at least one flow is needed"),
        ("at,from,size\n1us,host0,1B\n", 1, "at (or at_ps … at_s), from, to, size (or bytes)"),
        ("at,from,to,size\n1us,host0,host1,1B\n1,host0,host1,1B\n", 3, 'at: "1" has no unit'),
        ("at,from,to,size\n1us,host0,host1,-1B\n", 2, "size: "),
        ("at,from,to,size\n1us,host0,host1,0B\n", 2, "at least 1B"),
        ("at,from,to,size\n1us,host0,host1\n", 2, "size: is missing"),
        ("at,from,to,size\n1us,host0,,1B\n", 2, "'' is not a host"),
        ("at,from,to,size\n1us,host0,hots1,1B\n", 2, "'hots1' is not a host. Did you mean 'host1'?"),
        ("at_us,from,to,bytes\nnan,host0,host1,1\n", 2, "at_us: "),
        ("at_us,from,to,bytes\n1,host0,host1,1e999\n", 2, "bytes: "),
        ("at,from,to,size,group\n1us,host0,host1,1B,x\n", 2, "group: 'x' is not a whole number"),
        ("at,from,to,size\n1us,host0,host1,1B\n1us,host0,host1,1B,1\n", 3, "more columns than in line 1"),
        ("at_us,at_ms,from,to,bytes\n1,2,host0,host1,1\n", 1, "at_us, at_ms say the same: one is expected"),
        ("at,from,to,size,at\n1us,host0,host1,1B,1us\n", 1, "the column 'at' is there 2 times"),
        ("at,from,to,size\n1us,0,1,1B\n1us,0,\udcff,1B\n", 3, "not UTF-8 text"),
        ('at,from,to,size\n1us,0,1,1B\n1us,"0,1,1B\n1us,0,1,1B\n', 3, "a quote is opened and never closed"),
        ('at,from,to,size\n1us,0,"a\nb",1B\n', 2, "is not a host"),
        ("\nat,from,to,size\n1us,0,1,1B\n", 1, "found an empty line"),
        ("at,from,to,size\n  ,0,1,1B\n", 2, "at: is missing"),
        ("at_us,from,to,bytes\n1,0,1,1e3\n", 2, "bytes: '1e3' is not a plain number, like 1500"),
        ("at_us,from,to,bytes\n1us,0,1,10\n", 2, "at_us: '1us' is not a plain number"),
        ("at_us,from,to,bytes\n1,0,1,99999999999999999999\n", 2, "too large a size"),
        ("\0\0\0\0", None, ""),
    ],
)
def test_refused_flow_lists(tmp_path: Path, content: str, line: int | None, said: str) -> None:
    (tmp_path / "f.csv").write_text(content, errors="surrogateescape")
    problem = refused(tmp_path, replay("f.csv"))[0]
    assert said in problem.message
    assert (problem.file, problem.path) == (str(tmp_path / "f.csv"), "jobs[0].trace")
    assert line is None or problem.line == line


@pytest.mark.parametrize(
    ("row", "said"),
    [("1us,0,1,1B,1", "more columns than in line 1"), ('1us,"0,1,1B', "a quote is opened and never closed")],
)
def test_rows_before_one_that_cannot_be_read_are_checked(tmp_path: Path, row: str, said: str) -> None:
    (tmp_path / "f.csv").write_text(f"at,from,to,size\n1us,0,1,1B\n1,0,1,1B\n{row}\n")
    before, unread = refused(tmp_path, replay("f.csv"))
    assert (before.line, unread.line) == (3, 4)
    assert 'at: "1" has no unit' in before.message
    assert said in unread.message


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        (
            f"0s,host0,host1,{2**63}B",
            "size",
            "9223372036.854775808GB take longer than the longest run (106 days) at 10Gbps, the rate of host0: "
            "at most 11529000GB are allowed",
        ),
        ("2563h,host0,host1,1B", "at", "9226800s after the run's start is beyond the longest run (106 days)"),
    ],
)
def test_a_flow_that_no_run_sees_the_end_of_is_named(tmp_path: Path, row: str, field: str, said: str) -> None:
    (tmp_path / "f.csv").write_text(f"at,from,to,size\n0s,host0,host1,1B\n{row}\n9s,host0,host1,1B\n")
    (problem,) = refused(tmp_path, replay("f.csv"))
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / "f.csv"), 3, "jobs[0].trace")
    assert problem.message == f"{field}: {said}"
    at, sender, receiver, size = row.split(",")
    listed = [{"at": at, "from": sender, "to": receiver, "size": size}]
    several = [{"at": "1s", "from": "host0", "to": "host1", "size": "1B"}, *listed]
    (problem,) = refused(tmp_path, {**SMALL, "jobs": [{"name": "j", "kind": "replay", "flows": several}]})
    assert (problem.path, problem.message) == (f"jobs[0].flows[1].{field}", said)


@pytest.mark.parametrize("field", ["scale", "time_scale"])
@pytest.mark.parametrize("kind", [replay, coflows])
def test_what_scales_make_too_large_is_said_of_them(tmp_path: Path, kind: Any, field: str) -> None:
    (tmp_path / "f.csv").write_text("at,from,to,size\n5000h,host0,host1,10000TB\n")
    (tmp_path / "c.txt").write_text("150 1\n1 9000000000 1 4 1 5:9999999999.0\n")
    found = refused(tmp_path, kind("f.csv" if kind is replay else "c.txt", **{field: 1e9}))
    assert f"jobs[0].{field}" in [each.path for each in found]


def test_a_coflow_that_no_run_sees_the_end_of_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("150 2\n1 0 1 4 1 5:1.0\n2 0 1 4 1 5:99999999999.0\n")
    (problem,) = refused(tmp_path, coflows("c.txt"))
    assert problem.message.startswith("coflow 2: size: 99999999.999GB take longer than the longest run")


def test_blank_lines_are_none_and_numbers_may_stand_for_one_host(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("at,from,to,size\n\n1us,0,1,1B\n  \n2us,0,3,1B\n")
    two = {**replay("f.csv", place="host[0-2]")}
    assert [each["to"] for each in flows(spec(tmp_path, two))] == ["host1", "host0"]


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("at,from,to,size\n" + "x,host0,host1,1B\n" * 100)
    found = refused(tmp_path, replay("f.csv"))
    assert [each.line for each in found] == [2, 3, 4, 5, 6, None]
    assert found[-1].message == "95 more lines are wrong"


@pytest.mark.parametrize("name", ["f.csv", "f.parquet", "f.txt"])
@ANY_FILE
@given(content=st.binary(max_size=300))
def test_any_file_is_a_flow_list_or_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    try:
        assert flows(spec(tmp_path, replay(name)))
    except ScenarioError as error:
        assert all(each.file for each in error.problems)


ROW = st.lists(st.sampled_from(["1us", "host0", "host1", "9", "1kB", "", '"', "é", "-1", "1e5"]), max_size=6)


@ANY_FILE
@given(rows=st.lists(ROW, max_size=6))
def test_any_rows_are_a_flow_list_or_refused(tmp_path: Path, rows: list[list[str]]) -> None:
    text = "at,from,to,size\n" + "\n".join(",".join(row) for row in rows)
    (tmp_path / "f.csv").write_text(text)
    try:
        assert flows(spec(tmp_path, replay("f.csv")))
    except ScenarioError as error:
        assert all(each.file for each in error.problems)


GOOD = "3 2\n1 10 2 0 2 1 1:3.0\n2 5 1 1 2 0:1.0 2:0.5\n"


def test_a_coflow_trace(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(GOOD)
    first, second = work(spec(tmp_path, coflows("c.txt", scale=0.5, time_scale=0.1, place="host[0-1]")))[
        "coflows"
    ]
    assert first == {
        "id": 2,
        "at": 500_000_000,
        "mappers": ["host1"],
        "reducers": [["host0", 500_000], ["host0", 250_000]],
    }
    assert (second["id"], second["mappers"]) == (1, ["host0", "host0"])


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("", None, "the trace is empty"),
        ("3", 1, "coflows: missing"),
        ("3 2\n1 10 2 0 2 1 1:3.0\n", 3, "2 coflows as line 1 announces, found 1"),
        ("3 1\n1 10 2 0 7 1 1:3.0\n", 2, "allowed"),
        ("3 1\n1 10 999999999 0\n", 2, "missing"),
        ("3 1\n1 10 1 0 1 1:-3\n", 2, "allowed"),
        ("3 1\n1 10 1 0 1 1:3.0 9\n", 2, "more than"),
    ],
)
def test_refused_coflow_traces(tmp_path: Path, content: str, line: int | None, said: str) -> None:
    (tmp_path / "c.txt").write_text(content)
    problem = only(refused(tmp_path, coflows("c.txt")))
    assert said in problem.message
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / "c.txt"), line, "jobs[0].trace")


@ANY_FILE
@given(cut=st.integers(0, len(GOOD)), junk=st.text(alphabet="0123456789: .-\nx", max_size=10))
def test_a_cut_coflow_trace_is_read_or_refused(tmp_path: Path, cut: int, junk: str) -> None:
    (tmp_path / "c.txt").write_text(GOOD[:cut] + junk)
    try:
        assert work(spec(tmp_path, coflows("c.txt")))["coflows"]
    except ScenarioError as error:
        assert all(each.path for each in error.problems)


def test_sizes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000 0.5\n2000 1.0\n")
    job = {"name": "load", "kind": "load", "duration": "1ms", "sizes": "sizes.txt"}
    assert work(spec(tmp_path, {**SMALL, "jobs": [job]}))["sizes"] == [(1000, 0.5), (2000, 1.0)]
    (tmp_path / "sizes.txt").write_text("1000 0.5\n500 1.0\n")
    assert "line 2" in only(refused(tmp_path, {**SMALL, "jobs": [job]})).message


def test_published_sizes_are_distributions(tmp_path: Path) -> None:
    for name in ("web-search", "data-mining"):
        job = {"name": "load", "kind": "load", "duration": "1ms", "sizes": name}
        assert work(spec(tmp_path, {**SMALL, "jobs": [job]}))["sizes"][-1][1] == 1.0


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    assert "not a file" in only(refused(tmp_path, coflows("."))).message
