"""The applications: from walks to the tables and files of a result, and to what is shown of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO, Protocol

import numpy as np
import polars as pl

from incast import _core
from incast.walks.graph import U32, Graph
from incast.walks.memory import U64, Ends, Paths
from incast.walks.output import Writer
from incast.walks.problem import refuse
from incast.walks.request import Request

NO_NODE = 2**32 - 1
"""Fills a row of `walks.npy` whose walk ended at a node without arcs."""
NO_COMMUNITY = 2**32 - 1
"""The core's label of a node that has none."""
CELLS_MAX = 1 << 40


class Walks(Protocol):
    """What walks: the core in memory, or servers."""

    @property
    def interrupted(self) -> bool:
        """Walks were stopped before all were finished: what there is are those that were."""
        ...

    def ends(self, starts: U32) -> Iterator[Ends]:
        """Where walks end, start after start."""
        ...

    def paths(self, starts: U32) -> Iterator[Paths]:
        """Paths, in the order of the starts, by number."""
        ...


@dataclass(frozen=True)
class Task:
    """What an application has to work with."""

    graph: Graph
    request: Request
    starts: U32
    walks: Walks
    writer: Writer

    @property
    def all(self) -> bool:
        """Nobody has said where walks begin."""
        return not self.request.starts


def pagerank(task: Task) -> pl.DataFrame:
    """Personalised PageRank of every start; of all starts together, PageRank."""
    ended = np.zeros(len(task.graph.names), dtype=np.uint64)
    best = [_best(_scores(task, _NOTHING), task.request.top)]
    for part in task.walks.ends(task.starts):
        np.add.at(ended, part[1], part[2])
        scores = _scores(task, part)
        task.writer.table("scores", scores)
        best.append(_best(scores, task.request.top))
    top = pl.concat(best)
    task.writer.table("top", top)
    visits = _visits(task, ended, "walks")
    return _most(visits, task.request.top) if task.all else top


_NOTHING: Ends = (np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint64))


def _scores(task: Task, part: Ends) -> pl.DataFrame:
    starts, nodes, counts = part
    frame = pl.DataFrame(
        {"start": task.graph.named(starts), "node": task.graph.named(nodes), "walks": counts}
    )
    return frame.with_columns(score=pl.col("walks") / pl.col("walks").sum().over("start"))


def _best(scores: pl.DataFrame, k: int) -> pl.DataFrame:
    """The best of each start; of equal ones the one whose name comes first."""
    ranked = scores.sort(["start", "score", "node"], descending=[False, True, False], maintain_order=True)
    ranked = ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("start"))
    return ranked.filter(pl.col("rank") <= k).select("start", "rank", "node", "score")


def _visits(task: Task, counts: U64, name: str) -> pl.DataFrame:
    """How often each node was reached, as a table."""
    frame = pl.DataFrame({"node": task.graph.names, name: counts})
    frame = frame.with_columns(share=(pl.col(name) / pl.col(name).sum()).fill_nan(0.0))
    task.writer.table("visits", frame)
    return frame


def _most(visits: pl.DataFrame, k: int) -> pl.DataFrame:
    most = visits.sort(["share", "node"], descending=[True, False]).head(k)
    return most.with_row_index("rank", offset=1)


def corpus(task: Task) -> pl.DataFrame:
    """Every walk a line of node names."""
    if not _numbers(task):
        _check_words(task.graph.names)
    plain = (
        bool((task.graph.names == pl.Series(range(len(task.graph.names)))).all()) if _numbers(task) else False
    )
    names = None if plain else task.graph.names.cast(pl.String).to_numpy()
    visited = np.zeros(len(task.graph.names), dtype=np.uint64)
    with (task.writer.folder / "corpus.txt").open("wb") as file:
        for nodes, offsets in task.walks.paths(task.starts):
            visited += np.bincount(nodes, minlength=len(visited)).astype(np.uint64)
            file.write(_core.walk_lines(nodes, offsets) if names is None else _lines(names, nodes, offsets))
    return _most(_visits(task, visited, "visits"), task.request.top)


def _check_words(names: pl.Series) -> None:
    """Refuses names that a line of names could not be told from others."""
    for name in names.filter(names.str.contains(r"\s") | (names == "")).head(1):
        refuse(f"node {name!r}: corpus.txt has a blank between nodes, so a name can't have one, or be empty")


def _numbers(task: Task) -> bool:
    return task.graph.names.dtype.is_integer()


def _lines(names: Any, nodes: U32, offsets: U64) -> bytes:
    words = names[nodes].tolist()
    ends = offsets.tolist()
    lines = (" ".join(words[begin:end]) for begin, end in pairwise(ends))
    return ("\n".join(lines) + "\n").encode()


