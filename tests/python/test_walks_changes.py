"""Edges that come and go while walks run: `incast walk --changes`."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pytest

import incast
from incast.live.control import Frame
from incast.live.place import Here
from incast.live.running import Running
from incast.walks import changes
from incast.walks.board import Board
from incast.walks.run import Watch, run
from lives import LONG_S, Lives, held
from walk_servers import graph, problem


def two_sides() -> Any:
    """Nodes 0 to 9 and 10 to 19, each side a ring, nothing between."""
    return nx.disjoint_union(nx.cycle_graph(10), nx.cycle_graph(10))


def crossed(result: incast.WalkResult) -> int:
    scores = result.table("scores")
    return int(scores.filter((pl.col("start") < 10) != (pl.col("node") < 10))["walks"].sum())


class Boarded(Watch):
    """Knows the servers of a run."""

    board: Board

    def begin(self, _: int, board: Board | None) -> None:
        assert board
        self.board = board


def walked_together(out: Path, rows: Any, lives: Lives) -> incast.WalkResult:
    """Walks on two sides, of which one is two servers: these can't finish before a walker has come over to the other."""
    watch, walks = Boarded(), 2000

    def here() -> Here:
        place = Here(lives.start)
        place.patience_s = LONG_S
        return place

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("incast.walks.where.Here", here)
        held(patch, lives, 2, until=lambda: watch.board.servers[0].totals.get("arrived"))
        options: dict[str, Any] = {"servers": 3, "partition": "10,5,5", "restart": 0.05, "walks": walks}
        result = run(two_sides(), out, watch=watch, changes=rows, **options)
    assert result.table("scores")["walks"].sum() == 20 * walks
    assert result.table("walks")["refused_changes"].sum() == 0
    assert result.table("walks")["arrived"][0] > 0
    return result


def test_edges_come_while_walks_run_in_memory() -> None:
    assert crossed(incast.walk(two_sides(), walks=50)) == 0
    for at in ("2000", ""):
        rows = [(at, "add", 3, 13), (at, "add", 4, 14)]
        result = incast.walk(two_sides(), walks=2000, changes=rows, restart=0.05)
        assert result.table("scores")["walks"].sum() == 20 * 2000
        assert crossed(result) > 0
        assert result.summary["changes"] == 1


@pytest.mark.parametrize("at", ["2000", ""], ids=["later", "at-once"])
def test_edges_come_while_servers_walk(tmp_path: Path, at: str) -> None:
    assert crossed(incast.walk(two_sides(), walks=50, servers=2)) == 0
    result = walked_together(tmp_path / "out", [(at, "add", 3, 13), (at, "add", 4, 14)], Lives())
    assert crossed(result) > 0
    assert result.summary["changes"] == 1


def test_edges_go_while_walks_run_and_no_walk_uses_them_afterwards(tmp_path: Path) -> None:
    graph = nx.cycle_graph(6)
    graph.add_edge(0, 3)
    file = tmp_path / "changes.csv"
    file.write_text("at,change,source,target\n600,remove,0,3\n")
    result = incast.walk(graph, app="corpus", walks=200, length=5, changes=file)
    lines = (result.path / "corpus.txt").read_text().splitlines()
    used = [" 0 3 " in f" {line} " or " 3 0 " in f" {line} " for line in lines]
    assert any(used[:600])
    assert not any(used[600:])


def test_edges_come_by_a_pipe_while_walks_run(tmp_path: Path) -> None:
    pipe = tmp_path / "changes"
    os.mkfifo(pipe)
    writing = threading.Thread(
        target=lambda: pipe.write_text("at,change,source,target\n,add,3,13\n,add,3,77\n"), daemon=True
    )
    writing.start()
    result = walked_together(tmp_path / "out", pipe, Lives())
    writing.join(60)
    assert result.summary["changes"] == 1
    assert crossed(result) > 0


def test_weights_change_while_walks_run() -> None:
    graph: Any = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1), (0, 2, 1)])
    options: dict[str, Any] = {"weighted": True, "starts": [0], "restart": 0.5, "walks": 4000}
    rows = [(0, "add", 0, 2, 1000)]
    scores = incast.walk(graph, changes=rows, **options).table("scores")
    walks = dict(scores.select("node", "walks").iter_rows())
    assert walks[2] > 100 * walks.get(1, 0)
    assert "weight None: a weight is a positive" in problem(graph, changes=[(0, "add", 0, 2)], **options)
    assert "weight '-1': a weight is a positive number" in problem(
        graph, changes=[(0, "add", 0, 2, -1)], **options
    )
    assert "weight '1e39': a weight is a pos" in problem(graph, changes=[(0, "add", 0, 2, "1e39")], **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "c.csv:1: the first line is to be at,change,source,target"),
        ("source,target\n", "c.csv:1: the first line is to be"),
        ("at,change,source,target\n1,add,0\n", "c.csv:2: '1,add,0': at,change,source,target are expected"),
        (
            "at,change,source,target\n5 weeks,add,0,1\n",
            "c.csv:2: '5 weeks,add,0,1': '5 weeks' is neither a time",
        ),
        ("at,change,source,target\n\n1,swap,0,1\n", "c.csv:3: '1,swap,0,1': 'swap' is not a change"),
        ("at,change,source,target\n1,add,0,60\n", "c.csv:2: '1,add,0,60': '60' is not a node of the graph"),
        ("at,change,source,target\n1,add,0,1,2\n", "c.csv:2: '1,add,0,1,2': the graph has no weights"),
        ("at,change,source,target\n1,add,0,x\n1,add,y,0\n", "c.csv:3: '1,add,y,0': 'y' is not a node"),
    ],
)
def test_bad_changes_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "c.csv"
    file.write_text(text)
    assert said in problem(changes=file)


def test_changes_that_can_not_be(tmp_path: Path) -> None:
    assert "no such file" in problem(changes=tmp_path / "none.csv")
    assert problem(changes=[("1", "add", 0, 99)]).startswith("changes[0]: '1,add,0,99': '99' is not a node")
    assert problem(app="communities", changes=[(1, "add", 0, 1)]).startswith("--changes: communities")


def test_rows_of_one_time_are_one_batch_and_the_last_of_an_edge_counts() -> None:
    rows = [
        ("1s", "add", 0, 1),
        ("1s", "remove", 1, 0),
        ("5", "add", 2, 3),
        ("1s", "add", 4, 5),
        ("", "add", 6, 7),
    ]
    found = changes.read(rows, graph())
    assert [(b.walks, b.add, b.remove) for b in found.due(0, 0)] == [(0, [(6, 7, None)], [])]
    assert found.walks_until(2) == 3
    assert [b.add for b in found.due(0, 5)] == [[(2, 3, None)]]
    assert found.due(10**12 - 1, 5) == []
    assert [(b.add, b.remove) for b in found.due(10**12, 5)] == [([], [(0, 1)]), ([(4, 5, None)], [])]
    assert found.applied == 4


def test_a_server_that_is_started_anew_hears_of_changes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives, tell = Lives(), Running._tell

    def tell_one_less(running: Running, told: Frame) -> None:
        """Server 1 is gone when it is said."""
        if not lives.again(1):
            lives.kill(1)
        tell(running, told)

    monkeypatch.setattr(Running, "_tell", tell_one_less)
    result = walked_together(tmp_path / "out", [("", "add", 3, 13)], lives)
    assert len(lives.of[1]) == 2
    # The new server 1 sends walkers over the edge that it was never given in its part.
    assert crossed(result) > 0
