"""The job `farmem`: programs on remote memory over the simulated network, from YAML to results, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incast
from farmem_traces import FREE, PASS, READ, WRITE, record, scans, write
from helpers import refused
from incast import choose, report
from incast.farmem.predict import Grid, predict
from incast.farmem.size import Size
from incast.farmem.traced import Traced
from incast.result import Result

EXAMPLES = Path(__file__).parents[2] / "examples"
RANDOM = {"kind": "random", "size": "1MiB", "accesses": 2000, "writes": 0.3, "compute": "2us"}


def scenario(**job: Any) -> dict[str, Any]:
    remote = {"programs": "host0", "memory": "host1", "local": "25%", "pattern": RANDOM}
    return {
        "name": "remote",
        "topology": {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "10Gbps", "delay": "1us"}},
        "host": {"mtu": "9000B"},
        "jobs": [{"name": "memory", "kind": "farmem", **remote, **job}],
        "until": "10s",
    }


def run(folder: Path, **job: Any) -> Result:
    return simulate(folder, scenario(**job))


def simulate(folder: Path, of: dict[str, Any]) -> Result:
    folder.mkdir(exist_ok=True)
    path = folder / "remote.yaml"
    path.write_text(json.dumps(of))
    return incast.run(path, folder / "run")


def program(result: Result) -> dict[str, Any]:
    (row,) = result.programs.rows(named=True)
    return row


def test_a_program_computes_or_waits(tmp_path: Path) -> None:
    result = run(tmp_path)
    row = program(result)
    assert (row["outcome"], row["memory"], row["pages"], row["local_pages"]) == ("finished", "host1", 256, 64)
    assert row["all_local_ps"] == 2000 * 2 * 10**6
    assert row["end_ps"] - row["start_ps"] == row["all_local_ps"] + row["stall_ps"]
    assert row["accesses"] == 2000 == row["hits"] + row["faults"]
    faults = result.faults
    assert faults["latency_ps"].sum() == row["stall_ps"]
    assert faults["fetched"].sum() == row["fetched"] == row["faults"]
    assert faults["written_back"].sum() == row["written_back"] > 0
    # Ten bytes are a message's; its number and length go with a page that leaves.
    assert row["received_bytes"] == row["fetched"] * (4096 + 10) + row["sends"] * 6
    assert result.flows["bytes"].sum() == row["received_bytes"] + row["sent_bytes"]
    assert result.tasks["kind"].to_list() == ["program"]


def test_its_figures_are_those_of_the_tables(tmp_path: Path) -> None:
    result = run(tmp_path)
    row, job = program(result), result.summary["jobs"]["memory"]
    assert job["degradation_percent"] == pytest.approx(100 * row["stall_ps"] / row["all_local_ps"])
    assert job["hit_ratio"] == row["hits"] / row["accesses"]
    assert job["fetched_bytes"] == row["fetched"] * 4096
    assert job["fct_mean_ps"] is None, "its streams last as long as it does"
    latencies = result.faults.filter(pl.col("fetched") > 0)["latency_ps"]
    assert job["fault_latency_p99_ps"] == round(latencies.quantile(0.99, "linear") or 0)
    assert job["fault_latency_max_ps"] == latencies.max()
    _, metric = choose.deciding({"": [result]})
    assert metric.key == "degradation_percent"


def test_thresholds_know_its_figures(tmp_path: Path) -> None:
    limits = ["jobs.memory.degradation < 10%", "jobs.memory.fault_latency_p99 < 1s", "jobs.memory.lost == 0"]
    result = simulate(tmp_path, {**scenario(), "thresholds": limits})
    assert [each["holds"] for each in result.summary["thresholds"]] == [False, True, True]


def test_a_trace_faults_as_predict_says(tmp_path: Path) -> None:
    records = [*scans(40, 3), record(FREE, 1000, 10), record(PASS, 0), *scans(40, 2), record(READ, 1003)]
    trace = write(tmp_path / "t.trace", [each for each in records if each != record(PASS, 0)])
    result = run(tmp_path, pattern={"kind": "trace", "file": "t.trace"}, local="50%")
    row = program(result)
    grid = Grid(local=[Size("50%", share=0.5)], latencies=[0], rates=[10**10], policies=["fifo"])
    (cell,) = predict(Traced.read(trace), grid).rows(named=True)
    assert (row["faults"], row["written_back"]) == (cell["faults"], cell["written_back"])
    assert row["cold"] == 50, "the first accesses, and those after pages were freed"
    assert row["all_local_ps"] == (5 * 40 + 2) * 10**6


def test_waits_of_threads_overlap(tmp_path: Path) -> None:
    accesses = {"kind": "random", "size": "64MiB", "accesses": 2400, "compute": "0s"}

    def took(threads: int, rate: str) -> int:
        asked = scenario(pattern={**accesses, "threads": threads}, local="64KiB")
        # Four times the delay is 96 µs; a packet has room for one page.
        asked |= {"host": {"mtu": "4200B"}}
        asked["topology"]["host_link"] = {"rate": rate, "delay": "24us"}
        result = simulate(tmp_path / f"{threads}-{rate}", asked)
        row = program(result)
        assert (row["threads"], row["accesses"], row["faults"] > 2380) == (threads, 2400, True)
        # A thread may wait for a page that another one fetches.
        assert 0 <= row["stall_ps"] - result.faults["latency_ps"].sum() < 10**9
        return int(row["end_ps"] - row["start_ps"])

    one = took(1, "10Gbps")
    for threads in (2, 8):
        assert one / took(threads, "10Gbps") == pytest.approx(threads, rel=0.01)
    # A page takes 33.5 µs: all of them as long, however many threads wait.
    assert took(8, "1Gbps") == pytest.approx(2400 * (4096 + 10 + 78) * 8 * 1000, rel=0.01)


def test_threads_of_a_trace_overlap_and_one_begins_behind_who_starts_it(tmp_path: Path) -> None:
    begins = [record(WRITE, 1000 + page, thread=1) for page in range(80)]
    of = {thread: [record(READ, 1000 + page, thread=thread) for page in range(80)] for thread in (1, 2)}
    both = [each for pair in zip(of[1][:40], of[2][40:], strict=True) for each in pair]
    alone = [record(READ, 1000 + page, thread=1) for page in range(40, 80)]
    rows = {}
    for name, records in (("one", [*of[1][:40], *alone]), ("both", both)):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "t.trace", [*begins, *records])
        pattern = {"kind": "trace", "file": "t.trace"}
        rows[name] = program(run(tmp_path / name, pattern=pattern, local="10%", write_back="after"))
    one, both_ = rows["one"], rows["both"]
    assert (one["threads"], both_["threads"]) == (1, 2)
    assert one["all_local_ps"] == both_["all_local_ps"] == 160 * 10**6
    assert one["faults"] == both_["faults"] == 80
    slower = {name: row["end_ps"] - row["start_ps"] - row["all_local_ps"] for name, row in rows.items()}
    # A page takes 3.4 of some 11 µs, and packets with two of them keep both threads.
    assert 0.5 < slower["both"] / slower["one"] < 0.65


def test_larger_pages_and_read_ahead_fault_less(tmp_path: Path) -> None:
    sweep = {"kind": "sequential", "size": "1MiB", "accesses": 1024}
    plain = run(tmp_path / "plain", pattern=sweep)
    ahead = run(tmp_path / "ahead", pattern=sweep, read_ahead=7, pages_a_request=8)
    large = run(tmp_path / "large", pattern={**sweep, "accesses": 128}, page="32KiB")
    assert [program(each)["faults"] for each in (plain, ahead, large)] == [1024, 128, 128]
    assert program(ahead)["fetched"] == 1024
    slower = [each.summary["jobs"]["memory"]["degradation_percent"] for each in (ahead, plain)]
    assert slower == sorted(slower)


def test_compression_saves_time_on_the_wire(tmp_path: Path) -> None:
    whole, half = run(tmp_path / "whole"), run(tmp_path / "half", compression=2)
    assert program(half)["faults"] == program(whole)["faults"]
    assert program(half)["received_bytes"] < 0.6 * program(whole)["received_bytes"]
    assert program(half)["stall_ps"] < program(whole)["stall_ps"]
    slow = run(tmp_path / "slow", compression=2, costs={"decompress": "50us"})
    assert program(slow)["stall_ps"] > program(whole)["stall_ps"]


def test_scheduling_is_seen_in_fault_latencies(tmp_path: Path) -> None:
    def p99(name: str, **job: str) -> int:
        return int(run(tmp_path / name, **job).summary["jobs"]["memory"]["fault_latency_p99_ps"])

    before, after = p99("before"), p99("after", write_back="after")
    assert after < 0.6 * before, "nobody waits for the page that leaves"
    beside = {"programs": "host[0-2]", "memory": "host3", "write_back": "after"}
    by_turn, reads_first = p99("turn", **beside), p99("reads", **beside, schedule="reads-first")
    assert reads_first <= by_turn


def test_programs_take_memory_nodes_in_turn(tmp_path: Path) -> None:
    result = run(tmp_path, programs="host[0-1]", memory="host[2-3]")
    assert result.programs.select("host", "memory").cast(pl.String).rows() == [
        ("host0", "host2"),
        ("host1", "host3"),
    ]
    assert result.programs["faults"].n_unique() == 2, "each has accesses of its own"


def test_the_report_shows_faults_and_programs(tmp_path: Path) -> None:
    result = run(tmp_path, programs="host[0-1]", memory="host[2-3]")
    page = report.write(result.path).read_text("utf-8")
    slower = result.summary["jobs"]["memory"]["degradation_percent"]
    for said in (
        f"Degradation: {slower:.0f} %",
        "Page fault latency",
        "memory on host1",
        "Part of the time that programs wait for pages",
        "Programs on remote memory",
    ):
        assert said in page, said
    assert "No flow finished" not in page


def test_a_program_whose_memory_node_crashes_is_lost(tmp_path: Path) -> None:
    crash = {"faults": [{"at": "2ms", "crash": "host1", "for": "1ms"}]}
    result = simulate(tmp_path, {**scenario(), **crash})
    assert program(result)["outcome"] == "lost"
    job = result.summary["jobs"]["memory"]
    assert (job["lost"], job["duration_ps"], job["degradation_percent"], result.summary["done_ps"]) == (
        1, None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("job", "place", "what"),
    [
        ({"programs": "host9"}, "programs", "host9"),
        ({"memory": "host0"}, "memory", "its memory is local"),
        ({"local": "0%"}, "local", "above 0%"),
        ({"local": "1kB"}, "local", "at least one"),
        ({"local": "5"}, "local", "unit"),
        ({"page": "5000B"}, "page", "a power of two from 4 KiB to 2 MiB"),
        ({"policy": "mru"}, "policy", "clock"),
        ({"read_ahead": 512}, "read_ahead", "511"),
        ({"pages_a_request": 0}, "pages_a_request", "1"),
        ({"write_buffer": 8}, "write_buffer", "write_back is before"),
        ({"schedule": "lifo"}, "schedule", "reads-first"),
        ({"compression": 0.5}, "compression", "1"),
        ({"pattern": {"kind": "trace", "file": "nowhere"}}, "pattern.file", "no such file"),
        ({"pattern": {"kind": "trace", "file": "remote.yaml"}}, "pattern.file", "no trace of page faults"),
        ({"pattern": {"kind": "trace", "file": "t.trace"}, "page": "4KiB"}, "page", "65536"),
        ({"pattern": {"kind": "trace", "file": "empty.trace"}}, "pattern.file", "nothing is accessed"),
        ({"pattern": {"kind": "convolution", "matrix": 64, "kernel": 4}}, "pattern.kernel", "odd"),
        ({"pattern": {"kind": "convolution", "matrix": 10**6}}, "pattern.matrix", "pages"),
        ({"pattern": {**RANDOM, "size": "1TB"}}, "pattern.size", "pages"),
        ({"pattern": {**RANDOM, "writes": 2}}, "pattern.writes", "1"),
        ({"pattern": {**RANDOM, "threads": 0}}, "pattern.threads", "1"),
        ({"pattern": {**RANDOM, "accesses": 3, "threads": 4}}, "pattern.threads", "1 to 3"),
        ({"pattern": {"kind": "convolution", "matrix": 3, "threads": 4}}, "pattern.threads", "1 to 2"),
        ({"pattern": {**RANDOM, "kind": "zipf", "skew": 0}}, "pattern.skew", "0.01"),
    ],
)
def test_what_cant_be_is_refused(tmp_path: Path, job: dict[str, Any], place: str, what: str) -> None:
    (tmp_path / "t.trace").write_bytes(b"INCFMT01\x10\x00\x01\x00" + bytes(4) + record(WRITE, 1))
    write(tmp_path / "empty.trace", [])
    (tmp_path / "remote.yaml").write_text("name: x")
    problems = refused(tmp_path, scenario(**job))
    assert [each.path for each in problems] == [f"jobs[0].{place}"], problems
    assert what in problems[0].message


def test_a_shuffle_makes_faults_wait_and_walks_do_not(tmp_path: Path) -> None:
    result = incast.run(EXAMPLES / "remote-memory-rack.yaml", tmp_path / "run")
    program = {name: run.summary["jobs"]["program"] for name, run in result.choices.items()}
    slower = {name: job["degradation_percent"] for name, job in program.items()}
    p99 = {name: job["fault_latency_p99_ps"] for name, job in program.items()}
    assert slower["walks"] == pytest.approx(slower["alone"], rel=0.02)
    assert slower["alone"] < slower["own-class"] < 1.5 * slower["alone"]
    for congested in ("sort", "both", "ecn", "pfc"):
        assert slower[congested] > 2 * slower["alone"]
    assert p99["ecn"] < p99["both"] / 2
    assert all(run.summary["jobs"]["sort"]["unfinished"] == 0 for run in result.choices.values())


def test_congestion_makes_faults_wait_and_a_class_of_their_own_does_not(tmp_path: Path) -> None:
    result = incast.run(EXAMPLES / "remote-memory.yaml", tmp_path / "run")
    slower = {
        name: run.summary["jobs"]["program"]["degradation_percent"] for name, run in result.choices.items()
    }
    p99 = {
        name: run.summary["jobs"]["program"]["fault_latency_p99_ps"] for name, run in result.choices.items()
    }
    assert choose.best({name: [run] for name, run in result.choices.items()}) == "alone"
    assert slower["alone"] < slower["own-class"] < 1.2 * slower["alone"]
    for congested in ("tail-drop", "ecn", "pfc"):
        assert slower[congested] > 2 * slower["alone"]
        assert p99[congested] > 5 * p99["alone"]
    assert p99["ecn"] < p99["tail-drop"]
    # What is asked for and what is local is the same, whatever the network does.
    counts = ["accesses", "hits", "faults", "fetched", "written_back"]
    assert result.scan("programs").select(counts).unique().collect().height == 1
