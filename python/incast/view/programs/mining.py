"""Mining on nodes: how many passes each node has behind it, and what nodes send each other."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from incast import stored, text
from incast.mining.record import JOB
from incast.view import places, tables
from incast.view.chart import Chart
from incast.view.programs.program import Parts, Program
from incast.view.programs.resample import as_rows, position
from incast.view.words import Measure, Subject, Words

_PASSES = tables.schema(
    "host", "pass candidates large scans sent_bytes received_bytes sent_entries begin_ps end_ps"
)
_MOVED = ("sent_bytes", "received_bytes")
_SERIES = tables.schema("host", " ".join(("time_ps pass done transactions scanned", *_MOVED)))


class Mining(Program):
    """What `incast mine --nodes` writes."""

    read_summary = staticmethod(stored.read_mine)
    words = Words(
        kinds={"node": "Node", "port": "Connection", "task": "Task number"},
        following="Follow a node, a connection or a task",
        of={
            "node": Subject(
                "Node",
                level=Measure("Passes done", "count", "nothing done"),
                flow=Measure("Transactions", "pace"),
            ),
            "port": Subject("Connection", flow=Measure("Sending", "rate", "much is sent", times=8)),
        },
        listed="node",
        heading="Nodes that are least far",
        picture="how many passes a node has behind it, in parts too, and what was sent",
        totals="How far nodes were at the end.",
        unsampled="No node has reported yet.",
        rising=True,
        ramp="p",
    )

    def __init__(self, place: places.Place) -> None:
        super().__init__(place)
        if not self.problem and not self.in_progress and not tables.parts(self.folder, "passes"):
            self.problem = (
                f"{self.name} was mined by one process: only nodes (--nodes) say over time how far they are."
            )

    @cached_property
    def passes(self) -> pl.DataFrame:
        """A row a pass of a node, and one of a node that has said nothing yet."""
        return self.read("passes", _PASSES).drop_nulls("host").sort("host", "pass")

    @cached_property
    def series(self) -> pl.DataFrame:
        """The samples of nodes."""
        return self.read("passes_series", _SERIES).drop_nulls(["time_ps", "host"]).sort("time_ps", "host")

    @cached_property
    def names(self) -> list[str]:
        """The nodes."""
        return sorted(self.passes["host"].unique(), key=text.natural_key)

    @cached_property
    def parts(self) -> Parts:
        """The nodes below the network."""
        return Parts.around_network("Node", self.names, sending=True)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Nodes with the passes behind them; connections with what they send."""
        node = position("host", self.parts.measured)
        within = (pl.col("done") / pl.col("transactions")).fill_nan(0).fill_null(0).clip(0, 1)
        passes = (pl.col("pass") - 1).clip(0) + within
        nodes = as_rows(self.series, node, level=passes, flow="scanned")
        sending = as_rows(self.series, node + len(self.parts.measured), flow="sent_bytes")
        return pl.concat([nodes, sending, self._ends(node)])

    def _ends(self, node: pl.Expr) -> pl.DataFrame:
        """The levels when nodes begin and when passes end: a busy node has few samples."""
        begun = self.passes.group_by("host").agg(pl.col("begin_ps").min().alias("time_ps"), level=pl.lit(0))
        ended = self.passes.select("host", time_ps="end_ps", level="pass")
        both = pl.concat([begun, ended], how="vertical_relaxed").drop_nulls()
        return as_rows(both, node, level="level")

    @property
    def jobs(self) -> pl.DataFrame:
        """The mining."""
        return self.job(JOB, JOB)

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """Each pass of each node."""
        known = self.passes.drop_nulls(["pass", "begin_ps"]).select("host", "pass", "begin_ps", "end_ps")
        rows = []
        for n, (host, number, begin, end) in enumerate(known.rows(), 1):
            outcome = "finished" if end is not None else None
            rows.append((JOB, host, f"pass {number}", outcome, n, number, begin, end, None))
        return pl.DataFrame(rows, tables.TASKS, orient="row")

    def missing(self) -> list[str]:
        """Passes that nobody saw."""
        first = self.passes["pass"].min()
        if not isinstance(first, int) or first <= 1:
            return []
        return [f"The first {text.plural(first - 1, 'pass')} were an interrupted run's, and are not shown."]

    def node_facts(self, name: str) -> list[tuple[str, str]]:
        """What a node has done in its passes."""
        own = self.passes.filter(pl.col("host") == name).drop_nulls("pass")
        scans, sent, received = own.select(pl.col("scans", *_MOVED).sum()).row(0)
        said = [
            ("Passes", text.count(own.drop_nulls("end_ps").height)),
            ("Scans", text.count(scans)),
            ("Sent", text.size(sent)),
            ("Received", text.size(received)),
        ]
        for number, large in own.drop_nulls("end_ps").select("pass", "large").rows()[:20]:
            said.append((f"Large after pass {number}", text.count(large)))
        return said

    def node_charts(self, name: str) -> list[Chart]:
        """How far a node is, what it goes over, sends and receives."""
        own = self.series.filter(pl.col("host") == name)
        far = self.rows.filter(pl.col("subject") == self.parts.measured[name])
        columns = {"scanned": "transactions", "sent_bytes": "sent", "received_bytes": "received"}
        rates = self.line(own, list(columns)).rename(columns)
        moved = rates.with_columns(pl.col("sent", "received") * 8)
        return [
            *self.drawn("Passes done", "count", far.rename({"level": "passes"}), ["passes"]),
            *self.drawn("Transactions", "pace", rates, ["transactions"]),
            *self.drawn("Traffic", "rate", moved, ["sent", "received"]),
        ]
