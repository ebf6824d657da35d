"""Random walks in the core's terms: the graph drawn or read, who owns which node, base units."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from incast.bounded import read_bytes
from incast.document import Loc
from incast.kinds.traffic import Walk
from incast.kinds.walk import (
    EdgesGraph,
    Generation,
    SbmGraph,
    WalkChange,
    WalkCodel,
    WalkCosts,
    WalkDatagrams,
    WalkLoss,
    WalkRed,
    WalkTailDrop,
)
from incast.lab.base import Model
from incast.lab.findings import Findings
from incast.quantity import parse_time

_STOP = 0.15
"""Of personalised PageRank."""
_FILE_BYTES_MAX = 256_000_000
_SHOWN = 5
_NODES_MAX = 2**31


class WalkResolver:
    """Resolves one job."""

    def __init__(self, job: Walk, loc: Loc, servers: list[str], folder: Path, findings: Findings) -> None:
        self.job = job
        self.loc = loc
        self.servers = servers
        self.folder = folder
        self.findings = findings

    def spec(self) -> dict[str, Any]:
        """The job's work."""
        job = self.job
        graph = self._sbm(job.graph) if isinstance(job.graph, SbmGraph) else self._edges(job.graph)
        costs = job.costs if isinstance(job.costs, list) else [job.costs]
        if len(costs) not in (1, len(self.servers)):
            self._refuse("costs", f"{len(costs)} for {len(self.servers)} servers: one, or one for each")
        return {
            "servers": self.servers,
            "graph": graph,
            "partition": self._partition(graph),
            "changes": [_change(change) for change in job.changes],
            "walks": job.walks,
            "steps": self._steps(),
            "restart": float(job.restart),
            "node2vec": None if (job.p, job.q) == (1, 1) else [float(job.p), float(job.q)],
            "steps_max": job.steps_max,
            "regenerate": job.regenerate,
            "retry": job.retry,
            **rules(job),
            "authenticate": job.authenticate,
            "workers": job.workers,
            "costs": [_costs(each) for each in costs],
            "snapshot": parse_time(job.snapshot) if job.snapshot else None,
        }

    def _refuse(self, field: str, message: str) -> None:
        self.findings.add((*self.loc, *field.split(".")), message)

    def _steps(self) -> dict[str, Any]:
        job = self.job
        if job.length is not None and job.stop is not None:
            self._refuse("length", "either length or stop: how long a walk is can be said once")
        if job.length is not None:
            return {"fixed": job.length}
        return {"stop": _STOP if job.stop is None else float(job.stop)}

    def _sbm(self, graph: SbmGraph) -> dict[str, Any]:
        blocks = len(graph.sizes)
        matrix = graph.probabilities
        if matrix is None:
            inside, between = graph.inside, graph.between
            if inside is None or (between is None and blocks > 1):
                self._refuse(
                    "graph", "inside and between are required, or probabilities for each pair of blocks"
                )
                inside, between = 0.0, 0.0
            rows = [[inside] + [between or 0.0] * (blocks - a - 1) for a in range(blocks)]
        else:
            if graph.inside is not None or graph.between is not None:
                self._refuse("graph.probabilities", "either inside and between, or probabilities")
            square = len(matrix) == blocks and all(len(row) == blocks for row in matrix)
            if not square or any(matrix[a][b] != matrix[b][a] for a in range(blocks) for b in range(a)):
                self._refuse(
                    "graph.probabilities", f"a symmetric matrix of {blocks} rows is needed, one a block"
                )
                matrix = [[0.0] * blocks for _ in range(blocks)]
            rows = [row[a:] for a, row in enumerate(matrix)]
        probabilities = [[float(p) for p in row] for row in rows]
        return {"kind": "blocks", "sizes": graph.sizes, "probabilities": probabilities}

    def _edges(self, graph: EdgesGraph) -> dict[str, Any]:
        arcs: list[list[int]] = []
        weights: list[float] = []
        wrong = 0
        for number, line in self._lines("graph.file", graph.file):
            try:
                source, sink, weight = _edge(line)
            except ValueError as error:
                wrong += 1
                if wrong <= _SHOWN:
                    self._problem("graph.file", graph.file, f"{line!r}: {error}", number)
                continue
            arcs.append([source, sink])
            weights += [] if weight is None else [weight]
        if weights and len(weights) != len(arcs):
            self._problem("graph.file", graph.file, "some edges have weights, some have none", None)
        nodes = 1 + max((max(arc) for arc in arcs), default=0)
        return {
            "kind": "arcs",
            "nodes": nodes,
            "directed": graph.directed,
            "arcs": arcs,
            "weights": weights or None,
        }

    def _partition(self, graph: dict[str, Any]) -> dict[str, Any]:
        job, servers = self.job, len(self.servers)
        nodes = sum(graph["sizes"]) if "sizes" in graph else graph["nodes"]
        owners = job.graph.owners if isinstance(job.graph, EdgesGraph) else None
        if owners is not None:
            if job.partition is not None:
                self._refuse("partition", "either partition or the graph's owners")
            return {"owners": self._owners(owners, nodes)}
        sizes = job.partition
        if sizes is None and len(graph.get("sizes", [])) == servers:
            sizes = graph["sizes"]
        if sizes is None:
            ends = [nodes * server // max(1, servers) for server in range(servers + 1)]
            return {"ranges": [end - start for start, end in pairwise(ends)]}
        if len(sizes) != servers:
            self._refuse("partition", f"{len(sizes)} sizes for {servers} servers: one for each")
        elif sum(sizes) != nodes:
            self._refuse("partition", f"{sum(sizes)} nodes in all, but the graph has {nodes}")
        return {"ranges": sizes}

    def _owners(self, file: str, nodes: int) -> list[int]:
        owners: list[int] = []
        for number, line in self._lines("graph.owners", file):
            server = int(line) if line.isdecimal() else -1
            if not 0 <= server < len(self.servers):
                message = f"{line!r} is not a server's number: 0 to {len(self.servers) - 1} are allowed"
                self._problem("graph.owners", file, message, number)
                return []
            owners.append(server)
        if len(owners) != nodes:
            self._problem("graph.owners", file, f"{len(owners)} owners for {nodes} nodes: one for each", None)
        return owners

    def _lines(self, field: str, file: str) -> list[tuple[int, str]]:
        """The lines that say something, with their numbers."""
        path = self.folder / file
        try:
            text = read_bytes(path, _FILE_BYTES_MAX).decode("utf-8", "replace")
        except OSError as error:
            self._problem(field, file, f"can't read it: {(error.strerror or '').lower()}", None)
            return []
        numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
        return [(number, line) for number, line in numbered if line and line[0] not in "#%"]

    def _problem(self, field: str, file: str, message: str, line: int | None) -> None:
        self.findings.add_in((*self.loc, *field.split(".")), message, str(self.folder / file), line)


def _edge(line: str) -> tuple[int, int, float | None]:
    parts = line.replace(",", " ").split()
    if len(parts) not in (2, 3) or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError("expected two node numbers, and perhaps a weight")
    source, sink = int(parts[0]), int(parts[1])
    if max(source, sink) >= _NODES_MAX:
        raise ValueError(f"nodes are numbered from 0 to {_NODES_MAX - 1}")
    if len(parts) == 2:
        return source, sink, None
    weight = float(parts[2])
    if not 0 < weight < float("inf"):
        raise ValueError("a weight is above zero")
    return source, sink, weight


def _change(change: WalkChange) -> dict[str, Any]:
    return {
        "at": parse_time(change.at),
        "set": [[int(edge[0]), int(edge[1]), edge[2] if len(edge) == 3 else None] for edge in change.add],
        "remove": change.remove,
    }


def _costs(costs: WalkCosts) -> dict[str, int]:
    return {field: parse_time(value) for field, value in costs.model_dump().items()}


class Rules(Protocol):
    """How walkers wait, are generated and travel, as a job says it, or the command that walks for real."""

    @property
    def queue(self) -> WalkTailDrop | WalkRed | WalkCodel:
        """Which walkers a server drops."""
        ...

    @property
    def limit(self) -> int:
        """Most walkers that wait at a server."""
        ...

    @property
    def loss(self) -> WalkLoss:
        """How a source finds losses."""
        ...

    @property
    def generation(self) -> Generation:
        """How a source generates walkers."""
        ...

    @property
    def datagrams(self) -> WalkDatagrams:
        """How walkers share datagrams."""
        ...


def rules(said: Rules) -> dict[str, Any]:
    """The same in base units, as the core reads it."""
    return {
        "queue": {"kind": said.queue.kind} if isinstance(said.queue, WalkTailDrop) else _in_ps(said.queue),
        "limit": said.limit,
        "loss": {**_in_ps(said.loss), "window": _ages(said.loss)},
        "generation": _in_ps(said.generation),
        "datagrams": _in_ps(said.datagrams),
    }


def _ages(loss: WalkLoss) -> list[int] | None:
    return [parse_time(age) for age in loss.window] if loss.window else None


_TIMES = {"target", "interval", "initial", "floor", "time", "max", "linger"}
"""Fields that are times where they are text."""


def _in_ps(said: Model) -> dict[str, Any]:
    fields = said.model_dump(exclude_none=True)
    times = {
        name: parse_time(value) for name, value in fields.items() if name in _TIMES and isinstance(value, str)
    }
    return {**fields, **times}
