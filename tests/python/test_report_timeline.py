"""The timeline of a job: lanes, what is drawn, what is left out, and what is stuck."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.lanes import lanes
from incast.report import write
from report_data import DCTCP, DEEP, write_run, write_tasks
from test_report import charts_of, data_of, text_of

INTERVALS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 50), st.none() | st.integers(0, 30)),
    min_size=1,
    max_size=60,
)


def drawn(page: Path) -> dict[str, list[object]]:
    """The bars of the first timeline."""
    return charts_of(page, "bars")[0]["bars"]


@given(INTERVALS)
def test_what_shares_a_lane_does_not_overlap_and_lanes_are_as_few_as_can_be(
    given_tasks: list[tuple[str, int, int | None]],
) -> None:
    tasks = pl.DataFrame(
        [
            {"task": i, "host": host, "start_ps": start, "end_ps": None if took is None else start + took}
            for i, (host, start, took) in enumerate(given_tasks)
        ],
        schema={"task": pl.Int64, "host": pl.String, "start_ps": pl.Int64, "end_ps": pl.Int64},
    )
    placed = lanes(tasks, 100)
    assert placed.height == tasks.height
    for part in placed.partition_by("host"):
        for lane in part.partition_by("lane"):
            assert (lane["start_ps"][1:] >= lane["stop_ps"].head(lane.height - 1)).all()
        crowd = max(
            part.filter(
                (pl.col("start_ps") <= at) & ((pl.col("stop_ps") > at) | (pl.col("start_ps") == at))
            ).height
            for at in part["start_ps"]
        )
        highest = part["lane"].max()
        assert isinstance(highest, int)
        assert highest < crowd


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 20)), min_size=1, max_size=40)
)
def test_what_lies_within_another_of_its_number_shares_its_lane(
    given_tasks: list[tuple[int, int, int]],
) -> None:
    tasks = pl.DataFrame(
        [
            {"task": i, "job": "j", "host": "a", "number": n, "start_ps": start, "end_ps": start + took}
            for i, (n, start, took) in enumerate(given_tasks)
        ]
    )
    placed = lanes(tasks, 100)
    assert sorted(placed["task"]) == list(range(tasks.height))
    for lane in placed.partition_by("lane"):
        stack: list[dict[str, int]] = []
        for row in lane.iter_rows(named=True):
            while len(stack) > row["depth"]:
                assert stack.pop()["stop_ps"] <= row["start_ps"]
            assert len(stack) == row["depth"]
            if stack:
                assert stack[-1]["number"] == row["number"]
                assert stack[-1]["start_ps"] <= row["start_ps"]
                assert row["stop_ps"] <= stack[-1]["stop_ps"]
            stack.append(row)


def test_every_task_is_a_bar_that_tells_its_flows(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path, maps=40, reduces=8)
    page = write(tmp_path)
    bars = drawn(page)
    assert len(bars["what"]) == 40 + 3 * 8
    assert "Job terasort" in text_of(page)
    shuffle = next(i for i, what in enumerate(bars["what"]) if str(what).startswith("shuffle "))
    assert str(bars["flows"][shuffle]).startswith("4, longest compute")
    assert "128 MB" in str(bars["took"][shuffle])
    phases = charts_of(page, "bars")[0]["phases"]
    assert phases["kind"] == ["map", "reduce", "shuffle", "sort"]
    assert phases["tasks"] == [40, 8, 8, 8]


def test_tasks_that_did_not_end_are_outlined_and_listed(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path, stuck=2)
    page = write(tmp_path)
    assert sum(each == 2 for each in drawn(page)["stuck"]) == 4
    words = text_of(page)
    assert "4 tasks did not end" in words
    assert "Tasks that did not end" in words
    assert "shuffle 7 compute" in words


def test_thousands_of_tasks_stay_a_small_page_that_says_what_it_merged(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path, compute=30, slots=8, maps=9000, reduces=400)
    page = write(tmp_path)
    assert len(drawn(page)["what"]) <= 2500
    assert "drawn as one" in text_of(page)
    assert "10 hosts with less work left out" in text_of(page)
    assert page.stat().st_size < 3_000_000
    counted = [str(what) for what in drawn(page)["what"]]
    assert any(" tasks on compute" in what for what in counted)


def test_runs_share_an_axis_unless_one_is_much_longer(tmp_path: Path) -> None:
    for name, behaviour, slower in (("quick", DCTCP, 1.0), ("slow", DEEP, 1.5)):
        write_run(tmp_path / name, behaviour)
        write_tasks(tmp_path / name, slower=slower)
    words = text_of(write(tmp_path))
    assert "Job terasort, quick" in words
    assert "Job terasort, slow" in words


def test_a_long_start_of_one_task_is_left_out(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path)
    file = tmp_path / "tasks" / "part-00000.parquet"
    tasks = pl.read_parquet(file)
    long = pl.col("end_ps").max() * 4
    late = tasks.with_columns(pl.col("start_ps") + long, pl.col("end_ps") + long)
    first = late.head(1).with_columns(task=0, kind=pl.lit("application"), start_ps=0)
    pl.concat([first.cast(tasks.schema), late]).write_parquet(file)
    page = write(tmp_path)
    spec: Any = next(chart["spec"] for chart in data_of(page)["charts"] if "bars" in chart["columns"])  # type: ignore[operator]
    begin, end = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert begin > end / 2
    assert "Application 0 began at 0 s, long before the others" in text_of(page)


def test_a_run_without_tasks_has_no_timeline(tmp_path: Path) -> None:
    page = write(write_run(tmp_path))
    assert "Timeline of the job" not in text_of(page)


@pytest.mark.parametrize("name", ["</script>'\"`", "ü" * 80])
def test_names_of_hosts_stay_text(tmp_path: Path, name: str) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path)
    file = tmp_path / "tasks" / "part-00000.parquet"
    pl.read_parquet(file).with_columns(host=pl.lit(name)).write_parquet(file)
    page = write(tmp_path)
    assert all(str(what).endswith(name) for what in drawn(page)["what"])
    assert "</script>'" not in page.read_text("utf-8").split('id="data"')[1].split("</script>")[0]
