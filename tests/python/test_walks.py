"""Walks that people ask for: what comes out, and what is refused."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy import sparse, special
from typer.testing import CliRunner

import incast
from incast import _core, report
from incast.cli.app import app
from incast.errors import OutputExistsError, ScenarioError
from incast.live.place import Here
from incast.walks import request
from incast.walks.memory import InMemory
from incast.walks.read import read
from incast.walks.request import APPS
from incast.walks.servers import OnServers
from lives import Lives, not_over_before

SBM = "sbm:3,60,0.3,0.05"


def exact(graph: Any, start: int, stop: float = 0.15) -> np.ndarray[Any, Any]:
    """Personalised PageRank by linear algebra; nodes are numbered from 0."""
    order = sorted(graph.nodes)
    matrix = nx.to_numpy_array(graph, nodelist=order)
    degrees = matrix.sum(axis=1, keepdims=True)
    moves = np.where(degrees > 0, matrix / np.where(degrees > 0, degrees, 1), np.eye(len(order)))
    begin = np.eye(len(order))[order.index(start)]
    found: np.ndarray[Any, Any] = np.linalg.solve((np.eye(len(order)) - (1 - stop) * moves).T, stop * begin)
    return found


def agrees(counts: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether counts may have come from these probabilities: Pearson's test, one in 10000 fails by chance."""
    total = counts.sum()
    often = expected * total >= 5
    parts = [(counts[often], expected[often] * total)]
    if (~often).any() and expected[~often].sum() > 1e-12:
        parts.append((counts[~often].sum(keepdims=True), expected[~often].sum(keepdims=True) * total))
    got, wanted = (np.concatenate(each) for each in zip(*parts, strict=True))
    return bool(((got - wanted) ** 2 / wanted).sum() < special.chdtri(len(got) - 1, 0.0001))


def counts_of(result: incast.WalkResult, start: int, nodes: int) -> np.ndarray[Any, Any]:
    frame = result.table("scores").filter(pl.col("start") == start)
    counts = np.zeros(nodes)
    counts[frame["node"].to_numpy()] = frame["walks"].to_numpy()
    return counts


def edges(folder: Path, text: str, name: str = "graph.txt") -> Path:
    file = folder / name
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text, encoding="utf-8")
    return file


def problem(graph: Any, **options: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        incast.walk(graph, **options)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
def test_ends_follow_personalised_pagerank(kind: str) -> None:
    graph: Any = nx.gnp_random_graph(40, 0.1, seed=3, directed=kind == "directed")
    if kind == "weighted":
        for number, (a, b) in enumerate(graph.edges):
            graph[a][b]["weight"] = 1 + number % 5
    result = incast.walk(graph, walks=20_000, starts=[0, 7], weighted=kind == "weighted", seed=5)
    for start in (0, 7):
        counts = counts_of(result, start, 40)
        assert counts.sum() == 20_000
        assert agrees(counts, exact(graph, start))
        assert not agrees(counts, exact(graph, start, 0.2))


def test_the_same_at_any_number_of_threads_and_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = incast.walk(SBM, walks=300, threads=1)
    monkeypatch.setattr("incast.walks.memory.CALL_STEPS", 1000)
    for result in (incast.walk(SBM, walks=300, threads=3), incast.walk(SBM, walks=300)):
        assert result.table("scores").equals(whole.table("scores"))
        assert result.summary == whole.summary
    paths = [incast.walk(SBM, app="corpus", walks=3, length=9, threads=n) for n in (1, 2)]
    assert (paths[0].path / "corpus.txt").read_bytes() == (paths[1].path / "corpus.txt").read_bytes()


def test_all_forms_of_a_graph_are_the_same(tmp_path: Path) -> None:
    graph = nx.gnp_random_graph(30, 0.2, seed=1)
    pairs = list(graph.edges)
    lines = "# a comment\n" + "".join(f"{a}\t{b}\n" for a, b in pairs)
    table = pl.DataFrame(pairs, ["source", "target"], orient="row")
    files = [
        edges(tmp_path, lines),
        edges(tmp_path, lines, "graph.txt.gz"),
        # Any white space: read line by line.
        edges(tmp_path, lines.replace("\t", "  \t "), "spaces.txt"),
        tmp_path / "graph.csv",
        tmp_path / "graph.parquet",
        tmp_path / "graph.npz",
    ]
    table.write_csv(files[3])
    table.write_parquet(files[4])
    sparse.save_npz(files[5], sparse.csr_array(nx.to_numpy_array(graph)))
    expected = incast.walk(graph, walks=50).summary
    assert expected["graph"] == {
        "nodes": 30,
        "edges": len(pairs),
        "arcs": 2 * len(pairs),
        "directed": False,
        "weighted": False,
    }
    for file in files:
        assert incast.walk(file, walks=50).summary == expected, file


def test_nodes_keep_their_names(tmp_path: Path) -> None:
    named = incast.walk(
        edges(tmp_path, "source,target\nann,bob\nbob,cid\n", "g.csv"), starts=["bob"], walks=100
    )
    assert set(named.top["node"]) == {"ann", "bob", "cid"}
    sparse_numbers = incast.walk(edges(tmp_path, "10 9000000000\n10 30\n"), app="corpus", length=2, walks=2)
    text = (sparse_numbers.path / "corpus.txt").read_text()
    assert set(text.split()) == {"10", "30", "9000000000"}
    assert len(text.splitlines()) == 6


def test_every_step_of_a_walk_is_an_arc() -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])
    result = incast.walk(graph, app="node2vec", walks=20, length=7, p=0.5, q=2)
    assert result.walks.shape == (100, 8)
    assert result.table("nodes")["node"].to_list() == [0, 1, 2, 3, 4]
    for number, row in enumerate(result.walks.tolist()):
        assert row[0] == number // 20
        passed = [node for node in row if node != 2**32 - 1]
        assert all(graph.has_edge(a, b) for a, b in pairwise(passed))
        assert len(passed) == 8 or passed[-1] == 4
        assert row[len(passed) :] == [2**32 - 1] * (8 - len(passed))
    # Without p and q, lines of a corpus are the same walks.
    plain = incast.walk(graph, app="node2vec", walks=3, length=7)
    lines = incast.walk(graph, app="corpus", walks=3, length=7)
    rows = [[node for node in row if node != 2**32 - 1] for row in plain.walks.tolist()]
    text = (lines.path / "corpus.txt").read_text()
    assert [[int(word) for word in line.split()] for line in text.splitlines()] == rows


