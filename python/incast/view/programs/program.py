"""What programs on real hosts share: nodes with a level, connections that carry something, a timeline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from incast import text
from incast.view import tables
from incast.view.chart import STEPS_MAX, Chart, chart
from incast.view.programs.arrange import arrange
from incast.view.programs.resample import gap_of, resample, step_of
from incast.view.pyramid import MEASURES, Kept, Pyramid
from incast.view.run import Run, UnknownError

ARROW = " → "


@dataclass(frozen=True)
class Node:
    """A box of the picture."""

    name: str
    what: str
    """What it is, like `Receiver`."""
    tier: int
    """Its row, from the top."""
    measured: bool = True
    """Whether it has a level."""


@dataclass(frozen=True)
class Parts:
    """What a program consists of."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    """Positions of nodes, the sender first."""

    @classmethod
    def around_network(cls, what: str, names: Sequence[str], *, sending: bool) -> Parts:
        """Nodes below the network, which has no level; an edge for each, to the network where it sends."""
        nodes = (Node("network", "Network", 0, measured=False), *(Node(name, what, 1) for name in names))
        return cls(nodes, tuple((n, 0) if sending else (0, n) for n in range(1, len(nodes))))

    @cached_property
    def measured(self) -> dict[str, int]:
        """The subjects that are nodes, by their names."""
        return {name: n for n, name in enumerate(node.name for node in self.nodes if node.measured)}

    @cached_property
    def connections(self) -> dict[str, int]:
        """The subjects behind them, which are edges, by their names."""
        first = len(self.measured)
        return {self.called(edge): first + n for n, edge in enumerate(self.edges)}

    @property
    def subjects(self) -> int:
        """How many there are."""
        return len(self.measured) + len(self.edges)

    def called(self, edge: tuple[int, int]) -> str:
        """An edge's name."""
        return ARROW.join(self.nodes[end].name for end in edge)


