"""Figures of a run from its tables, on tables whose figures are known."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from incast.errors import ResultError
from incast.kinds import traits
from incast.summary import figures

MS = 10**9


def write(folder: Path, table: str, rows: Sequence[dict[str, Any]]) -> None:
    (folder / table).mkdir()
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    for number, part in enumerate(frame.iter_slices(2)):
        part.write_parquet(folder / table / f"part-{number:05}.parquet", compression="snappy")


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


def test_a_damaged_table_is_said(folder: Path) -> None:
    (folder / "flows" / "part-00001.parquet").write_bytes(b"PAR1 is what it is not PAR1")
    with pytest.raises(ResultError, match=r"flows/part-00001.parquet is damaged: "):
        figures(folder, "finished", 0)


def test_flows_that_did_not_finish_are_longer_than_any_where_their_job_failed(folder: Path) -> None:
    jobs = pl.read_parquet(folder / "jobs").with_columns(
        outcome=pl.when(pl.col("job") == "s").then(pl.lit("failed")).otherwise("outcome")
    )
    jobs.write_parquet(folder / "jobs" / "part-00000.parquet", compression="snappy")
    job = figures(folder, "finished", 20 * MS)["jobs"]["s"]
    assert (job["fct_p50_ps"], job["fct_p99_ps"]) == (round(4.5 * MS), None)
    assert (job["fct_mean_ps"], job["fct_max_ps"]) == (None, None)
    assert (job["group_mean_ps"], job["group_p99_ps"]) == (None, None)


@pytest.mark.parametrize("seed", range(8))
def test_figures_of_random_flows_are_those_of_frames(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    rows = []
    for number in range(chance.choice([1, 7, 300])):
        start, took = chance.randrange(10**12), chance.randrange(10**11)
        end = None if chance.random() < 0.1 else start + took
        rows.append(
            {
                **flow(chance.choice(["s", "bg"]), chance.randrange(6), 0, 0),
                "flow": number,
                "start_ps": start,
                "end_ps": end,
                "outcome": "unfinished" if end is None else "finished",
                "retransmits": chance.randrange(5),
            }
        )
    shutil.rmtree(folder / "flows")
    write(folder, "flows", rows)
    frame = pl.DataFrame(rows, schema_overrides={"end_ps": pl.Int64}).filter(pl.col("job") == "s")
    took_ps = pl.col("end_ps") - pl.col("start_ps")
    spans = (
        frame.filter(pl.col("group") >= traits("coflows").first_group)
        .group_by("group")
        .agg(
            pl.when(pl.col("end_ps").is_not_null().all()).then(
                pl.col("end_ps").max() - pl.col("start_ps").min()
            )
        )
    )
    expected = {
        **_by_frames(frame.select(took_ps).to_series(), "fct", {"p50": 0.5, "p99": 0.99, "max": 1.0}),
        **_by_frames(spans["end_ps"], "group", {"p99": 0.99}),
        "unfinished": frame["end_ps"].null_count(),
        "retransmits": frame["retransmits"].sum(),
    }
    job = figures(folder, "until", 10**12)["jobs"]["s"]
    assert {key: job[key] for key in expected} == expected


def _by_frames(times: pl.Series, name: str, parts: dict[str, float]) -> dict[str, int | None]:
    """The same figures, as Polars computes them."""
    found = {key: times.quantile(part, "linear") for key, part in parts.items()}
    mean = times.cast(pl.Float64).mean()
    assert mean is None or isinstance(mean, float)
    return {
        f"{name}_{key}_ps": None if value is None else round(value)
        for key, value in {"mean": mean, **found}.items()
    }