def test_simrank_is_the_definition() -> None:
    """Jeh and Widom's equation 1, iterated; on a graph whose arcs go one way."""
    graph = nx.gnp_random_graph(12, 0.3, seed=4, directed=True)
    before = {node: list(graph.predecessors(node)) for node in graph}
    alike = np.eye(12)
    for _ in range(10):
        alike = np.array(
            [
                [
                    1.0
                    if a == b
                    else 0.8 * np.mean([alike[i, j] for i in before[a] for j in before[b]])
                    if before[a] and before[b]
                    else 0.0
                    for b in range(12)
                ]
                for a in range(12)
            ]
        )
    top = incast.walk(graph, app="simrank", walks=20_000, length=10, starts=[0, 5], top=12).table("top")
    for start, _, node, score in top.iter_rows():
        assert score == pytest.approx(alike[start, node], abs=0.015)


def test_communities_are_the_blocks() -> None:
    found = incast.walk("sbm:3,120,0.5,0.01", app="communities", seed=2)
    labels = found.table("communities")["community"].to_numpy().reshape(3, 40)
    for block in labels:
        assert np.bincount(block).max() >= 38
    assert found.top["nodes"].to_list()[0] >= 38
    around = incast.walk("sbm:3,120,0.5,0.01", app="communities", starts=[50], seed=2)
    assert set(around.table("members")["node"]) >= {50, 51}
    assert around.top["conductance"][0] < 0.1


def test_recommended_are_things_that_similar_people_like(tmp_path: Path) -> None:
    likes = "source,target\nann,tea\nann,milk\nbob,tea\nbob,milk\nbob,cake\ncid,tea\ncid,cake\ndan,car\n"
    result = incast.walk(edges(tmp_path, likes, "likes.csv"), app="recommend", starts=["tea", "milk"])
    # No people, nothing that is liked already, nothing out of reach.
    assert result.top["node"].to_list() == ["cake"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1\n1 x\n", "graph.txt:2: '1 x': 'x' is not a node number, 0 to 9223372036854775807"),
        ("# c\n0 1\n\n3\n", "graph.txt:4: '3': two node numbers are expected"),
        ("0 1\n-1 2\n", "graph.txt:2: '-1 2': '-1' is not a node number, 0 to 9223372036854775807"),
        ("0 1\n1 1.5\n", "graph.txt:2: '1 1.5': '1.5' is not a node number, 0 to 9223372036854775807"),
        ("# nothing\n", "graph.txt: there is no edge in it"),
        (
            f"0 1\n0 {'9' * 5000}\n",
            f"graph.txt:2: '0 {'9' * 58}…': '{'9' * 57}…' is not a node number, 0 to {2**63 - 1}",
        ),
    ],
)
@pytest.mark.parametrize("name", ["graph.txt", "graph.txt.gz"])
def test_a_bad_line_is_named(tmp_path: Path, text: str, said: str, name: str) -> None:
    found = problem(edges(tmp_path, text, name))
    assert found == str(tmp_path / said.replace("graph.txt", name))