def node2vec(task: Task) -> pl.DataFrame:
    """Walks as a matrix of node numbers, a row each; the table `nodes` has the names."""
    assert task.request.steps is not None
    shape = (len(task.starts) * task.request.walks, task.request.steps + 1)
    if shape[0] * shape[1] > CELLS_MAX:
        refuse(f"walks.npy would have {shape[0]} × {shape[1]} numbers: at most 2^40 are allowed", "--walks")
    visited = np.zeros(len(task.graph.names), dtype=np.uint64)
    row = 0
    with (task.writer.folder / "walks.npy").open("wb") as file:
        _write_head(file, shape)
        # A disk without room for all walks is found before the first one.
        os.posix_fallocate(file.fileno(), 0, file.tell() + 4 * shape[0] * shape[1])
        for nodes, offsets in task.walks.paths(task.starts):
            visited += np.bincount(nodes, minlength=len(visited)).astype(np.uint64)
            lengths = np.diff(offsets.astype(np.int64))
            block = np.full((len(lengths), shape[1]), NO_NODE, dtype=np.uint32)
            block[np.arange(shape[1]) < lengths[:, None]] = nodes
            file.write(block.data)
            row += len(lengths)
        if row < shape[0]:  # Some walks were not finished. NumPy's head has room for any number of rows.
            file.truncate()
            file.seek(0)
            _write_head(file, (row, shape[1]))
    task.writer.table("nodes", pl.DataFrame({"node": task.graph.names}).with_row_index("number"))
    return _most(_visits(task, visited, "visits"), task.request.top)


def _write_head(file: BinaryIO, shape: tuple[int, int]) -> None:
    kind = np.lib.format.dtype_to_descr(np.dtype(np.uint32))
    head = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)


def simrank(task: Task) -> pl.DataFrame:
    """The nodes most like each start."""
    everything = np.arange(len(task.graph.names), dtype=np.uint32)
    prints = _core.WalkFingerprints()
    for nodes, offsets in task.walks.paths(everything):
        prints.add(nodes, offsets)
    tops = [_ranked(task, prints.top(int(start), task.request.top), start) for start in task.starts]
    top = pl.concat(tops)
    task.writer.table("top", top)
    return (
        top.sort(["score", "start", "rank"], descending=[True, False, False]).head(task.request.top)
        if task.all
        else top
    )


def _ranked(task: Task, found: list[tuple[int, float]], start: int | None = None) -> pl.DataFrame:
    nodes, scores = [node for node, _ in found], [score for _, score in found]
    frame = pl.DataFrame({"node": task.graph.named(nodes), "score": pl.Series(scores, dtype=pl.Float64)})
    frame = frame.with_row_index("rank", offset=1)
    if start is None:
        return frame
    named = task.graph.named([start])
    return frame.select(pl.lit(named.first(), named.dtype).alias("start"), "rank", "node", "score")


def communities(task: Task) -> pl.DataFrame:
    """A community for each node; with starts, the one around each of them.

    Of walks that were interrupted: those around nodes from which some had finished; other nodes have none.
    """
    graph = task.graph
    if graph.core.directed():
        refuse("communities are of undirected graphs", "--directed")
    if not task.all:
        return _around(task)
    labels = np.frombuffer(_core.walk_communities(graph.core, _Around(task)), np.uint32)
    frame = pl.DataFrame({"node": graph.names, "community": labels})
    frame = frame.with_columns(pl.col("community").replace(NO_COMMUNITY, None))
    task.writer.table("communities", frame)
    sizes = (
        frame.drop_nulls("community").group_by("community").agg(nodes=pl.len(), first=pl.col("node").min())
    )
    return sizes.sort(["nodes", "community"], descending=[True, False]).head(task.request.top)


class _Around:
    """The scores around a seed, for the core: walked when they are asked for."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, seed: int) -> tuple[Any, Any] | None:
        for _, nodes, counts in self._task.walks.ends(np.array([seed], dtype=np.uint32)):
            if len(nodes):
                return nodes, counts / counts.sum()
        return None


def _around(task: Task) -> pl.DataFrame:
    around = _Around(task)
    rows = []
    for start in task.starts:
        if (scores := around(int(start))) is None:
            continue
        nodes, conductance = _core.walk_sweep(task.graph.core, *scores)
        members = _ranked(task, [(node, 0.0) for node in nodes], start).drop("score")
        task.writer.table("members", members)
        rows.append((task.graph.named([start])[0], len(nodes), conductance))
    kinds = {"start": task.graph.names.dtype, "nodes": pl.Int64(), "conductance": pl.Float64()}
    return pl.DataFrame(rows, kinds, orient="row")


def recommend(task: Task) -> pl.DataFrame:
    """What walks from the liked nodes reach, ranked."""
    visits = _core.WalkVisits()
    for nodes, offsets in task.walks.paths(task.starts):
        visits.add(nodes, offsets)
    offered = task.graph.core.same_side([int(start) for start in task.starts])
    found = visits.recommend([int(start) for start in task.starts], offered, task.request.top)
    top = _ranked(task, found)
    task.writer.table("top", top)
    return top


OF: dict[str, Callable[[Task], pl.DataFrame]] = {
    "ppr": pagerank,
    "node2vec": node2vec,
    "corpus": corpus,
    "simrank": simrank,
    "communities": communities,
    "recommend": recommend,
}
