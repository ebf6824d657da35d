"""Graphs from what people have: edge lists, tables, compressed rows, networkx objects, block models."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from incast import _core
from incast.errors import why
from incast.extras import extra
from incast.stop import aside
from incast.text import size
from incast.walks import edges
from incast.walks.graph import WEIGHT, Graph, build, possible
from incast.walks.problem import refuse

if TYPE_CHECKING:
    import networkx as nx

FORMS = (
    "an edge list (.txt, .txt.gz), a table (.csv, .csv.gz, .parquet), compressed rows (.npz), "
    "or sbm:PARTITIONS,NODES,INSIDE,BETWEEN"
)


def read(given: Any, *, weighted: bool, directed: bool | None, seed: int) -> Graph:
    """The graph that a path, the text `sbm:…` or a networkx object stands for."""
    if not isinstance(given, str | Path):
        import networkx as nx  # Only such a graph needs it.

        if isinstance(given, nx.Graph):
            return _networkx(given, weighted, given.is_directed() if directed is None else directed)
        refuse(f"{type(given).__name__} is no graph: a networkx graph, a path, or sbm:… is allowed")
    if str(given).startswith("sbm:"):
        return _blocks(str(given), weighted, bool(directed), seed)
    file = Path(given)
    if not file.is_file():
        there = "is a directory" if file.is_dir() else "is not a regular file" if file.exists() else ""
        refuse(f"{there}: {FORMS} is allowed" if there else "there is no such file", file=file)
    name = file.name.removesuffix(".gz")
    if name.endswith(".txt"):
        return edges.read_list(file, weighted, bool(directed))
    if name.endswith(".csv"):
        return edges.read_csv(file, weighted, bool(directed))
    if file.suffix == ".parquet":
        return edges.read_parquet(file, weighted, bool(directed))
    if file.suffix == ".npz":
        return _rows(file, weighted, bool(directed))
    return refuse(f"of an unknown form: {FORMS} is allowed", file=file)


def _blocks(text: str, weighted: bool, directed: bool, seed: int) -> Graph:
    """A stochastic block model: partitions, nodes in all, probabilities of edges inside and between."""
    if weighted or directed:
        refuse("has no weights and no directions", "--weighted" if weighted else "--directed", text)
    try:
        several, nodes, inside, between = text.removeprefix("sbm:").split(",")
        counts, probabilities = (int(several), int(nodes)), (float(inside), float(between))
    except ValueError:
        refuse("sbm:PARTITIONS,NODES,INSIDE,BETWEEN is allowed, like sbm:3,300,0.3,0.03", file=text)
    for name, value in zip(("INSIDE", "BETWEEN"), probabilities, strict=True):
        if not 0 <= value <= 1:
            refuse(f"{value:g} is not a probability: 0 to 1 is allowed", name, text)
    if not 1 <= counts[0] <= counts[1] <= 2**31:
        refuse("at least a partition, and at least a node in each, at most 2^31 nodes", file=text)
    sizes = [counts[1] // counts[0] + (at < counts[1] % counts[0]) for at in range(counts[0])]
    _refuse_large(text, sizes, probabilities)
    core = aside(lambda: _core.WalkGraph.sbm(sizes, *probabilities, seed))
    return Graph(core, pl.Series(np.arange(counts[1]), dtype=pl.Int64))


def _refuse_large(given: str, sizes: Sequence[int], probabilities: Sequence[float]) -> None:
    """Refuses a block model that this machine's memory can't hold."""
    nodes, within = sum(sizes), sum(block * block for block in sizes) / 2
    edges = within * probabilities[0] + (nodes * nodes / 2 - within) * probabilities[1]
    needed, there = 2 * 4 * edges, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        refuse(
            f"some {edges:.0e} edges take {size(int(needed))} of memory, this machine has {size(there)}: "
            "fewer nodes or smaller probabilities are needed",
            file=given,
        )


def _rows(file: Path, weighted: bool, directed: bool) -> Graph:
    """A matrix as scipy saves it (`scipy.sparse.save_npz`)."""
    with extra("matrix"):
        from scipy import sparse  # takes a while to load

    try:
        with file.open("rb") as stream:  # numpy leaves open what it can't read
            saved: Any = sparse.load_npz(stream)
        if saved.format in ("csr", "csc", "bsr"):
            saved.check_format(full_check=True)  # what follows trusts the indices
        matrix = saved.tocsr()
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        refuse(f"{why(error)}: a matrix as scipy.sparse.save_npz writes it is allowed", file=file)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] > 2**32 - 2:
        refuse(f"a matrix of {matrix.shape[0]} × {matrix.shape[1]}: as many rows as columns", file=file)
    nodes = matrix.shape[0]
    wrong = np.flatnonzero(~(possible(matrix.data) | (matrix.data == 0)))
    if weighted and len(wrong):
        at = wrong[0]
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        weight = f"weight {matrix.data[at]:g} at row {row}, column {matrix.indices[at]}"
        refuse(f"{weight}: {WEIGHT}", file=file)
    matrix.eliminate_zeros()
    try:
        core = aside(
            lambda: _core.WalkGraph.from_rows(
                directed,
                matrix.indptr.astype(np.uint64),
                matrix.indices.astype(np.uint32),
                matrix.data.astype(np.float32) if weighted else None,
            )
        )
    except ValueError as error:
        refuse(f"{error} (--directed: arcs go one way)", file=file)
    return Graph(core, pl.Series(np.arange(nodes), dtype=pl.Int64), int(np.count_nonzero(matrix.diagonal())))


def _networkx(graph: nx.Graph[Any], weighted: bool, directed: bool) -> Graph:
    """Nodes that are all integers are ordered by number; others are named by `str`, in the graph's order."""
    number = {node: at for at, node in enumerate(graph.nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    weights = None
    if weighted:
        weights = [weight for _, _, weight in graph.edges(data="weight", default=1)]
        for (a, b), weight in zip(graph.edges(), weights, strict=True):
            if not (isinstance(weight, int | float | np.number) and possible(weight)):
                refuse(f"weight {weight!r}: {WEIGHT}", f"edge ({a!r}, {b!r})")
    if not directed and graph.is_directed():
        # Both arcs of a pair are one edge.
        pairs = np.sort(pairs, axis=1)
    if all(isinstance(node, int) for node in graph.nodes):
        names = np.array(list(graph.nodes), dtype=np.int64)
        order = np.argsort(names)
        place = np.empty(len(names), dtype=np.int64)
        place[order] = np.arange(len(names))
        named = pl.Series(names[order], dtype=pl.Int64)
        return build(named, place[pairs[:, 0]], place[pairs[:, 1]], weights, directed)
    named = pl.Series([str(node) for node in graph.nodes], dtype=pl.String)
    if named.n_unique() < len(named):
        refuse("two nodes have the same name as text")
    return build(named, pairs[:, 0], pairs[:, 1], weights, directed)