@pytest.mark.parametrize("weight", ["-2", "0", "nan", "inf", "1e300", "1e-300", "heavy", ""])
def test_a_bad_weight_is_named(tmp_path: Path, weight: str) -> None:
    assert "graph.txt:3: " in problem(edges(tmp_path, f"#\n0 1 1\n1 2 {weight}\n"), weighted=True)
    table = f"source,target,weight\n0,1,1\n1,2,{weight}\n"
    assert "a positive number" in problem(edges(tmp_path, table, "g.csv"), weighted=True)
    assert "g.csv:3: " in problem(edges(tmp_path, table, "g.csv"), weighted=True)
    # Nobody who doesn't ask for weights is bothered with them.
    assert incast.walk(edges(tmp_path, table, "g.csv"), walks=1).summary["graph"]["nodes"] == 3


def test_bad_graphs_are_refused(tmp_path: Path) -> None:
    assert "no such file" in problem(tmp_path / "none.txt")
    assert "is a directory: an edge list" in problem(tmp_path)
    assert "list is no graph: a networkx graph, a path" in problem([(0, 1)])
    assert "of an unknown form" in problem(edges(tmp_path, "", "graph.dot"))
    assert "g.csv:1: no column 'target'" in problem(edges(tmp_path, "source,to\n0,1\n", "g.csv"))
    assert "g.csv:3: '2,': no target" in problem(edges(tmp_path, "source,target\n0,1\n2,\n", "g.csv"))
    ragged = edges(tmp_path, "source,target\n0,1\n2,1,7\n", "g.csv")
    assert "g.csv:3: '2,1,7': 2 columns are expected, as in the first line" in problem(ragged)
    assert problem("sbm:3,60,1.5,0") == "sbm:3,60,1.5,0: INSIDE: 1.5 is not a probability: 0 to 1 is allowed"
    assert "like sbm:3,300,0.3,0.03" in problem("sbm:3,60")
    assert "at least a partition" in problem("sbm:9,3,0,0")
    assert "edges take" in problem("sbm:3,1000000000,0.5,0.5")
    assert "graph has no nodes" in problem(nx.Graph())
    assert "not a node of the graph, which has 60 nodes, 0 to 59" in problem(SBM, starts=[60])
    assert "'x' is not a node" in problem(SBM, starts=["x"])
    graph = nx.Graph([(0, 1, {"weight": -1})])
    assert "edge (0, 1): weight -1" in problem(graph, weighted=True)
    huge = nx.Graph([(0, 1, {"weight": 1e39})])
    assert "edge (0, 1): weight 1e+39" in problem(huge, weighted=True)
    file = tmp_path / "m.npz"
    sparse.save_npz(file, sparse.csr_array(np.array([[0, 1.0], [0, 0]])))
    assert "names each edge in the rows of both ends (--directed" in problem(file)
    sparse.save_npz(file, sparse.csr_array(np.array([[0, 1.0], [-3, 0]])))
    assert "weight -3 at row 1, column 0" in problem(file, weighted=True)
    sparse.save_npz(file, sparse.csr_array(np.array([[0, 1.0], [1e-300, 0]])))
    assert "weight 1e-300 at row 1, column 0" in problem(file, weighted=True)
    sparse.save_npz(file, sparse.csr_array(np.ones((2, 3))))
    assert "2 × 3" in problem(file)
    file.write_bytes(b"PK")
    assert "m.npz" in problem(file)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"app": "pagerank"}, "--app: "),
        ({"app": 3}, "app: 3 is not allowed: must be a text"),
        ({"starts": 0}, "--start: 0 is no list of nodes: several names are expected, like [0]"),
        ({"starts": "ab"}, "--start: 'ab' is no list of nodes"),
        ({"walks": "3"}, "walks: '3' is not allowed: must be a whole number"),
        ({"walks": 1.5}, "walks: 1.5 is not allowed: must be a whole number"),
        ({"seed": True}, "seed: True is not allowed: must be a whole number"),
        ({"restart": "x"}, "restart: 'x' is not allowed: must be a number"),
        (
            {"restart": 1.5},
            "--restart: 1.5 is not a probability to stop before a step: 1e-06 to 1 is allowed",
        ),
        ({"restart": -0.1}, "--restart: -0.1 is not"),
        ({"restart": float("nan")}, "--restart: nan is not"),
        ({"length": 5}, "--length: ppr takes --restart instead"),
        ({"app": "corpus", "length": 5, "restart": 0.1}, "--length: a walk has either"),
        ({"app": "corpus", "length": 0}, "--length: 0 is not"),
        ({"app": "node2vec", "p": 0.0}, "-p: 0 is not"),
        ({"q": 2.0}, "-q: ppr has walks of the first order"),
        ({"walks": 0}, "--walks: 0 is not"),
        ({"top": 0}, "--top: 0 is not"),
        ({"seed": -1}, "--seed: -1 is not"),
        ({"threads": 0}, "--threads: 0 threads"),
        ({"app": "recommend"}, "--start: recommend needs nodes"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    assert problem(SBM, **options).startswith(said)


def test_a_loop_is_one_edge_however_often_it_is_listed(tmp_path: Path) -> None:
    listed = edges(tmp_path, "0 1\n1 0\n1 1\n1 1\n1 2\n", "loop.txt")
    matrix = tmp_path / "loop.npz"
    sparse.save_npz(matrix, sparse.csr_array(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])))
    for graph in (listed, matrix, nx.Graph([(0, 1), (1, 1), (1, 2)])):
        found = incast.walk(graph, walks=1, out=tmp_path / "out", force=True).summary["graph"]
        assert (found["edges"], found["arcs"]) == (3, 5)
    directed = incast.walk(listed, walks=1, directed=True).summary["graph"]
    assert (directed["edges"], directed["arcs"]) == (4, 4)
    report.write(tmp_path / "out")
    assert "3 nodes and 3 edges" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["a b", "a\nb", ""])
