"""Broadcasts in which something dies, fills up or is cut off; in network namespaces where there are some."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from testkit.namespaces import Network, star, unavailable

from broadcasts import INCAST, LIMIT_S, MBPS, content, ended, here, incast, nothing_else, size, states
from helpers import until
from incast.broadcast.send import Broadcast, look, send
from incast.live.control import Frame
from incast.live.launch import Child, start_here
from incast.live.running import Member, Running


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")
def test_a_full_disk_costs_only_its_host_and_what_is_there_is_gone_on_with(place: Path) -> None:
    def disk(size: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place / "two")], check=True
        )

    disk("1m")
    try:
        code, said, err = ended(here(place))
        assert code == 6, err
        assert states(said) == {"one": "complete", "two": "failed", "three": "complete"}
        why = said["receivers"][1]["why"]
        assert why == f"{place / 'two'}: no space: 3000000 bytes are needed, {1 << 20} are free"
        assert not list((place / "two").iterdir())
    finally:
        subprocess.run(["umount", str(place / "two")], check=True)
    code, said, err = ended(here(place, "--force"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err


@pytest.mark.parametrize("late_s", [None, 3])
def test_a_host_that_is_not_there_costs_the_only_other_one_nothing(place: Path, late_s: int | None) -> None:
    """At this rate the first chunks take long enough to be told apart, so rates are found out from one host."""
    (place / "hosts.txt").write_text("one\ntwo\n")
    instead = "exit 255" if late_s is None else f"sleep {late_s}"
    rsh = f"sh -c 'test $1 != two || {instead}; shift; exec \"$@\"' sh {{host}}"
    code, said, err = ended(here(place, "--rate", "10Mbps", "--patience", "8", rsh=rsh))
    assert "panicked" not in err, err
    assert (place / "one/file.bin").read_bytes() == content(3_000_000)
    assert states(said) == {"one": "complete", "two": "unreachable" if late_s is None else "complete"}, err
    assert code == (6 if late_s is None else 0)


def test_a_host_that_is_killed_when_its_copy_has_its_name_is_complete(place: Path) -> None:
    (place / "hosts.txt").write_text("one\ntwo\n")
    # The other comes late, so that the broadcast is not over when the first is killed.
    rsh = f"sh -c 'echo $$ >> {place}/$1.pid; test $1 != two || sleep 6; shift; exec \"$@\"' sh {{host}}"
    child = here(place, rsh=rsh)
    until((place / "one/file.bin").exists, child)
    os.kill(int((place / "one.pid").read_text()), signal.SIGKILL)
    code, said, err = ended(child)
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    one = said["receivers"][0]
    assert (one["restarts"], one["resumed"]) == (1, 3_000_000), said
    assert all((place / name / "file.bin").read_bytes() == content(3_000_000) for name in ("one", "two"))
    assert nothing_else(place / "one")


class Near:
    """Receivers are processes of this machine."""

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        return start_here(number, address, key)


def test_a_host_whose_connection_to_the_launcher_breaks_is_taken_back_and_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[int] = []

    class Cutting(Running):
        def _handle(self, member: Member, frame: Frame) -> None:
            if (
                not cut
                and member.host.number == 1
                and frame.get("progress", {}).get("broadcast", {}).get("bytes")
            ):
                cut.append(member.host.number)
                assert member.channel
                with socket.fromfd(
                    member.channel.connection.fileno(), socket.AF_INET, socket.SOCK_STREAM
                ) as same:
                    same.shutdown(socket.SHUT_RDWR)
            super()._handle(member, frame)

    monkeypatch.setattr("incast.broadcast.send.Running", Cutting)
    names = ["source", "one", "two"]
    nodes = [{"id": name, "kind": "host"} for name in names] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": 10 * MBPS, "ba": 10 * MBPS} for name in names]
    sent = send(
        Broadcast(
            look(place / "file.bin"), names[1:], Near(), b"k" * 32, "127.0.0.1", "source", {"nodes": nodes, "links": links},
            dest=str(place / "{host}") + "/",
        )
    )  # fmt: skip
    assert cut
    found = {each.host: (each.state, each.restarts) for each in sent.receipts}
    assert found == {"one": ("complete", 0), "two": ("complete", 0)}, sent
    assert (place / "one/file.bin").read_bytes() == content(3_000_000)


WHY = unavailable()
needs_namespaces = pytest.mark.skipif(WHY is not None, reason=WHY or "")


class Hosts:
    """A source and receivers in namespaces, and what is sent between them."""

    def __init__(self, network: Network, folder: Path, size: int, topology: dict[str, int] | None) -> None:
        self.network, self.folder, self.content = network, folder, content(size)
        (folder / "file.bin").write_bytes(self.content)
        self.names = [host for host in network.hosts if host != "source"]
        lines = [f"{network.namespace(host)} {host}\n" for host in self.names]
        (folder / "hosts.txt").write_text("".join(lines))
        for host in self.names:
            (folder / host).mkdir()
        self.more = ["--chunk", "32KiB"]
        if topology:
            nodes = [{"id": host, "kind": "host"} for host in topology] + [{"id": "switch", "kind": "switch"}]
            # What TCP carries of a link's rate.
            links = [
                {"a": host, "b": "switch", "ab": int(rate * 0.94), "ba": int(rate * 0.94)}
                for host, rate in topology.items()
            ]
            (folder / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
            self.more += ["--topology", str(folder / "net.json")]

    def send(self, *more: str) -> subprocess.Popen[str]:
        words = [
            "broadcast", str(self.folder / "file.bin"), "--to", str(self.folder / "hosts.txt"), "--rsh",
            "ip netns exec {host}", "--incast", " ".join(INCAST), "--address", self.network.address("source"),
            "--source", "source", "--dest", str(self.folder / "{host}") + "/", "--json", *self.more, *more,
        ]  # fmt: skip
        return incast(*words, before=self.network.enter("source"), process_group=0)

    def has(self, host: str) -> bool:
        copy = self.folder / host / "file.bin"
        return copy.exists() and copy.read_bytes() == self.content

    def begun(self, host: str, child: subprocess.Popen[str]) -> None:
        """Waits until a host has some of it."""
        journal = self.folder / host / ".file.bin.incast-journal"
        until(lambda: size(journal) > 1000, child)


RATES = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(7)}, "slow": 2 * MBPS}


@needs_namespaces
def test_a_slow_receiver_slows_nobody(tmp_path: Path) -> None:
    with Network(star(RATES)) as network:
        cluster = Hosts(network, tmp_path, 4_000_000, RATES)
        code, said, err = ended(cluster.send())
    assert code == 0, err
    assert all(cluster.has(host) for host in cluster.names)
    seconds = {each["host"]: each["seconds"] for each in said["receivers"]}
    # 1.7 s for who is fast, 17 s for who is slow; if the machine is busy, for everybody more.
    assert seconds["slow"] > 14
    assert all(seconds[f"fast{n}"] < seconds["slow"] / 2 for n in range(7)), seconds


@needs_namespaces
def test_a_receiver_that_is_cut_off_costs_only_itself(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(4)}}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 12_000_000, rates)
        child = cluster.send("--patience", "5")
        cluster.begun("fast1", child)
        network.cut("fast1")
        code, said, err = ended(child)
    assert code == 6, err
    assert states(said) == {"fast0": "complete", "fast1": "failed", "fast2": "complete", "fast3": "complete"}
    assert all(cluster.has(host) for host in ("fast0", "fast2", "fast3"))
    assert not (tmp_path / "fast1/file.bin").exists()


@needs_namespaces
def test_outages_of_the_source_and_of_receivers_cost_only_their_time(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, "relay": 20 * MBPS, "other": 20 * MBPS, "slow": 10 * MBPS}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 16_000_000, rates)
        child = cluster.send()
        cluster.begun("slow", child)
        # Longer than a silence after which hosts are planned around, each in its own way.
        network.cut("source")
        time.sleep(5)
        network.restore("source")
        time.sleep(1)
        for cut, host in ((network.drop, "relay"), (network.freeze, "slow")):
            cut(host, True)
            time.sleep(5)
            cut(host, False)
            time.sleep(1)
        code, said, err = ended(child)
    assert code == 0, err
    assert set(states(said).values()) == {"complete"}
    assert all(cluster.has(host) for host in cluster.names)
    # Nobody began again: each went on with what it had.
    assert all(each["restarts"] == 0 and each["resumed"] == 0 for each in said["receivers"]), said


@needs_namespaces
@pytest.mark.parametrize("known", [True, False], ids=["planned", "as typed"])
def test_receivers_without_a_way_to_each_other_are_served_by_the_source(known: bool, tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, "one": 20 * MBPS, "two": 20 * MBPS, "slow": 10 * MBPS}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 12_000_000, rates if known else None)
        child = cluster.send()
        cluster.begun("slow", child)
        # Each of them is heard by the source all the time.
        for a, b in itertools.combinations(cluster.names, 2):
            network.part(a, b, True)
        code, said, err = ended(child)
    assert code == 0, err
    assert set(states(said).values()) == {"complete"}
    assert all(cluster.has(host) for host in cluster.names)


@needs_namespaces
def test_a_receiver_that_is_killed_is_started_anew_and_goes_on(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(3)}}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 12_000_000, rates)
        child = cluster.send()
        cluster.begun("fast1", child)
        pids = subprocess.run(
            ["ip", "netns", "pids", network.namespace("fast1")], capture_output=True, text=True, check=True
        )
        # Once: what is restarted lives on.
        for pid in pids.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        code, said, err = ended(child)
    assert code == 0, err
    assert all(cluster.has(host) for host in cluster.names)
    again = {each["host"]: (each["restarts"], each["resumed"] > 0) for each in said["receivers"]}
    assert again == {"fast0": (0, False), "fast1": (1, True), "fast2": (0, False)}


@needs_namespaces
def test_a_source_that_dies_when_somebody_has_everything_is_not_missed(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, "fast0": 20 * MBPS, "fast1": 20 * MBPS, "slow": 4 * MBPS}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 6_000_000, rates)
        child = cluster.send("--patience", "10")
        until(lambda: cluster.has("fast0") and cluster.has("fast1"), child)
        assert not cluster.has("slow")
        # The launcher is in the source's namespace too.
        network.kill("source")
        child.communicate(timeout=LIMIT_S)
        until(lambda: cluster.has("slow"))


@needs_namespaces
def test_bandwidths_are_measured(tmp_path: Path) -> None:
    rates = {"source": 50 * MBPS, "fast0": 50 * MBPS, "fast1": 50 * MBPS, "slow": 10 * MBPS}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 1000, None)
        words = [
            "broadcast", "measure", "--to", str(tmp_path / "hosts.txt"), "--rsh", "ip netns exec {host}", "--incast",
            " ".join(INCAST), "--address", network.address("source"), "--source", "source", "--json", "--out",
            str(tmp_path / "net.json"),
        ]  # fmt: skip
        # What is busy meanwhile shows as a slow network.
        for attempt in range(4):
            code, said, err = ended(incast(*words, *attempt * ["--force"], before=network.enter("source")))
            assert code == 0, err
            assert json.loads((tmp_path / "net.json").read_text()) == said["topology"]
            found = {link["a"]: link for link in said["topology"]["links"]}
            assert list(found) == ["source", *cluster.names]
            # A queue's worth (64 kB, of 375 in the slow link's window) may wait behind a lost segment and count late.
            parts = {
                (host, way): found[host][way] / rate for host, rate in rates.items() for way in ("ab", "ba")
            }
            if all(0.6 < part < 1.2 for part in parts.values()):
                return
    pytest.fail(f"{parts}")
