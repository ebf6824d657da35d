"""Figures of a run from its tables, on tables whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from incast.errors import ResultError
from incast.summary import figures

MS = 10**9


def write(folder: Path, table: str, rows: Sequence[dict[str, Any]]) -> None:
    (folder / table).mkdir()
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    for number, part in enumerate(frame.iter_slices(2)):
        part.write_parquet(folder / table / f"part-{number:05}.parquet")


def flow(job: str, group: int, start: int, end: int | None, **more: Any) -> dict[str, Any]:
    outcome = "unfinished" if end is None else "finished"
    times = {"start_ps": start * MS, "end_ps": None if end is None else end * MS}
    ends = {"flow": start, "from": "b", "to": "a"}
    return {
        "job": job, "group": group, **ends, **times, "outcome": outcome, "retransmits": 1, "timeouts": 2, **more
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    jobs = [
        {
            "job": "s",
            "kind": "coflows",
            "start_ps": 0,
            "end_ps": 10 * MS,
            "flows": 4,
            "bytes": 10**6,
            "outcome": "finished",
        },
        {
            "job": "bg",
            "kind": "background",
            "start_ps": 0,
            "end_ps": None,
            "flows": 1,
            "bytes": 0,
            "outcome": "background",
        },
    ]
    flows = [
        flow("s", 1, 0, 2),
        flow("s", 1, 1, 4),
        flow("s", 2, 4, 10),
        flow("s", 3, 4, None, **{"from": "c"}),
        flow("bg", 0, 0, 9),
    ]
    port = {
        "in_discards": 1,
        "pause_sent": 2,
        "marks": 1,
        "lost": 1,
        "corrupted": 1,
        "wait_p99_ps": None,
        "utilisation": 0.5,
    }
    ports = [
        {"port": "a:s", "kind": "host", "out_discards": 1, "queue_max_bytes": 900, **port},
        {"port": "s:a", "kind": "switch", "out_discards": 2, "queue_max_bytes": 700, **port},
        {
            "port": "s:b",
            "kind": "switch",
            "out_discards": 0,
            "queue_max_bytes": 800,
            **port,
            "in_discards": 5,
            "wait_p99_ps": 5,
        },
    ]
    place = {"job": "s", "kind": "map", "host": "a"}
    tasks = [
        {
            "task": 51 - n,
            **place,
            "number": n,
            "start_ps": (50 - n) * MS,
            "end_ps": 60 * MS if n % 2 else None,
        }
        for n in range(50)
    ]
    write(tmp_path, "tasks", tasks)
    write(tmp_path, "datagrams", [{"job": "bg", "received_bytes": 5 * 10**6}] * 2)
    write(tmp_path, "jobs", jobs)
    write(tmp_path, "broadcasts", [{"job": "none", "outcome": "complete"}])
    write(tmp_path, "programs", [{"job": "none", "outcome": "finished"}])
    write(tmp_path, "walks", [{"job": "none"}])
    write(tmp_path, "flows", flows)
    write(tmp_path, "ports", ports)
    write(tmp_path, "hosts", [{"host": "a", "drops_loopback": 2}, {"host": "b", "drops_loopback": None}])
    return tmp_path


def test_unfinished_tasks_are_counted_and_the_first_listed(folder: Path) -> None:
    found = figures(folder, "finished", 20 * MS)["unfinished_tasks"]
    assert found["count"] == 25
    assert len(found["first"]) == 20
    task = {"job": "s", "kind": "map", "host": "a"}
    assert found["first"][0] == {**task, "number": 48, "start_ps": 2 * MS, "from": "c", "to": "a"}
    assert found["first"][1] == {**task, "number": 46, "start_ps": 4 * MS, "from": None, "to": None}


def test_figures_of_a_job(folder: Path) -> None:
    job = figures(folder, "finished", 20 * MS)["jobs"]["s"]
    assert job == {
        "kind": "coflows",
        "duration_ps": 10 * MS,
        "group_mean_ps": 5 * MS,  # (4 + 6) / 2; the third is not complete
        "group_p99_ps": pytest.approx(5.98 * MS),
        "fct_mean_ps": pytest.approx(11 / 3 * MS, abs=1),
        "fct_p50_ps": 3 * MS,
        "fct_p99_ps": pytest.approx(5.94 * MS),
        "fct_max_ps": 6 * MS,
        "goodput_bps": 800_000_000,
        "bytes": 10**6,
        "flows": 4,
        "unfinished": 1,
        "retransmits": 4,
        "timeouts": 8,
    }


def test_background_is_left_out_of_the_whole(folder: Path) -> None:
    found = figures(folder, "finished", 20 * MS)
    assert found["done_ps"] == 10 * MS
    assert found["flows"]["count"] == 4
    assert found["flows"]["fct_max_ps"] == 6 * MS
    assert found["flows"]["unfinished"] == 1
    assert found["jobs"]["bg"]["duration_ps"] is None
    assert found["jobs"]["bg"]["goodput_bps"] == 4 * 10**9  # 10 MB of datagrams in 20 ms


def test_figures_of_the_ports(folder: Path) -> None:
    assert figures(folder, "finished", 20 * MS)["ports"] == {
        "drops": 9,
        "in_discards": 4,
        "pauses": 6,
        "marks": 3,
        "lost": 6,
        "queue_max_bytes": 800,
        "queue_max_port": "s:b",
        "wait_p99_ps": 5,
        "utilisation_max": 0.5,
    }


def test_a_missing_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="has no table 'jobs'"):
        figures(tmp_path, "finished", 0)