def test_a_name_that_a_line_of_names_can_not_hold_is_refused(name: str) -> None:
    graph = nx.Graph([("x", name)])
    assert f"node {name!r}: corpus.txt has a blank between nodes" in problem(graph, app="corpus", walks=1)
    assert incast.walk(graph, walks=1).summary["graph"]["edges"] == 1


def test_numbers_of_numpy_are_numbers() -> None:
    numbers: Any = {"walks": np.int64(2), "starts": np.array([0, 1]), "restart": np.float32(0.25)}
    found = incast.walk(SBM, **numbers)
    assert (found.summary["starts"], found.summary["walks_per_start"], found.summary["restart"]) == (
        2,
        2,
        0.25,
    )


def test_a_folder_is_overwritten_only_when_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    incast.walk(SBM, app="corpus", walks=1, out=out)
    with pytest.raises(OutputExistsError, match="--force"):
        incast.walk(SBM, walks=1, out=out)
    (out / "mine.txt").write_text("mine")
    again = incast.walk(SBM, walks=1, out=out, force=True)
    assert sorted(path.name for path in out.iterdir()) == [
        "incast-walk.json", "mine.txt", "scores", "summary.json", "top", "visits",
    ]  # fmt: skip
    assert again.tables == ["scores", "top", "visits"]
    with pytest.raises(OutputExistsError, match="isn't a result"):
        incast.walk(SBM, walks=1, out=tmp_path, force=True)


def test_what_is_stopped_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("incast.cli.walk_view.View.more", lambda *_: stop(None))
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["walk", SBM, "--out", str(out)])
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", APPS)
def test_the_command_prints_tables_and_json(tmp_path: Path, name: str) -> None:
    arguments = ["walk", SBM, "--app", name, "--walks", "30", "--out", str(tmp_path / "out")]
    arguments += ["--start", "3", "--start", "4"] if name == "recommend" else []
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert str(tmp_path / "out") in shown.output
    again = CliRunner().invoke(app, [*arguments, "--force", "--json"])
    content = json.loads(again.output)
    assert content["app"] == name
    assert content["top"]
    assert content == {
        "folder": str(tmp_path / "out"),
        **json.loads((tmp_path / "out/summary.json").read_text()),
    }


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["walk", str(edges(tmp_path, "0 x\n")), "--json"])
    assert result.exit_code == 2
    (said,) = json.loads(result.output)["problems"]
    assert (said["line"], said["message"]) == (1, "'0 x': 'x' is not a node number, 0 to 9223372036854775807")


