"""The peers' side, run by an interpreter that has them: `python peers.py GRAPH`, a file of `steps export`.

Prints one line of JSON per measurement: case, peer, million steps per second of processor time. One thread.
Loading, compiling and giving names to nodes are not counted, to the peers' advantage; paths are what both
return.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dgl
import igraph
import numpy as np
import torch
from numba_progress import ProgressBar
from pecanpy import pecanpy

STEPS = 80
IGRAPH_STEPS = 1_000_000
BUDGET_S = 4.0
SEED = 1

Walks = Callable[[np.ndarray], int]


def load(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and targets."""
    raw = file.read_bytes()
    nodes, arcs = (int(number) for number in np.frombuffer(raw, "<u8", 2))
    offsets = np.frombuffer(raw, "<u8", nodes + 1, 16)
    return offsets, np.frombuffer(raw, "<u4", arcs, 16 + 8 * (nodes + 1))


def rate(walks: Walks, starts: np.ndarray) -> float:
    """Million steps per second of processor time, over as many walks as the budget allows."""
    walks(starts[:1])
    some = 64
    while True:
        chosen = np.resize(starts, some)
        begin = time.process_time()
        steps = walks(chosen)
        used = time.process_time() - begin
        if used > BUDGET_S / 4 or some >= 4_000_000:
            return steps / used / 1e6
        some *= 2 if used > BUDGET_S / 40 else 8


def pecanpy_walks(offsets: np.ndarray, targets: np.ndarray, model: pecanpy.Base) -> Walks:
    """PecanPy's own compiled loop."""
    model.indptr, model.indices = offsets.astype(np.uint32), targets.copy()
    model.data = np.ones(len(targets), dtype=np.float32)
    forward, has_nbrs = model.get_move_forward(), model.get_has_nbrs()

    def walks(starts: np.ndarray) -> int:
        with ProgressBar(total=len(starts), disable=True) as progress:
            rows = model._random_walks(len(starts), STEPS, SEED, starts, has_nbrs, forward, progress)
        return int((rows[:, -1].astype(np.int64) - 1).sum())

    return walks


def igraph_walks(offsets: np.ndarray, targets: np.ndarray) -> Walks:
    """Long walks: what a call sets up grows with the nodes, and would hide all else in short ones."""
    sources = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets).astype(np.int64))
    once = sources <= targets
    edges = np.stack([sources[once], targets[once].astype(np.int64)], axis=1)
    graph = igraph.Graph(n=len(offsets) - 1, edges=edges)

    def walks(starts: np.ndarray) -> int:
        wanted, done = len(starts) * STEPS, 0
        for start in starts:
            done += len(graph.random_walk(int(start), min(wanted - done, IGRAPH_STEPS))) - 1
            if done >= wanted:
                break
        return done

    return walks


def dgl_walks(offsets: np.ndarray, targets: np.ndarray, bias: tuple[float, float] | None) -> Walks:
    """Both of its samplers return a matrix of paths."""
    rows = (torch.from_numpy(each.astype(np.int64)) for each in (offsets, targets))
    graph = dgl.graph(("csr", (*rows, torch.empty(0, dtype=torch.int64))), num_nodes=len(offsets) - 1)

    def walks(starts: np.ndarray) -> int:
        nodes = torch.from_numpy(starts.astype(np.int64))
        if bias is None:
            paths, _ = dgl.sampling.random_walk(graph, nodes, length=STEPS)
        else:
            paths = dgl.sampling.node2vec_random_walk(graph, nodes, *bias, STEPS)
        return int((paths[:, 1:] >= 0).sum())

    return walks


def measurements(file: Path) -> Iterator[tuple[str, str, float]]:
    """Case, peer, rate."""
    offsets, targets = load(file)
    starts = np.flatnonzero(np.diff(offsets)).astype(np.uint32)
    np.random.default_rng(SEED).shuffle(starts)
    uniform = pecanpy_walks(offsets, targets, pecanpy.FirstOrderUnweighted())
    yield "paths", "PecanPy", rate(uniform, starts)
    biased = pecanpy_walks(offsets, targets, pecanpy.SparseOTF(p=2, q=0.5))
    yield "node2vec-paths", "PecanPy", rate(biased, starts)
    yield "paths", "DGL", rate(dgl_walks(offsets, targets, None), starts)
    yield "node2vec-paths", "DGL", rate(dgl_walks(offsets, targets, (2, 0.5)), starts)
    yield "paths", "igraph", rate(igraph_walks(offsets, targets), starts)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case, peer, value in measurements(Path(sys.argv[1])):
        print(json.dumps({"case": case, "peer": peer, "rate": value}), flush=True)
