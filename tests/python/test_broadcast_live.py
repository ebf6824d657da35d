"""Broadcasts between processes on this machine, in network namespaces where there are some."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from benches.namespaces import Network, star, unavailable

from incast.broadcast import hosts
from incast.broadcast.agent import confined, read_key
from incast.broadcast.send import Broadcast, send
from incast.broadcast.shell import command
from incast.errors import ScenarioError
from incast.live.control import Frame
from incast.live.launch import Child, start_here
from incast.live.running import Member, Running

ROOT = Path(__file__).parents[2]
MBPS = 1_000_000
LIMIT_S = 240
INCAST = [sys.executable, "-m", "incast"]
HERE = "sh -c 'shift; exec \"$@\"' sh {host}"
"""A remote shell that stays here."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}


def interruptible() -> None:
    """A shell's jobs in the background ignore Ctrl-C, and so do their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def incast(*words: str, before: Sequence[str] = (), **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, *INCAST, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
        **more,
    )


def ended(child: subprocess.Popen[str]) -> tuple[int, Any, str]:
    """Exit code, what it printed as JSON, and all that it said."""
    try:
        out, err = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        pytest.fail(f"no end within {LIMIT_S} s: {out} {err}")
    return child.returncode, json.loads(out) if out.startswith("{") else out, out + err


def content(size: int, seed: int = 0) -> bytes:
    return hashlib.shake_128(seed.to_bytes(4, "big")).digest(size)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file to send, and a folder for each of three hosts that are all this one."""
    (tmp_path / "file.bin").write_bytes(content(3_000_000))
    (tmp_path / "hosts.txt").write_text("one\ntwo\nthree\n")
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    return tmp_path


def here(place: Path, *more: str, file: str = "file.bin", **options: Any) -> subprocess.Popen[str]:
    words = [
        "broadcast", file if file == "-" else str(place / file), "--to", str(place / "hosts.txt"), "--rsh", HERE,
        "--incast", " ".join(INCAST), "--address", "127.0.0.1", "--dest", str(place / "{host}") + "/", "--json",
    ]  # fmt: skip
    return incast(*words, *more, **options)


def states(said: Any) -> dict[str, str]:
    return {each["host"]: each["state"] for each in said["receivers"]}


def nothing_else(folder: Path) -> bool:
    return not [each for each in folder.iterdir() if "incast" in each.name]


def test_a_file_arrives_everywhere(place: Path) -> None:
    code, said, err = ended(here(place))
    assert (code, states(said)) == (0, dict.fromkeys(("one", "two", "three"), "complete")), err
    for name in ("one", "two", "three"):
        assert (place / name / "file.bin").read_bytes() == content(3_000_000)
        assert nothing_else(place / name)
    # Once more: nobody's file is replaced unless somebody says so.
    code, said, err = ended(here(place))
    assert code == 4
    assert "exists already; --force replaces it" in err
    code, said, _ = ended(here(place, "--force"))
    assert (code, set(states(said).values())) == (0, {"complete"})


