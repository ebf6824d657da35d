"""Walks and mining on a Ray cluster of three nodes, which are raylets of this machine: servers and nodes that die, too."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import incast
from incast.errors import RunError, ScenarioError
from incast.live.cluster import Cluster
from incast.live.running import Member, Running
from incast.mining.request import make
from incast.mining.run import run
from incast.walks import request
from incast.walks.member import JOURNAL
from incast.walks.memory import InMemory
from incast.walks.servers import OnServers
from incast.walks.settings import ServerSettings
from lives import meanwhile, not_over_before
from raylets import members, started
from walk_servers import SBM, graph, has_begun

EVERYWHERE = np.arange(60, dtype=np.uint32)
WALKS = 20_000

pytestmark = [
    pytest.mark.timeout(420),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def raylets() -> Iterator[Any]:
    with started(3) as raylets:
        yield raylets


class _Once:
    """Does something as soon as it can be done; the run does not end before a server has been restarted."""

    def __init__(self, patch: pytest.MonkeyPatch, what: Callable[[], Any]) -> None:
        self.what = what
        self.done: Any = None
        crashed = Running._crashed
        crashes: list[str] = []

        def note(running: Running, member: Member, how: str) -> None:
            crashes.append(how)
            crashed(running, member, how)

        patch.setattr(Running, "_crashed", note)
        not_over_before(patch, lambda: crashes)
        meanwhile(patch, self._try)

    def _try(self) -> None:
        if self.done is None:
            self.done = self.what()


def _has_begun(member: int) -> bool:
    """Whether a server has noted walks."""
    return has_begun(Path(f"/proc/{member}/cwd/{JOURNAL}"), EVERYWHERE, WALKS, paths=False)


def _ends(place: Cluster) -> tuple[list[list[int]], list[list[int]], int]:
    """Where walks of three servers end, where they should, and how many were taken up after a crash."""
    core = graph().core
    wanted = request.make(
        "ppr", walks=WALKS, restart=None, length=None, p=None, q=None, seed=1, top=1, starts=()
    )
    owners = (EVERYWHERE % 3).astype(np.uint16)
    # On a busy machine a node takes longer to replace than walks are tried by default.
    patient = ServerSettings.model_validate({"loss": {"attempts": 10_000}})
    walker = OnServers(core, wanted, EVERYWHERE, owners, 3, place, lambda _: None, settings=patient)
    (found,) = walker.ends(EVERYWHERE)
    parts = list(InMemory(core, wanted, 1, lambda _: None).ends(EVERYWHERE))
    expected = [np.concatenate(each) for each in zip(*parts, strict=True)]
    assert found[2].sum() == 1_200_000
    restored = walker.board.total("restored")
    return [each.tolist() for each in found], [each.tolist() for each in expected], restored


def test_a_cluster_walks_the_same_walks(raylets: Any) -> None:
    assert raylets.address
    memory, cluster = (incast.walk(SBM, app="corpus", walks=5, cluster=address) for address in (None, "auto"))
    assert (memory.path / "corpus.txt").read_bytes() == (cluster.path / "corpus.txt").read_bytes()
    assert cluster.table("visits").sort(pl.all()).equals(memory.table("visits").sort(pl.all()))
    with pytest.raises(ScenarioError, match="--servers: 4 servers: the cluster has 3 nodes, one for each"):
        incast.walk(SBM, walks=1, cluster="auto", servers=4)


def test_a_server_that_is_killed_is_started_anew(raylets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert raylets.address

    def kill() -> int | None:
        for victim in members():
            if _has_begun(victim):
                os.kill(victim, signal.SIGKILL)
                return victim
        return None

    once = _Once(monkeypatch, kill)
    with Cluster("auto") as place:
        found, expected, restored = _ends(place)
    assert once.done
    assert found == expected
    assert restored > 0, "its journal is on its node"


def test_mining_nodes_find_what_one_finds(raylets: Any, tmp_path: Path) -> None:
    assert raylets.address
    rows = [[number % 2, 2 + number % 3, 5 + number % 5] for number in range(600)]
    alone = incast.mine(rows, 0.05)
    spread = run(rows, make(0.05, cluster="auto"), None, tmp_path / "kept")
    assert spread.itemsets.to_dicts() == alone.itemsets.to_dicts()
    assert [each["large"] for each in spread.passes] == [each["large"] for each in alone.passes]


def test_a_server_moves_when_its_node_is_gone(raylets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def remove() -> str | None:
        if not any(map(_has_begun, members())):
            return None
        # With its own node a program would go down itself.
        own = ray.get_runtime_context().get_node_id()
        node = next(node for node in raylets.worker_nodes if node.node_id != own)
        raylets.remove_node(node, allow_graceful=False)
        return str(node.node_id)

    once = _Once(monkeypatch, remove)
    with Cluster("auto") as place:
        found, expected, _ = _ends(place)
        assert len(place.nodes()) == 2
        assert once.done not in place.nodes()
    assert found == expected


def test_a_bad_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ScenarioError, match=r"^--cluster: 'http://x' is no cluster: ray://HOST:PORT, auto or"
    ):
        incast.walk(SBM, walks=1, cluster="http://x")
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ScenarioError, match=r"^--cluster: ray is not installed: pip install 'incast\[ray\]'"):
        incast.walk(SBM, walks=1, cluster="auto")


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: the extra 'ray' has it")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(RunError, match="no Ray cluster answers there"):
        incast.walk(SBM, walks=1, cluster="ray://127.0.0.1:1")
