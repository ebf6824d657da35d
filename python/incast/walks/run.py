"""Reads a graph, walks on it, and writes the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incast.errors import RunError
from incast.walks import apps, plan
from incast.walks.graph import Graph
from incast.walks.memory import Memory, Tell
from incast.walks.output import check_free, written
from incast.walks.partition import read as read_partition
from incast.walks.plan import Plan
from incast.walks.problem import refuse
from incast.walks.read import read
from incast.walks.result import WalkResult
from incast.walks.servers import Servers


@dataclass(frozen=True)
class Watch:
    """Is told how many walks there will be, and how many more are finished."""

    begin: Tell
    more: Tell


def run(
    graph: Any,
    out: Path,
    *,
    app: str = "ppr",
    starts: Sequence[Any] = (),
    walks: int | None = None,
    restart: float | None = None,
    length: int | None = None,
    p: float | None = None,
    q: float | None = None,
    weighted: bool = False,
    directed: bool | None = None,
    seed: int = 1,
    top: int = 10,
    threads: int | None = None,
    servers: int | None = None,
    partition: str | Path | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> WalkResult:
    """Walks on a graph into the folder `out`; the parameters are those of `incast.walk`."""
    wanted = plan.make(
        app, walks=walks, restart=restart, length=length, p=p, q=q, seed=seed, top=top, starts=starts
    )
    if threads is not None and threads < 1:
        refuse(f"{threads} threads: at least 1 is allowed", "--threads")
    check_free(out, force)
    given = read(graph, weighted=weighted, directed=directed, seed=seed)
    nodes = given.core.nodes()
    if nodes == 0:
        refuse("the graph has no nodes", file=graph if isinstance(graph, str | Path) else "")
    everywhere = np.arange(nodes, dtype=np.uint32)
    began = np.unique(given.find(starts, "--start")) if starts else everywhere
    # The walkers of SimRank go against the arcs, from every node.
    alike = app == "simrank"
    core = given.core.reversed() if alike and given.core.directed() else given.core
    from_ = everywhere if alike else began
    tell: Tell = watch.more if watch else lambda _: None
    walker: apps.Walks
    if servers is None:
        if partition is not None:
            refuse("it says which server owns which node: it needs --servers", "--partition")
        walker = Memory(core, wanted, threads or os.cpu_count() or 1, tell)
    else:
        owners = read_partition(None if partition is None else Path(partition), nodes, servers)
        walker = Servers(core, wanted, from_, owners, servers, tell)
        walker.check()
    if watch:
        watch.begin(len(from_) * wanted.walks)
    try:
        with written(out, force) as writer:
            shown = apps.OF[app](apps.Task(given, wanted, began, walker, writer))
            writer.summary(_summary(given, wanted, len(began), shown))
    except OSError as error:
        raise RunError(f"{out}: {error}") from error
    return WalkResult(out)


def _summary(graph: Graph, wanted: Plan, starts: int, top: pl.DataFrame) -> dict[str, Any]:
    core = graph.core
    return {
        "app": wanted.app,
        "graph": {
            "nodes": core.nodes(),
            "arcs": core.arcs(),
            "directed": core.directed(),
            "weighted": core.weighted(),
        },
        "starts": starts,
        "walks_per_start": wanted.walks,
        "length": wanted.steps,
        "restart": wanted.stop,
        "p": wanted.bias[0] if wanted.bias else None,
        "q": wanted.bias[1] if wanted.bias else None,
        "seed": wanted.seed,
        "top": top.to_dicts(),
    }
