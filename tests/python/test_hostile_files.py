"""Files without end, with damaged text or with a column twice are refused by every reader."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from testkit.study import NO_TESTS

import farmem_traces as traces
import incast
from helpers import SMALL, only, refused
from incast import peers, stored
from incast.broadcast import hosts
from incast.errors import ResultError, ScenarioError
from incast.farmem.traced import Traced
from incast.lab import graphread
from incast.quantity import parse_depth
from incast.study import claims, published
from incast.walks import changes, partition
from incast.walks import read as walks_read
from incast.written import WrittenScenario
from studies import SMALL as STUDY
from studies import study
from typed import call


def test_devices_without_end_are_refused() -> None:
    with pytest.raises(ScenarioError, match="the file is too large: at most"):
        WrittenScenario.from_file(Path("/dev/zero"))


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


def test_a_trace_with_a_column_twice_or_a_flow_to_itself_is_refused(tmp_path: Path) -> None:
    job = {"name": "r", "kind": "replay", "trace": "flows.csv"}
    (tmp_path / "flows.csv").write_text("at_us,from,to,bytes,bytes\n0,host0,host1,1,2\n")
    assert "'bytes' is there 2 times" in only(refused(tmp_path, {**SMALL, "jobs": [job]})).message
    (tmp_path / "flows.csv").write_text("at_us,from,to,bytes\n0,host0,host1,1\n1,host2,host2,1\n")
    problem = only(refused(tmp_path, {**SMALL, "jobs": [job]}))
    assert (problem.line, problem.message) == (3, "host2 sends to itself: two hosts are needed")


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


def test_measured_cells_with_a_column_twice_are_refused(tmp_path: Path) -> None:
    traces.write(tmp_path / "a.trace", traces.scans(100, 3))
    measured = tmp_path / "measured.csv"
    measured.write_text("degradation,local_bytes,degradation\n1,2,3\n")
    found = call("farmem", "predict", tmp_path / "a.trace", "--measured", measured)
    assert found.returncode == 2
    assert "the column 'degradation' is there more than once" in found.stderr


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


@pytest.mark.parametrize(
    "nan", [Decimal("NaN"), Decimal("sNaN"), float("nan"), np.float32("nan"), complex("nan")]
)
def test_no_number_is_no_item(nan: object) -> None:
    one = type(nan)(1)  # type: ignore[call-arg]
    with pytest.raises(ScenarioError, match="transaction 2: there is no value"):
        incast.mine([[one], [nan, one]], 0.5)
