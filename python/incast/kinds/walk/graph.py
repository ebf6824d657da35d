"""Graphs of random walks: drawn or read from a file, and which server owns which node."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from incast.bounded import read_bytes
from incast.hints import shortened
from incast.kinds.job import Site
from incast.lab.base import Kind, Probability
from incast.quantity import parse_whole

_FILE_BYTES_MAX = 256_000_000
_SHOWN = 5
_NODES_MAX = 2**31
_Nodes = Annotated[int, Field(ge=1, lt=_NODES_MAX)]


class SbmGraph(Kind):
    """A stochastic block model, drawn from the seed: one block per server, or as `partition` says."""

    kind: Literal["sbm"] = "sbm"
    sizes: Annotated[list[_Nodes], Field(min_length=1)]
    """Nodes of each block."""
    inside: Probability | None = None
    """Probability of an edge between two nodes of a block."""
    between: Probability | None = None
    """Probability of an edge between nodes of different blocks."""
    probabilities: list[list[Probability]] | None = None
    """Instead of `inside` and `between`: a probability for each pair of blocks, as a symmetric matrix."""


class EdgesGraph(Kind):
    """A graph from a file: one edge per line, two node numbers, perhaps a weight; `#` begins a comment."""

    kind: Literal["edges"] = "edges"
    file: str
    """The file."""
    directed: bool = False
    """Edges go one way only."""
    owners: str | None = None
    """A METIS partition file: the number of a server for each node; without a value, `partition` counts."""


def graph_spec(graph: SbmGraph | EdgesGraph, site: Site) -> dict[str, Any]:
    """The graph as the core reads it."""
    return _sbm(graph, site) if isinstance(graph, SbmGraph) else _edges(graph, site)


def _sbm(graph: SbmGraph, site: Site) -> dict[str, Any]:
    blocks = len(graph.sizes)
    matrix = graph.probabilities
    if matrix is None:
        inside, between = graph.inside, graph.between
        if inside is None or (between is None and blocks > 1):
            site.refuse("graph", "inside and between are required, or probabilities for each pair of blocks")
            inside, between = 0.0, 0.0
        rows = [[inside] + [between or 0.0] * (blocks - a - 1) for a in range(blocks)]
    else:
        if graph.inside is not None or graph.between is not None:
            site.refuse("graph.probabilities", "either inside and between, or probabilities")
        square = len(matrix) == blocks and all(len(row) == blocks for row in matrix)
        if not square or any(matrix[a][b] != matrix[b][a] for a in range(blocks) for b in range(a)):
            site.refuse("graph.probabilities", f"a symmetric matrix of {blocks} rows is needed, one a block")
            matrix = [[0.0] * blocks for _ in range(blocks)]
        rows = [row[a:] for a, row in enumerate(matrix)]
    probabilities = [[float(p) for p in row] for row in rows]
    return {"kind": "blocks", "sizes": graph.sizes, "probabilities": probabilities}


def _edges(graph: EdgesGraph, site: Site) -> dict[str, Any]:
    arcs: list[list[int]] = []
    weights: list[float] = []
    wrong = 0
    for number, line in _lines(site, "graph.file", graph.file):
        try:
            source, target, weight = _edge(line)
        except ValueError as error:
            wrong += 1
            if wrong <= _SHOWN:
                _problem(site, "graph.file", graph.file, f"{line!r}: {error}", number)
            continue
        arcs.append([source, target])
        weights += [] if weight is None else [weight]
    if weights and len(weights) != len(arcs):
        _problem(site, "graph.file", graph.file, "some edges have weights, some have none", None)
    nodes = 1 + max((max(arc) for arc in arcs), default=0)
    return {
        "kind": "arcs",
        "nodes": nodes,
        "directed": graph.directed,
        "arcs": arcs,
        "weights": weights or None,
    }


def partition_spec(
    sizes: list[int] | None, said: SbmGraph | EdgesGraph, graph: dict[str, Any], servers: int, site: Site
) -> dict[str, Any]:
    """Which server owns which node, as the core reads it: by `sizes`, or as the graph says it."""
    nodes = sum(graph["sizes"]) if "sizes" in graph else graph["nodes"]
    owners = said.owners if isinstance(said, EdgesGraph) else None
    if owners is not None:
        if sizes is not None:
            site.refuse("partition", "either partition or the graph's owners")
        return {"owners": _owners(owners, nodes, servers, site)}
    if sizes is None and len(graph.get("sizes", [])) == servers:
        sizes = graph["sizes"]
    if sizes is None:
        ends = [nodes * server // max(1, servers) for server in range(servers + 1)]
        return {"ranges": [end - start for start, end in pairwise(ends)]}
    if len(sizes) != servers:
        site.refuse("partition", f"{len(sizes)} sizes for {servers} servers: one for each")
    elif sum(sizes) != nodes:
        site.refuse("partition", f"{sum(sizes)} nodes in all, but the graph has {nodes}")
    return {"ranges": sizes}


def _owners(file: str, nodes: int, servers: int, site: Site) -> list[int]:
    owners: list[int] = []
    for number, line in _lines(site, "graph.owners", file):
        server = parse_whole(line, servers - 1)
        if server is None:
            message = f"{shortened(line)!r} is not a server's number: 0 to {servers - 1} are allowed"
            _problem(site, "graph.owners", file, message, number)
            return []
        owners.append(server)
    if len(owners) != nodes:
        _problem(site, "graph.owners", file, f"{len(owners)} owners for {nodes} nodes: one for each", None)
    return owners


def _lines(site: Site, field: str, file: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    path = site.folder / file
    try:
        text = read_bytes(path, _FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError as error:
        _problem(site, field, file, f"can't read it: {(error.strerror or '').lower()}", None)
        return []
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in numbered if line and line[0] not in "#%"]


def _problem(site: Site, field: str, file: str, message: str, line: int | None) -> None:
    site.findings.add_in((*site.loc, *field.split(".")), message, str(site.folder / file), line)


def _edge(line: str) -> tuple[int, int, float | None]:
    parts = line.replace(",", " ").split()
    if len(parts) not in (2, 3) or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError("expected two node numbers, and perhaps a weight")
    source, target = int(parts[0]), int(parts[1])
    if max(source, target) >= _NODES_MAX:
        raise ValueError(f"nodes are numbered from 0 to {_NODES_MAX - 1}")
    if len(parts) == 2:
        return source, target, None
    weight = float(parts[2])
    if not 0 < weight < float("inf"):
        raise ValueError("a weight is above zero")
    return source, target, weight
