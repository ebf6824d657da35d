"""Reads a graph, walks on it, and writes the result."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
import polars as pl

from incast.errors import RunError, why
from incast.stop import Stop
from incast.walks import apps, request, server_tables
from incast.walks.board import Board
from incast.walks.changes import read as read_changes
from incast.walks.graph import U32, Graph
from incast.walks.memory import InMemory
from incast.walks.metrics import Exporter, split
from incast.walks.options import Options
from incast.walks.output import Writer, check_free, written
from incast.walks.partition import read as read_partition
from incast.walks.problem import refuse
from incast.walks.read import read
from incast.walks.record import Record
from incast.walks.request import Numbers, Request
from incast.walks.result import WalkResult
from incast.walks.servers import OnServers
from incast.walks.settings import make as make_settings
from incast.walks.where import place as place_of


class Watch:
    """Is told how walks go; by itself it shows nothing."""

    def begin(self, total: int, board: Board | None) -> None:
        """So many walks will be walked; with servers, where they say how they do."""

    def more(self, walks: int) -> None:
        """So many more are finished."""

    def metrics(self, address: str) -> None:
        """Where Prometheus finds figures."""

    def warn(self, message: str) -> None:
        """Something that one should know while they go on."""
        warnings.warn(message, stacklevel=2)


def run(
    graph: Any,
    out: Path,
    *,
    force: bool = False,
    watch: Watch | None = None,
    **options: Unpack[Options],
) -> WalkResult:
    """Walks on a graph into the folder `out`; the parameters are those of `incast.walk`."""
    watch = watch or Watch()
    wanted = request.make(options.get("app", "ppr"), **_numbers(options))
    _check(wanted, options)
    check_free(out, force)
    given = read(
        graph,
        weighted=options.get("weighted", False),
        directed=options.get("directed"),
        seed=wanted.seed,
    )
    if given.core.nodes() == 0:
        refuse("the graph has no nodes", file=graph if isinstance(graph, str | Path) else "")
    everywhere = np.arange(given.core.nodes(), dtype=np.uint32)
    began = np.unique(given.find(wanted.starts, "--start")) if wanted.starts else everywhere
    # The walkers of SimRank go against the arcs, from every node.
    alike = wanted.app == "simrank"
    from_ = everywhere if alike else began
    with Stop() as stop, ExitStack() as places:
        count = _Count(watch)
        walker = _walker(given, wanted, from_, options, count, stop, places)
        board = walker.board if isinstance(walker, OnServers) else None
        try:
            with (
                Exporter(options.get("metrics"), board) as exporter,
                Record(out, board),
                written(out, force) as writer,
            ):
                if exporter.address:
                    watch.metrics(exporter.address)
                watch.begin(len(from_) * wanted.walks, board)
                shown = apps.OF[wanted.app](apps.Task(given, wanted, began, walker, writer))
                summary = _summary(given, wanted, len(began), shown)
                if options.get("changes") is not None:
                    summary["changes"] = walker.changes.applied
                if walker.interrupted:
                    summary |= {"interrupted": True, "finished": count.walks}
                if isinstance(walker, OnServers):
                    summary |= _of_servers(walker, writer)
                writer.summary(summary)
        except OSError as error:
            raise RunError(f"{error.filename or out}: {why(error)}") from error
    if isinstance(walker, OnServers) and walker.failed:
        raise RunError(f"{walker.failed[0]}; {out} has the walks that were finished") from walker.failed[0]
    return WalkResult(out)


def _of_servers(walker: OnServers, writer: Writer) -> dict[str, Any]:
    """What the summary says of servers; nothing is written when they failed before any walk was finished."""
    handed = sum(walker.handed)
    if walker.failed and not handed:
        raise walker.failed[0]
    said: dict[str, Any] = {"servers": server_tables.write(walker, writer)}
    if walker.interrupted or walker.given_up:
        said["finished"] = handed
    if walker.given_up:
        said["given_up"] = walker.given_up
    if walker.failed:
        said["error"] = str(walker.failed[0])
    if walker.unwritten:
        said["unwritten"] = walker.unwritten
    return said


class _Count:
    """How many walks are finished."""

    def __init__(self, watch: Watch) -> None:
        self.walks = 0
        self._watch = watch

    def more(self, walks: int) -> None:
        self.walks += walks
        self._watch.more(walks)

    def warn(self, message: str) -> None:
        self._watch.warn(message)


def _numbers(options: Options) -> Numbers:
    known = Numbers.__annotations__
    return cast(Numbers, {name: said for name, said in options.items() if name in known})


def _check(wanted: Request, options: Options) -> None:
    """Refuses options that mean nothing, or can't be."""
    threads = options.get("threads")
    if threads is not None and threads < 1:
        refuse(f"{threads} threads: at least 1 is allowed", "--threads")
    if options.get("servers") is None and options.get("cluster") is None:
        for option, (name, what) in _OF_SERVERS.items():
            if options.get(name) is not None:
                refuse(f"it says {what}: it needs --servers", option)
    if options.get("changes") is not None and wanted.app == "communities":
        refuse("communities are of a graph that stays as it is", "--changes")
    if (place := options.get("metrics")) is not None:
        split(place)


_OF_SERVERS = {
    "--partition": ("partition", "which server owns which node"),
    "--set": ("settings", "how servers behave"),
    "--metrics": ("metrics", "where figures of servers are"),
}


def _walker(
    given: Graph,
    wanted: Request,
    starts: U32,
    options: Options,
    count: _Count,
    stop: Stop,
    places: ExitStack,
) -> InMemory | OnServers:
    """Where walks run: in this process, or on servers."""
    turned = wanted.app == "simrank" and given.core.directed()
    core = given.core.reversed() if turned else given.core
    servers, cluster = options.get("servers"), options.get("cluster")
    if servers is None and cluster is None:
        changes = read_changes(options.get("changes"), given, turned)
        threads = options.get("threads") or os.cpu_count() or 1
        return InMemory(core, wanted, threads, count.more, changes, stop)
    settings = make_settings(options.get("settings"))
    place, servers = place_of(cluster, servers, places)
    owners = read_partition(options.get("partition"), core.nodes(), servers)
    changes = read_changes(options.get("changes"), given, turned)
    walker = OnServers(
        core, wanted, starts, owners, servers, place, count.more, count.warn, settings, changes, stop
    )
    walker.check()
    return walker


def _summary(graph: Graph, wanted: Request, starts: int, top: pl.DataFrame) -> dict[str, Any]:
    core = graph.core
    return {
        "app": wanted.app,
        "graph": {
            "nodes": core.nodes(),
            "edges": graph.edges,
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
