"""Broadcasts to the nodes of a Ray cluster, which are raylets of this machine: an agent a node, and what can go wrong."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broadcasts import content, ended, incast, size, states
from helpers import until
from incast.live.cluster import at
from raylets import CLIENT, members, servers_of_clients, started

MBPS = 1_000_000
SIZE = 6_000_000

pytestmark = [
    pytest.mark.timeout(420),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def raylets() -> Iterator[Any]:
    with started(4, client=True) as raylets:
        yield raylets


class Sent:
    """A file that is sent to all nodes, each of which has a folder of its own here."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder
        self.content = content(SIZE)
        (folder / "file.bin").write_bytes(self.content)
        with at("auto") as cluster:
            self.nodes = cluster.others(["source"])
        self.names = [node.name for node in self.nodes]
        for name in self.names:
            (folder / name).mkdir()
        self.words = [
            "broadcast", str(folder / "file.bin"), "--cluster", "auto", "--dest", str(folder / "{host}") + "/",
            "--source", "source", "--json", "--patience", "15", *more,
        ]  # fmt: skip

    def begin(self, slow: str | None = None) -> Any:
        """Begins; if a node is slow, in a network in which the others take some seconds."""
        words = list(self.words)
        if slow is not None:
            rates = dict.fromkeys(("source", *self.names), 20 * MBPS) | {slow: 4 * MBPS}
            nodes = [{"id": name, "kind": "host"} for name in rates] + [{"id": "switch", "kind": "switch"}]
            links = [{"a": name, "b": "switch", "ab": rate, "ba": rate} for name, rate in rates.items()]
            (self.folder / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
            words += ["--topology", str(self.folder / "net.json")]
        return incast(*words)

    def has(self, name: str) -> bool:
        copy = self.folder / name / "file.bin"
        return copy.exists() and copy.read_bytes() == self.content

    def begun(self, name: str) -> bool:
        journal = self.folder / name / ".file.bin.incast-journal"
        return size(journal) > 1000


def gone() -> bool:
    return not members()


def test_all_nodes_but_ones_own_receive(raylets: Any, tmp_path: Path) -> None:
    assert raylets.address
    sent = Sent(tmp_path)
    assert len(sent.names) == 3
    code, said, err = ended(sent.begin())
    assert (code, states(said)) == (0, dict.fromkeys(sent.names, "complete")), err
    assert all(sent.has(name) for name in sent.names)
    until(gone)


@pytest.mark.parametrize("lost", [False, True])
def test_a_client_of_the_cluster_sends_to_all_nodes(raylets: Any, tmp_path: Path, lost: bool) -> None:
    """Also one whose server died before it could answer."""
    assert raylets.address
    (tmp_path / "file.bin").write_bytes(content(SIZE))
    words = ["broadcast", str(tmp_path / "file.bin"), "--cluster", os.environ[CLIENT], "--json"]
    others = set(servers_of_clients())
    child = incast(*words, "--dest", str(tmp_path / "of {host}"))
    if lost:
        until(lambda: set(servers_of_clients()) - others, child)
        for pid in set(servers_of_clients()) - others:
            os.kill(pid, signal.SIGKILL)
    code, said, err = ended(child)
    assert code == 0, (said, err)
    assert (len(said["receivers"]), set(states(said).values())) == (4, {"complete"})
    assert all((tmp_path / f"of {name}").read_bytes() == content(SIZE) for name in states(said))


def test_an_agent_that_is_killed_is_placed_anew_on_its_node(raylets: Any, tmp_path: Path) -> None:
    assert raylets.address
    sent = Sent(tmp_path)
    child = sent.begin(slow=sent.names[2])
    until(lambda: sent.begun(sent.names[2]) and len(members()) == 3)
    for pid in members():
        os.kill(pid, signal.SIGKILL)
    code, said, err = ended(child)
    assert (code, states(said)) == (0, dict.fromkeys(sent.names, "complete")), err
    assert all(each["restarts"] for each in said["receivers"])
    assert said["receivers"][2]["resumed"] > 0
    assert all(sent.has(name) for name in sent.names)


def test_a_sender_that_is_killed_is_not_missed_once_somebody_has_everything(
    raylets: Any, tmp_path: Path
) -> None:
    assert raylets.address
    sent = Sent(tmp_path)
    child = sent.begin(slow=sent.names[0])
    until(lambda: sent.has(sent.names[1]) and sent.has(sent.names[2]))
    assert not sent.has(sent.names[0])
    # Its members on this machine, and itself.
    own = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    for pid in [child.pid, *map(int, own)]:
        os.kill(pid, signal.SIGKILL)
    child.communicate()
    until(lambda: sent.has(sent.names[0]))
    # Nobody ends them but they themselves.
    until(gone)


def test_a_node_that_is_gone_costs_only_itself(raylets: Any, tmp_path: Path) -> None:
    sent = Sent(tmp_path)
    victim = sent.names[1]
    child = sent.begin(slow=victim)
    until(lambda: sent.begun(victim))
    ident = sent.nodes[1].ident
    raylets.remove_node(
        next(node for node in raylets.worker_nodes if node.node_id == ident), allow_graceful=False
    )
    code, said, err = ended(child)
    assert code == 6, err
    assert states(said) == {name: "failed" if name == victim else "complete" for name in sent.names}
    why = {each["host"]: each["why"] for each in said["receivers"]}
    # Ray says so after some seconds, on a busy machine after more than the patience.
    assert why[victim] == "its node is no longer in the cluster" or "has not answered for 15 s" in why[victim]
    assert not (tmp_path / victim / "file.bin").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--to", "hosts.txt", "--cluster", "auto"], "--to, --cluster: one of them names the receivers"),
        ([], "--to, --cluster: one of them names the receivers"),
        (["--cluster", "auto", "--rsh", "ssh"], "--rsh: with --cluster Ray starts agents"),
        (["--cluster", "http://x"], "'http://x' is no cluster: ray://HOST:PORT, auto or local is allowed"),
        (["--cluster", "auto", "--dest", "x/y"], "--dest: x/y: with --cluster a path from / on is needed"),
    ],
)
def test_what_contradicts_itself_is_refused(words: list[str], problem: str) -> None:
    code, _, err = ended(incast("broadcast", __file__, *words))
    assert code == 2
    assert problem in err.replace("\n", " ")
