"""A run as a Perfetto trace: a process a host with its tasks and flows, a process a switch with its queues.

Tasks are slices on as many threads as ran at a time; a task that did not end has no end here either. Flows
are slices at their receiver, with an arrow from the task that opened them. What was sampled of ports are
counters, faults are instants. Times are nanoseconds: what is finer is cut off.

Source: perfetto.dev, Writing TrackEvent protos synthetically.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from incast.extras import extra
from incast.folder import exported
from incast.kinds import traits
from incast.lanes import lanes
from incast.result import Result
from incast.text import natural_key

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

_SEQUENCE = 1
_PS = 1000  # in a nanosecond
_NEVER = 2**62  # what did not end keeps its lane
_COUNTERS = (
    ("queue_bytes", "queue", "bytes"),
    ("drops", "discards", "count"),
    ("marks", "ECN marks", "count"),
    ("pause_sent", "PAUSE sent", "count"),
    ("pause_received", "PAUSE received", "count"),
)


def write(run: Result, target: Path) -> Path:
    """Writes the trace of one run to `target`; raises `ResultError` where `run` holds several."""
    run = run.single()
    with extra("trace"):  # Here, because it takes long to load.
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    with exported(target) as file:
        _TrackWriter(StreamingTraceProtoBuilder(file), proto).run(run)
    return target


class _TrackWriter:
    """Numbers tracks and writes packets as they come."""

    def __init__(self, builder: Any, proto: Any) -> None:
        self._builder = builder
        self._event = proto.TrackEvent
        self._units = {
            "bytes": proto.CounterDescriptor.UNIT_SIZE_BYTES,
            "count": proto.CounterDescriptor.UNIT_COUNT,
        }
        self._explicit = proto.TrackDescriptor.EXPLICIT
        self._uuids = count(1)
        self._threads = count(1_000_000)
        self._processes: dict[str, tuple[int, int]] = {}

    def run(self, run: Result) -> None:
        """All of a run."""
        tasks, flows = _words(run.tasks), _words(_of_jobs(run))
        for host in sorted({*tasks["host"], *flows["to"]}, key=natural_key):
            self._process(host)
        opened = dict(
            flows.filter(pl.col("group").is_in(tasks["task"].implode()))
            .group_by("group")
            .agg("flow")
            .iter_rows()
        )
        self._tasks(lanes(tasks, _NEVER), opened)
        at_receiver = flows.rename({"to": "host"}).with_columns(task=pl.col("flow"))
        self._flows(lanes(at_receiver, _NEVER), set(tasks["task"]))
        self._ports(run)
        self._faults(_words(run.events))

    def _tasks(self, tasks: pl.DataFrame, opened: dict[int, list[int]]) -> None:
        for lane in tasks.partition_by("host", "lane", maintain_order=True):
            pid, process = self._process(lane["host"][0])
            number = lane["lane"][0] + 1
            track = self._track(parent=process, rank=number)
            track.track_descriptor.thread.pid = pid
            track.track_descriptor.thread.tid = next(self._threads)
            track.track_descriptor.thread.thread_name = f"slot {number}"
            self._write(track)
            around: list[dict[str, Any]] = []
            for row in lane.iter_rows(named=True):
                self._end(track.track_descriptor.uuid, around, row["depth"])
                around.append(row)
                facts = {"job": row["job"], "bytes": row["bytes"], "outcome": row["outcome"]}
                arrows = [flow + 1 for flow in opened.get(row["task"], ())]
                name = f"{row['kind']} {row['number']}"
                self._begin(track.track_descriptor.uuid, row, name, row["kind"], facts, arrows)
            self._end(track.track_descriptor.uuid, around)

    def _flows(self, flows: pl.DataFrame, tasks: set[int]) -> None:
        """Flows that overlap are on tracks of the same name, which the viewer shows as one."""
        for lane in flows.partition_by("host", "lane", maintain_order=True):
            _, process = self._process(lane["host"][0])
            track = self._track(parent=process, name="flows", rank=10_000)
            self._write(track)
            for row in lane.iter_rows(named=True):
                facts = {
                    key: row[key] for key in ("job", "flow", "bytes", "retransmits", "timeouts", "outcome")
                }
                arrows = [row["flow"] + 1] if row["group"] in tasks else []
                name = f"{row['from']} → {row['host']}"
                self._begin(track.track_descriptor.uuid, row, name, "flow", facts, arrows)
                self._end(track.track_descriptor.uuid, [row])

    def _ports(self, run: Result) -> None:
        """Each figure of each sampled port that was ever above zero; repeated values are left out."""
        ends = _words(run.ports.select("port", "node", "peer"))
        nodes = {port: (node, peer) for port, node, peer in ends.iter_rows()}
        series = _words(run.ports_series).filter(pl.col("class").is_null()).sort("port", "time_ps")
        for part in series.partition_by("port", maintain_order=True):
            port = part["port"][0]
            _, process = self._process(nodes[port][0])
            for rank, (column, what, unit) in enumerate(_COUNTERS):
                if column not in part.columns or not part[column].max():
                    continue
                name = f"{port.partition(':')[2]} {what}"
                track = self._track(parent=process, name=name, rank=20_000 + rank)
                track.track_descriptor.counter.unit = self._units[unit]
                self._write(track)
                changed = part.filter(pl.col(column).ne_missing(pl.col(column).shift()))
                for time, value in changed.select("time_ps", column).iter_rows():
                    packet = self._packet(time, track.track_descriptor.uuid, self._event.TYPE_COUNTER)
                    packet.track_event.counter_value = value or 0
                    self._write(packet)

    def _faults(self, events: pl.DataFrame) -> None:
        if not events.height:
            return
        track = self._track(name="faults")
        self._write(track)
        for time, what, where in events.select("time_ps", "what", "where").iter_rows():
            packet = self._packet(time, track.track_descriptor.uuid, self._event.TYPE_INSTANT)
            packet.track_event.name = f"{what} {where}"
            self._write(packet)

    def _process(self, node: str) -> tuple[int, int]:
        """The process that stands for a host or a switch: (its number, its track)."""
        if node not in self._processes:
            track = self._track()
            pid = len(self._processes) + 1
            track.track_descriptor.process.pid = pid
            track.track_descriptor.process.process_name = node
            track.track_descriptor.child_ordering = self._explicit
            self._write(track)
            self._processes[node] = pid, track.track_descriptor.uuid
        return self._processes[node]

    def _track(self, parent: int = 0, name: str = "", rank: int = 0) -> TracePacket:
        packet = self._builder.create_packet()
        packet.track_descriptor.uuid = next(self._uuids)
        if parent:
            packet.track_descriptor.parent_uuid = parent
            packet.track_descriptor.sibling_order_rank = rank
        if name:
            packet.track_descriptor.name = name
        return packet

    def _begin(
        self,
        track: int,
        row: dict[str, Any],
        name: str,
        category: str,
        facts: dict[str, str | int | None],
        arrows: Iterable[int],
    ) -> None:
        packet = self._packet(row["start_ps"], track, self._event.TYPE_SLICE_BEGIN)
        packet.track_event.name = name
        packet.track_event.categories.append(category)
        packet.track_event.flow_ids.extend(arrows)
        for key, value in facts.items():
            note = packet.track_event.debug_annotations.add()
            note.name = key
            if isinstance(value, str):
                note.string_value = value
            else:
                note.uint_value = value or 0
        self._write(packet)

    def _end(self, track: int, around: list[dict[str, Any]], depth: int = 0) -> None:
        """Ends the slices that lie at this depth or deeper; what did not end has no end."""
        while len(around) > depth:
            row = around.pop()
            if row["end_ps"] is not None:
                self._write(self._packet(row["stop_ps"], track, self._event.TYPE_SLICE_END))

    def _packet(self, time_ps: int, track: int, kind: Any) -> TracePacket:
        packet = self._builder.create_packet()
        packet.timestamp = time_ps // _PS
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def _write(self, packet: TracePacket) -> None:
        self._builder.write_packet(packet)


def _of_jobs(run: Result) -> pl.DataFrame:
    """The flows of all jobs but background traffic."""
    kinds = run.jobs.select(pl.col("job", "kind").cast(pl.String)).iter_rows()
    noise = [job for job, kind in kinds if not traits(kind).awaited]
    return run.flows.filter(~pl.col("job").cast(pl.String).is_in(noise))


def _words(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its dictionaries as text."""
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))
