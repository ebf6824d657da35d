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
from incast.walks.output import Writer, check_free, written
from incast.walks.plan import Plan
from incast.walks.problem import refuse
from incast.walks.read import read
from incast.walks.result import WalkResult


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
    if given.core.nodes() == 0:
        refuse("the graph has no nodes", file=graph if isinstance(graph, str | Path) else "")
    began = given.find(starts, "--start") if starts else np.arange(given.core.nodes(), dtype=np.uint32)
    _, first = np.unique(began, return_index=True)
    began = began[np.sort(first)]
    try:
        with written(out, force) as writer:
            _walk(given, wanted, began, writer, threads or os.cpu_count() or 1, watch)
    except OSError as error:
        raise RunError(f"{out}: {error}") from error
    return WalkResult(out)


def _walk(graph: Graph, wanted: Plan, starts: Any, writer: Writer, threads: int, watch: Watch | None) -> None:
    # The walkers of SimRank go against the arcs, from every node.
    core = graph.core.reversed() if wanted.app == "simrank" and graph.core.directed() else graph.core
    everywhere = wanted.app == "simrank"
    if watch:
        watch.begin((len(graph.names) if everywhere else len(starts)) * wanted.walks)
    tell: Tell = watch.more if watch else lambda _: None
    memory = Memory(core, wanted, threads, tell)
    top = apps.OF[wanted.app](apps.Task(graph, wanted, starts, memory, writer))
    writer.summary(_summary(graph, wanted, len(starts), top))


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
