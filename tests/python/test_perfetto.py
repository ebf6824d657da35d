"""The Perfetto trace of a run, read back with the format's own library and checked by its rules."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from typer.testing import CliRunner

from incast.cli.app import app
from incast.cli.exits import Exit
from incast.errors import ResultError
from incast.perfetto import write
from incast.result import Result
from report_data import write_choices, write_run, write_tasks

BEGIN, END = proto.TrackEvent.TYPE_SLICE_BEGIN, proto.TrackEvent.TYPE_SLICE_END
COUNTER, INSTANT = proto.TrackEvent.TYPE_COUNTER, proto.TrackEvent.TYPE_INSTANT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with a job of tasks, one of them stuck."""
    write_run(tmp_path)
    write_tasks(tmp_path, maps=40, reduces=8, stuck=1)
    return tmp_path


def read(folder: Path) -> Any:
    """The trace of a run."""
    found = proto.Trace()
    found.ParseFromString(write(Result.open(folder), folder / "trace.pftrace").read_bytes())
    return found


def tracks(found: Any) -> dict[int, Any]:
    return {
        p.track_descriptor.uuid: p.track_descriptor for p in found.packet if p.HasField("track_descriptor")
    }


def events(found: Any, *kinds: int) -> list[Any]:
    return [p for p in found.packet if p.HasField("track_event") and p.track_event.type in kinds]


def test_every_event_is_on_a_track_that_is_described_before_it(folder: Path) -> None:
    known: set[int] = set()
    for packet in read(folder).packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in known
            assert not track.parent_uuid or track.parent_uuid in known
            known.add(track.uuid)
        else:
            assert packet.track_event.track_uuid in known
            assert packet.trusted_packet_sequence_id


def test_slices_of_a_track_follow_each_other_or_nest(folder: Path) -> None:
    """Perfetto takes an end for the end of the slice that began last."""
    found = pl.concat(
        [
            pl.read_parquet(folder / "tasks").select("start_ps", "end_ps"),
            pl.read_parquet(folder / "flows").select("start_ps", "end_ps"),
        ]
    )
    open_at: dict[int, list[int]] = {}
    spans: list[tuple[int, int]] = []
    last: dict[int, int] = {}
    for packet in events(read(folder), BEGIN, END):
        track, time = packet.track_event.track_uuid, packet.timestamp
        assert time >= last.get(track, 0)
        last[track] = time
        if packet.track_event.type == BEGIN:
            open_at.setdefault(track, []).append(time)
        else:
            spans.append((open_at[track].pop(), time))
    assert sum(map(len, open_at.values())) == 3  # a stuck reduce, its shuffle, its flow
    ended = found.drop_nulls().select(pl.all() // 1000)
    assert sorted(spans) == sorted(ended.rows())


def test_all_tasks_and_flows_are_there_with_their_times(folder: Path) -> None:
    found = read(folder)
    tasks = pl.read_parquet(folder / "tasks")
    slices = events(found, BEGIN)
    kinds = Counter(each.track_event.categories[0] for each in slices)
    assert kinds == {"map": 40, "shuffle": 8, "sort": 7, "reduce": 8, "flow": 40 + 8 * 4}
    starts = sorted(each.timestamp for each in slices if each.track_event.categories[0] != "flow")
    assert starts == sorted(start // 1000 for start in tasks["start_ps"])
    threads = [track.thread for track in tracks(found).values() if track.HasField("thread")]
    processes = {
        t.process.pid: t.process.process_name for t in tracks(found).values() if t.HasField("process")
    }
    assert {processes[thread.pid] for thread in threads} == {f"compute{i}" for i in range(4)}
    assert len({thread.tid for thread in threads}) == len(threads) == 16


def test_an_arrow_joins_a_task_and_each_flow_that_it_opened(folder: Path) -> None:
    ends: dict[int, list[str]] = {}
    for each in events(read(folder), BEGIN):
        for arrow in each.track_event.flow_ids:
            ends.setdefault(arrow, []).append(each.track_event.categories[0])
    assert len(ends) == 72
    assert all(sorted(pair) in (["flow", "map"], ["flow", "shuffle"]) for pair in ends.values())


def test_sampled_queues_are_counters_without_repeats(folder: Path) -> None:
    found = read(folder)
    named = {uuid: track.name for uuid, track in tracks(found).items() if track.HasField("counter")}
    queues = {uuid for uuid, name in named.items() if name.endswith(" queue")}
    assert len(queues) == 4
    last: dict[int, tuple[int, int]] = {}
    for each in events(found, COUNTER):
        track, value = each.track_event.track_uuid, each.track_event.counter_value
        time, before = last.get(track, (-1, -1))
        assert each.timestamp > time
        assert value != before
        last[track] = each.timestamp, value
    series = pl.read_parquet(folder / "ports_series")
    peak = max(each.track_event.counter_value for each in events(found, COUNTER))
    assert peak == series["queue_bytes"].max()


def test_faults_are_instants(folder: Path) -> None:
    assert [each.track_event.name for each in events(read(folder), INSTANT)] == [
        "link-down leaf0:spine0",
        "link-up leaf0:spine0",
    ]


def test_the_same_run_gives_the_same_bytes(folder: Path) -> None:
    first = write(Result.open(folder), folder / "a").read_bytes()
    assert write(Result.open(folder), folder / "b").read_bytes() == first


def test_a_run_has_to_be_named_where_there_are_several(tmp_path: Path) -> None:
    write_choices(tmp_path)
    with pytest.raises(ResultError, match="holds 4 runs: name one, like"):
        write(Result.open(tmp_path), tmp_path / "trace.pftrace")


def test_the_command_writes_it_where_it_is_told(folder: Path) -> None:
    done = CliRunner().invoke(app, ["trace", str(folder), "-o", str(folder / "x")])
    assert done.exit_code == Exit.OK
    assert f"Trace: {folder / 'x'}" in done.output
    assert (folder / "x").stat().st_size > 10_000
    bad = CliRunner().invoke(app, ["trace", str(folder), "-o", str(folder / "none" / "x")])
    assert bad.exit_code == Exit.USAGE
    assert "not written" in bad.output
