"""Random walks on a graph that is spread over servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from incast import text
from incast.folder import scan
from incast.frames import rows, whole
from incast.kinds.job import Columns, Job, Site, Traits
from incast.kinds.walk.graph import EdgesGraph, SbmGraph, graph_spec, partition_spec
from incast.kinds.walk.settings import (
    Generation,
    WalkChange,
    WalkCodel,
    WalkCosts,
    WalkDatagrams,
    WalkLoss,
    WalkRed,
    WalkTailDrop,
)
from incast.lab.base import Count, Selector
from incast.lab.quantities import PositiveTime
from incast.metric import Metric
from incast.report.parts import Drawn, Section, Table
from incast.report.run import Run

_STOP = 0.15
"""Of personalised PageRank."""
_Steps = Annotated[int, Field(ge=1, le=2**24)]
_Bias = Annotated[float, Field(ge=1e-3, le=1e3)]


class Walk(Job):
    """Random walks on a graph spread over servers: every walker travels and queues by itself."""

    traits = Traits(judged="duration", flows="none")
    metrics = (
        Metric("walks_again", "walks generated again", row="any"),
        Metric("walks_unfinished", "walks not finished", row="any"),
    )
    columns = {
        "walks": Columns(
            "job host",
            "nodes finished additional steps "
            "drops_early drops_forced drops_full drops_wait drops_own lost_direct lost_timeout finished_ps",
        ),
        "walks_series": Columns(
            "job host",
            "time_ps queue queue_max finished served "
            "drops_early drops_forced drops_full drops_wait drops_own",
        ),
    }

    kind: Literal["walk"] = "walk"
    servers: Selector = "*"
    """The hosts that are servers, in order."""
    graph: Annotated[SbmGraph | EdgesGraph, Field(discriminator="kind")]
    """The graph."""
    partition: list[Annotated[int, Field(ge=0, lt=2**31)]] | None = None
    """Nodes of each server, in order; without a value one block per server, or as even as possible."""
    changes: list[WalkChange] = []
    """Edges that are added and removed, by time."""
    walks: Annotated[int, Field(ge=1, le=2**30)] = 10_000
    """Walks to finish per node."""
    stop: Annotated[float, Field(ge=1e-6, le=1)] | None = None
    """A walk stops with this probability before each step; without a value and without `length`, 0.15."""
    length: _Steps | None = None
    """Instead of `stop`: steps of each walk."""
    restart: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """A step leads back to the start with this probability."""
    p: _Bias = 1.0
    """node2vec's return parameter."""
    q: _Bias = 1.0
    """node2vec's in-out parameter."""
    steps_max: _Steps = 65_536
    """A walk ends after this many steps, whatever its rule says."""
    regenerate: bool = True
    """A lost walk is generated again, until all are finished."""
    retry: Literal["same", "fresh"] = "same"
    """A walk that is generated again repeats its path, or takes a new random path, which favours short
    walks."""
    queue: Annotated[WalkTailDrop | WalkRed | WalkCodel, Field(discriminator="kind")] = WalkRed()
    """Which walkers a server drops (RQ)."""
    limit: Count = 100
    """Most walkers waiting at a server."""
    loss: WalkLoss = WalkLoss()
    """How a source finds losses (RG)."""
    generation: Generation = Generation()
    """How a source generates walkers (RG)."""
    datagrams: WalkDatagrams = WalkDatagrams()
    """Walkers per datagram."""
    authenticate: bool = True
    """Datagrams carry a tag of 8 bytes that only members can make."""
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    """Walkers that a server serves in parallel; its host has cores for them and for generation."""
    costs: WalkCosts | list[WalkCosts] = WalkCosts()
    """How long things take on all servers, or on each in order."""
    snapshot: PositiveTime | None = None
    """Time between snapshots of a source's finished walks, for a restart; without a value, one at the end."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads: the graph drawn or read, and who owns which node."""
        servers = site.hosts(self.servers, "servers")
        graph = graph_spec(self.graph, site)
        costs = self.costs if isinstance(self.costs, list) else [self.costs]
        if len(costs) not in (1, len(servers)):
            site.refuse("costs", f"{len(costs)} for {len(servers)} servers: one, or one for each")
        return {
            **self.settings("length", "stop", "p", "q"),
            "servers": servers,
            "graph": graph,
            "partition": partition_spec(self.partition, self.graph, graph, len(servers), site),
            "steps": self._steps(site),
            "node2vec": None if (self.p, self.q) == (1, 1) else [self.p, self.q],
            "costs": [each.base_units() for each in costs],
        }

    def _steps(self, site: Site) -> dict[str, Any]:
        if self.length is not None and self.stop is not None:
            site.refuse("length", "either length or stop: how long a walk is can be said once")
        if self.length is not None:
            return {"fixed": self.length}
        return {"stop": _STOP if self.stop is None else self.stop}

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """Walks that were not finished."""
        import polars as pl  # It takes a while.

        of_jobs = scan(folder, "walks").group_by(pl.col("job").cast(pl.String))
        counted = of_jobs.agg(pl.col("given_up", "finished", "required").sum()).collect()
        found = {}
        for job, given_up, finished, required in counted.filter(pl.col("job").is_in(jobs)).iter_rows():
            of = f"of {text.plural(required, 'walk')}"
            found[job] = f"{text.count(finished)} {of} finished" + (
                f", {text.count(given_up)} given up: all their attempts timed out" if given_up else ""
            )
        return found

    @classmethod
    def section(cls, drawn: list[Drawn]) -> Section | None:
        """Servers over time."""
        from incast.report.walking import walking

        return Section("walking", "Random walks", walking(drawn), folded=True)

    @classmethod
    def figures(cls, folder: Path) -> dict[str, dict[str, Any]]:
        """How many walks were generated again, and how many of those that were asked for did not end."""
        import polars as pl

        unfinished = pl.col("required").cast(pl.Int64) - pl.col("finished").cast(pl.Int64)
        walks = scan(folder, "walks").with_columns(pl.col("job").cast(pl.String), left=unfinished)
        found = walks.group_by("job").agg(
            pl.col("additional").sum().alias("walks_again"),
            pl.col("left").clip(lower_bound=0).sum().alias("walks_unfinished"),
        )
        return {
            row.pop("job"): {key: whole(figure) for key, figure in row.items()}
            for row in rows(found.sort("job"))
        }

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """Servers, and how each fared."""
        from incast.report.walking import servers

        return servers(run)