def test_a_folder_arrives_with_its_form(place: Path) -> None:
    tree = place / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/large").write_bytes(content(700_000))
    (tree / "script").write_text("#!/bin/sh\n")
    (tree / "script").chmod(0o750)
    (tree / "link").symlink_to("a/b/large")
    (tree / "empty").mkdir()
    code, said, err = ended(here(place, file="tree"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    for name in ("one", "two", "three"):
        copy = place / name / "tree"
        assert (copy / "a/b/large").read_bytes() == content(700_000)
        assert (copy / "link").readlink() == Path("a/b/large")
        assert (copy / "script").stat().st_mode & 0o777 == 0o750
        assert (copy / "empty").is_dir()


def test_standard_input_arrives_under_the_name_that_is_said(place: Path) -> None:
    child = here(place, "--dest", str(place / "{host}/said"), file="-", stdin=subprocess.PIPE)
    assert child.stdin
    child.stdin.write("some text")
    code, said, err = ended(child)
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert {(place / name / "said").read_text() for name in ("one", "two", "three")} == {"some text"}
    child = here(place, file="-", stdin=subprocess.DEVNULL)
    code, _, err = ended(child)
    assert code == 2
    assert "standard input has no name" in err


def test_a_host_that_cannot_be_reached_and_one_without_a_folder_cost_only_themselves(place: Path) -> None:
    (place / "two").rmdir()
    rsh = "sh -c 'test $1 != three || { echo no route to $1 >&2; exit 255; }; shift; exec \"$@\"' sh {host}"
    code, said, err = ended(here(place, "--rsh", rsh))
    assert code == 6, err
    assert states(said) == {"one": "complete", "two": "failed", "three": "unreachable"}
    why = {each["host"]: each["why"] for each in said["receivers"]}
    assert why["three"] == "no route to three"
    assert "two: No such file or directory" in why["two"]
    assert (place / "one/file.bin").read_bytes() == content(3_000_000)


def test_nobody_there_is_an_error_with_all_reasons(place: Path) -> None:
    code, _, err = ended(here(place, "--rsh", "false"))
    assert code == 4
    assert all(f"{name}: ended with code 1" in err for name in ("one", "two", "three"))


def test_an_interrupted_broadcast_goes_on_where_it_was(place: Path) -> None:
    (place / "file.bin").write_bytes(content(40_000_000))
    child = here(place, "--chunk", "64KiB")
    journal = place / "one/.file.bin.incast-journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 5000):
        assert time.monotonic() < deadline
        assert child.poll() is None, ended(child)
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    code, said, err = ended(child)
    if code == 0:
        pytest.skip("it was over before it could be interrupted")
    assert code == 130, err
    assert said["interrupted"]
    code, said, err = ended(here(place, "--chunk", "64KiB"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert said["receivers"][0]["resumed"] > 0
    assert (place / "one/file.bin").read_bytes() == content(40_000_000)


def test_a_file_that_changes_is_named_and_nothing_gets_its_name(place: Path) -> None:
    (place / "file.bin").write_bytes(content(40_000_000))
    child = here(place, "--chunk", "64KiB")
    journal = place / "one/.file.bin.incast-journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 1000):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    with (place / "file.bin").open("ab") as file:
        file.write(b"more")
    code, _, err = ended(child)
    assert code == 4
    assert "file.bin changed while it was sent: its length" in err
    assert not (place / "one/file.bin").exists()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def agent(tmp_path: Path, key_file: Path) -> Iterator[tuple[str, Path]]:
    """An agent that waits, and its folder."""
    root = tmp_path / "root"
    root.mkdir()
    child = incast(
        "broadcast", "agent", "--listen", "127.0.0.1:0", "--key-file", str(key_file), "--root", str(root)
    )
    assert child.stderr
    address = child.stderr.readline().removeprefix("Waiting at ").strip()
    yield address, root
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130


def to_agent(place: Path, address: str, key_file: Path, *more: str) -> tuple[int, Any, str]:
    (place / "hosts.txt").write_text(f"{address}\n")
    words = [
        "broadcast",
        str(place / "file.bin"),
        "--to",
        str(place / "hosts.txt"),
        "--key-file",
        str(key_file),
    ]
    return ended(incast(*words, "--address", "127.0.0.1", "--json", *more))


def test_an_agent_that_waits_takes_files_from_who_has_the_key(
    place: Path, agent: tuple[str, Path], key_file: Path
) -> None:
    address, root = agent
    code, said, err = to_agent(place, address, key_file)
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert (root / "file.bin").read_bytes() == content(3_000_000)
    other = place / "other"
    other.write_text("another key of thirty-two bytes.")
    other.chmod(0o600)
    code, said, err = to_agent(place, address, other, "--force")
    assert code == 4
    assert "its agent has another key" in err


@pytest.mark.parametrize("dest", ["../outside", "/tmp/outside", "up/outside"])
def test_an_agent_writes_below_its_folder_and_nowhere_else(
    place: Path, agent: tuple[str, Path], key_file: Path, dest: str
) -> None:
    address, root = agent
    (root / "up").symlink_to(place)
    code, _, err = to_agent(place, address, key_file, "--dest", dest)
    assert code == 4
    assert "is not below the agent's folder" in err
    assert not (place / "outside").exists()


def test_places_below_a_folder(tmp_path: Path) -> None:
    assert confined(str(tmp_path), "a") == str(tmp_path / "a")
    assert confined(None, "/x/y") == "/x/y"
    for path in (".", "..", "a/../..", "/"):
        with pytest.raises(PermissionError):
            confined(str(tmp_path), path)


def test_keys_that_others_can_read_are_refused(key_file: Path) -> None:
    assert read_key(key_file) == b"0123456789abcdef0123456789abcdef"
    key_file.chmod(0o640)
    with pytest.raises(ScenarioError, match="others can read it"):
        read_key(key_file)
    key_file.chmod(0o600)
    key_file.write_text("short")
    with pytest.raises(ScenarioError, match="at least 16"):
        read_key(key_file)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("a\nb\na\n", "hosts.txt:3: a is there twice: line 1 has it too"),
        ("a x\nb x\n", "hosts.txt:2: x is there twice: line 1 has it too"),
        ("a\nme\n", "hosts.txt:2: me is the source: it has the file"),
        ("a b c\n", "hosts.txt:1: 'c' is one word too many"),
        ("-oProxyCommand=x\n", "hosts.txt:1: '-oProxyCommand=x' is no host"),
        ("a;b\n", "hosts.txt:1: 'a;b' is no host"),
        ("127.0.0.1:99999\n", "hosts.txt:1: 99999 is no port"),
        ("no-such-host.invalid:80\n", "hosts.txt:1: no-such-host.invalid is an unknown host"),
        ("# nothing\n\n", "hosts.txt: it names no host"),
    ],
)
def test_wrong_hosts_are_named_with_their_line(tmp_path: Path, lines: str, problem: str) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(lines)
    with pytest.raises(ScenarioError) as raised:
        hosts.read(path, source="me")
    assert problem in str(raised.value)


def test_hosts_that_a_topology_lacks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("user@10.0.0.1 node1 # a comment\nnode3\n127.0.0.1:80 node2\n")
    with pytest.raises(ScenarioError, match=r"hosts\.txt:2: .*node3"):
        hosts.read(path, {"node1", "node2"})
    found = hosts.read(path)
    assert [target.name for target in found] == ["node1", "node3", "node2"]
    assert found[2].agent == ("127.0.0.1", 80)


def test_a_remote_shell_is_a_command_with_or_without_a_place_for_the_host() -> None:
    agent = ["incast", "broadcast", "agent"]
    assert command("ip netns exec {host}", "h1", "incast") == ["ip", "netns", "exec", "h1", *agent]
    assert command("ssh -p 22", "h1", "incast") == ["ssh", "-p", "22", "h1", *agent]
    with pytest.raises(ScenarioError, match="--rsh"):
        command("ssh 'x", "h1", "incast")


class Near:
    """Receivers are processes of this machine."""

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        return start_here(number, address, key)


def test_a_host_that_the_launcher_cannot_hear_any_more_begins_a_new_life_and_ends_the_old_one(
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

    monkeypatch.setattr("incast.live.running.Running", Cutting)
    names = ["source", "one", "two"]
    nodes = [{"id": name, "kind": "host"} for name in names] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": 10 * MBPS, "ba": 10 * MBPS} for name in names]
    sent = send(
        Broadcast(
            place / "file.bin", names[1:], Near(), b"k" * 32, "127.0.0.1", "source", {"nodes": nodes, "links": links},
            dest=str(place / "{host}") + "/",
        )
    )  # fmt: skip
    assert cut
    found = {each.host: (each.state, each.restarts) for each in sent.receipts}
    assert found == {"one": ("complete", 1), "two": ("complete", 0)}, sent
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

    def begun(self, host: str, bytes_least: int = 5000) -> None:
        """Waits until a host has some of it."""
        journal = self.folder / host / ".file.bin.incast-journal"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.stat().st_size >= bytes_least):
            assert time.monotonic() < deadline
            time.sleep(0.02)


RATES = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(7)}, "slow": 2 * MBPS}