@pytest.mark.parametrize("name", APPS)
def test_servers_walk_the_same_walks(tmp_path: Path, name: str) -> None:
    options: dict[str, Any] = {"app": name, "walks": 20, "starts": [3, 40] if name == "recommend" else ()}
    memory = incast.walk(SBM, **options)
    owners = "".join(f"{node % 5 % 2}\n" for node in range(60))
    servers = incast.walk(SBM, **options, servers=2, partition=edges(tmp_path, owners, "graph.part.2"))
    assert {**servers.summary, "servers": None} == {**memory.summary, "servers": None}
    assert set(servers.tables) - set(memory.tables) == {"walks", "walks_series", "hosts"}
    for table in memory.tables:
        assert servers.table(table).sort(pl.all()).equals(memory.table(table).sort(pl.all()))
    for file in ("corpus.txt", "walks.npy"):
        if (memory.path / file).exists():
            assert (servers.path / file).read_bytes() == (memory.path / file).read_bytes()


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_ends_on_servers_follow_personalised_pagerank(kind: str) -> None:
    graph: Any = nx.gnp_random_graph(40, 0.1, seed=3, directed=True)
    if kind == "weighted":
        for number, (a, b) in enumerate(graph.edges):
            graph[a][b]["weight"] = 1 + number % 5
    result = incast.walk(graph, walks=10_000, starts=[0, 30], weighted=kind == "weighted", servers=2, seed=8)
    for start in (0, 30):
        counts = counts_of(result, start, 40)
        assert counts.sum() == 10_000
        assert agrees(counts, exact(graph, start))


def test_a_server_that_dies_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = Lives()
    not_over_before(monkeypatch, lambda: lives.again(1))

    def tell(_: int) -> None:
        if not lives.again(1):
            lives.kill(1)

    graph = read(SBM, weighted=False, directed=None, seed=1).core
    wanted = request.make(
        "ppr", walks=3000, restart=None, length=None, p=None, q=None, seed=1, top=1, starts=()
    )
    everywhere = np.arange(60, dtype=np.uint32)
    owners = (everywhere % 2).astype(np.uint16)
    with Here(lives.start) as place:
        (found,) = OnServers(graph, wanted, everywhere, owners, 2, place, tell).ends(everywhere)
    assert len(lives.of[1]) == 2
    (expected,) = InMemory(graph, wanted, 1, lambda _: None).ends(everywhere)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0\n" * 59, "part: 59 lines for 60 nodes: one for each"),
        ("0\n" * 61, "part: 61 lines for 60 nodes: one for each"),
        ("0\n2\n", "part:2: '2' is not a server's number: 0 to 1 is allowed (--servers 2)"),
        ("0\n\n", "part:2: '' is not a server's number"),
        ("-1\n", "part:1: '-1' is not a server's number"),
    ],
)
def test_a_bad_partition_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in problem(SBM, servers=2, partition=edges(tmp_path, text, "part"))


def test_bad_servers_are_refused(tmp_path: Path) -> None:
    assert problem(SBM, servers=0) == "--servers: 0 servers: 1 to 256 are allowed"
    assert problem(SBM, partition=tmp_path / "part").startswith("--partition: it says which server")
    assert "part: no such file" in problem(SBM, servers=2, partition=tmp_path / "part")
    assert problem(SBM, app="corpus", length=20_000, servers=2).startswith("--length: 20000: with --servers")
    assert problem(SBM, app="corpus", restart=0.001, servers=2).startswith("--restart: 0.001: with --servers")


def test_no_walk_sees_half_of_a_batch_of_changes() -> None:
    """A thread changes the graph while others walk: all arcs lead to one half of the nodes, then to the other."""
    nodes, half = 1 + 2 * 64, 64
    sides = [[[0, 1 + side * half + at, None] for at in range(half)] for side in range(2)]
    here, there = (np.array([arc[at] for arc in sides[0]], dtype=np.uint32) for at in range(2))
    graph = _core.WalkGraph.from_arcs(nodes, True, here, there, None)
    engine = _core.WalkEngine(graph, 1, None, None, 1, 2)
    over = threading.Event()

    def change() -> None:
        for flip in itertools.count(1):
            if over.is_set():
                return
            gone = [arc[:2] for arc in sides[(flip + 1) % 2]]
            engine.change(json.dumps({"at": 0, "set": sides[flip % 2], "remove": gone}))

    changer = threading.Thread(target=change)
    changer.start()
    seen: set[int] = set()
    try:
        deadline = time.monotonic() + 300
        calls = 0
        while (calls < 100 or len(seen) < 2) and time.monotonic() < deadline:
            calls += 1
            ends = np.frombuffer(engine.ends(np.zeros(1, dtype=np.uint32), 0, 500)[1], dtype=np.uint32)
            # Walks of one step: where they end says which graph they saw.
            halves = set(((ends - 1) // half).tolist())
            assert len(halves) == 1
            seen |= halves
    finally:
        over.set()
        changer.join()
    assert seen == {0, 1}