class Program(Run):
    """A program on real hosts."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """Its nodes and edges."""

    @property
    @abstractmethod
    def rows(self) -> pl.DataFrame:
        """The samples of all subjects, as `resample.ROWS`."""

    @abstractmethod
    def node_facts(self, name: str) -> list[tuple[str, str]]:
        """What is said of a node."""

    @abstractmethod
    def node_charts(self, name: str) -> list[Chart]:
        """A node over time."""

    @cached_property
    def end_ps(self) -> int:
        """The end of what is known."""
        latest = self.rows["time_ps"].max()
        ended = self.tasks["end_ps"].max()
        return max([1, *(each for each in (latest, ended) if isinstance(each, int))])

    def job(self, name: str, kind: str, *partly: str) -> pl.DataFrame:
        """Its one job; unfinished where its summary has one of the figures `partly`."""
        unfinished = any(self.summary.get(figure) for figure in partly)
        ended = ("unfinished" if unfinished else "finished", 0, self.end_ps)
        row = (name, kind, *((None, 0, None) if self.in_progress else ended))
        return pl.DataFrame([row], tables.JOBS, orient="row")

    @property
    def events(self) -> pl.DataFrame:
        """Nothing is known of faults of real hosts."""
        return pl.DataFrame(schema=tables.EVENTS)

    @cached_property
    def pyramid(self) -> Pyramid:
        """The samples, resampled to equal steps."""
        if not self.rows.height:
            return Kept((), 1, np.zeros((len(MEASURES), 1, 0), np.float32))
        count = self.parts.subjects
        step = step_of(self.end_ps, gap_of(self.rows), count)
        cells = resample(self.rows, count, step, self.end_ps)
        cells[:2, :, len(self.parts.measured) :] = 0  # Connections have no level.
        return Kept((*self.parts.measured, *self.parts.connections), step, cells)

    @property
    def sampled(self) -> list[int]:
        """All subjects are sampled, in their order."""
        return list(range(self.parts.subjects))

    @property
    def subjects(self) -> dict[str, list[Any]]:
        """Nodes, then connections, with the levels at the end."""
        parts = self.parts
        last = (
            self.rows.sort("time_ps").group_by("subject").agg(pl.col("level").last(), pl.col("drops").sum())
        )
        known = {subject: (level, drops) for subject, level, drops in last.iter_rows()}
        totals = [known.get(subject, (None, None)) for subject in range(parts.subjects)]
        nodes, edges = len(parts.measured), len(parts.edges)
        return {
            "of": ["node"] * nodes + ["port"] * edges,
            "name": [*parts.measured, *parts.connections],
            "node": [*parts.measured, *(parts.nodes[sender].name for sender, _ in parts.edges)],
            "rate_bps": [None] * parts.subjects,
            "flow": [None] * parts.subjects,
            "level": [level for level, _ in totals],
            "drops": [drops for _, drops in totals],
        }

    def drawing(self, width: int) -> dict[str, Any]:
        """Boxes in rows, and lines between them."""
        parts = self.parts
        spots = arrange([node.tier for node in parts.nodes], width)
        there = set(parts.edges)
        return {
            "width": width,
            "height": spots.height,
            "tiled": False,
            "nodes": [
                {
                    "label": node.name,
                    "what": node.what,
                    "tier": 1,
                    "count": 1,
                    "box": [round(each, 1) for each in box],
                    "subject": parts.measured[node.name] if node.measured else -1,
                }
                for node, box in zip(parts.nodes, spots.boxes, strict=True)
            ],
            "edges": [
                {
                    "ends": list(edge),
                    "subjects": [len(parts.measured) + n],
                    "rate_bps": 1,
                    "lane": [0, 1],
                    "whole": edge[::-1] not in there,
                }
                for n, edge in enumerate(parts.edges)
            ],
        }

    def follow(self, kind: str, name: str) -> dict[str, Any]:
        """Facts and charts of a node, a connection or a task."""
        if kind == "port":
            return self._connection(name)
        if kind == "task":
            return self._task(name)
        node = next((each for each in self.parts.nodes if each.name == name), None)
        if node is None:
            raise UnknownError(f"This run has no node {name}.")
        return {
            "title": f"{node.what} {name}" if node.measured else node.what,
            "facts": self.node_facts(name) if node.measured else [],
            "ports": [
                each
                for each, edge in zip(self.parts.connections, self.parts.edges, strict=True)
                if node in (self.parts.nodes[edge[0]], self.parts.nodes[edge[1]])
            ],
            "nodes": [name],
            "charts": self.node_charts(name) if node.measured else [],
        }

    def _connection(self, name: str) -> dict[str, Any]:
        subject = self.parts.connections.get(name)
        if subject is None:
            raise UnknownError(f"This run has no connection {name}.")
        sender, receiver = self.parts.edges[subject - len(self.parts.measured)]
        ends = [self.parts.nodes[sender].name, self.parts.nodes[receiver].name]
        flow = self.words.of["port"].flow
        level = self.pyramid.levels[at := self.pyramid.level_for(self.end_ps, STEPS_MAX)]
        counted = self.pyramid.cells(at, 0, level.steps)[MEASURES.index("sent"), :, subject]
        times = [(step + 1) * level.step_ps for step in range(len(counted))]
        line = (flow.name.lower(), counted * (flow.times * 1e12 / level.step_ps), None)
        return {
            "title": f"Connection {name}",
            "facts": [("From", ends[0]), ("To", ends[1])],
            "ports": [name],
            "nodes": ends,
            "charts": [each for each in [chart(flow.name, flow.unit, times, [line])] if each["lines"]],
        }

    def _task(self, name: str) -> dict[str, Any]:
        number = int(name) if name.isdecimal() and len(name) < 19 else -1
        found = self.tasks.filter(pl.col("task") == number)
        if not found.height:
            raise UnknownError(f"This run has no task {name}.")
        row = found.row(0, named=True)
        end = row["end_ps"]
        return {
            "title": f"{row['kind'].capitalize()} on {row['host']}",
            "facts": [
                ("Host", row["host"]),
                ("Started at", text.time(row["start_ps"])),
                ("Took", text.time(end - row["start_ps"]) if end is not None else "did not end"),
                ("Outcome", row["outcome"] or text.NONE),
            ],
            "ports": [],
            "nodes": [row["host"]],
            "charts": self.node_charts(row["host"]) if row["host"] in self.parts.measured else [],
        }

    def line(self, series: pl.DataFrame, columns: Sequence[str], times: int = 1) -> pl.DataFrame:
        """What is counted in columns, as a figure a second, `times` as much."""
        from incast.report import points

        found = points.rates(series, "time_ps", list(columns), self.end_ps, STEPS_MAX)
        return found.with_columns(pl.col(columns) * times)

    def drawn(self, title: str, unit: str, series: pl.DataFrame, columns: Sequence[str]) -> list[Chart]:
        """A chart of columns, by their names; none where nothing is above zero."""
        lines = [(column.lower(), series[column], None) for column in columns]
        made = chart(title, unit, series["time_ps"].to_list(), lines)
        return [made] if made["lines"] else []