@needs_namespaces
def test_a_slow_receiver_slows_nobody(tmp_path: Path) -> None:
    with Network(star(RATES)) as network:
        cluster = Hosts(network, tmp_path, 4_000_000, RATES)
        code, said, err = ended(cluster.send())
    assert code == 0, err
    assert all(cluster.has(host) for host in cluster.names)
    seconds = {each["host"]: each["seconds"] for each in said["receivers"]}
    # 1.7 s for who is fast, 17 s for who is slow; the machine may be busy.
    assert seconds["slow"] > 14
    assert all(seconds[f"fast{n}"] < 8 for n in range(7)), seconds


@needs_namespaces
def test_a_receiver_that_is_cut_off_costs_only_itself(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(4)}}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 12_000_000, rates)
        child = cluster.send("--patience", "5")
        cluster.begun("fast1")
        network.cut("fast1")
        code, said, err = ended(child)
    assert code == 6, err
    assert states(said) == {"fast0": "complete", "fast1": "failed", "fast2": "complete", "fast3": "complete"}
    assert all(cluster.has(host) for host in ("fast0", "fast2", "fast3"))
    assert not (tmp_path / "fast1/file.bin").exists()


@needs_namespaces
def test_a_receiver_that_is_killed_is_started_anew_and_goes_on(tmp_path: Path) -> None:
    rates = {"source": 20 * MBPS, **{f"fast{n}": 20 * MBPS for n in range(3)}}
    with Network(star(rates)) as network:
        cluster = Hosts(network, tmp_path, 12_000_000, rates)
        child = cluster.send()
        cluster.begun("fast1")
        pids = subprocess.run(
            ["ip", "netns", "pids", network.namespace("fast1")], capture_output=True, text=True, check=True
        )
        # Once: what is started anew lives on.
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
        child = cluster.send()
        deadline = time.monotonic() + 60
        while not (cluster.has("fast0") and cluster.has("fast1")):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.05)
        assert not cluster.has("slow")
        # The launcher is in the source's namespace too.
        network.kill("source")
        child.communicate(timeout=LIMIT_S)
        deadline = time.monotonic() + 90
        while not cluster.has("slow"):
            assert time.monotonic() < deadline
            time.sleep(0.1)


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
        code, said, err = ended(incast(*words, before=network.enter("source")))
    assert code == 0, err
    assert json.loads((tmp_path / "net.json").read_text()) == said["topology"]
    assert cluster.names == ["fast0", "fast1", "slow"]
    found = {link["a"]: link for link in said["topology"]["links"]}
    for host, rate in rates.items():
        for way in ("ab", "ba"):
            # A queue's worth (64 kB, of 375 in the slow link's window) may wait behind a lost segment and count late.
            assert 0.6 * rate < found[host][way] < 1.2 * rate, (host, way, found[host], rate)
