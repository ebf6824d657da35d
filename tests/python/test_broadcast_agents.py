"""Agents of broadcasts: those that wait with a key, lists of hosts, remote shells."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broadcasts import LIMIT_S, content, ended, incast, states
from incast import _core
from incast.broadcast import hosts
from incast.broadcast.agent import WaitingChild, run_key
from incast.broadcast.send import equals
from incast.broadcast.shell import command
from incast.errors import RunError, ScenarioError
from incast.live.control import HANDSHAKE_S
from incast.live.launch import Host, Launch
from incast.live.running import Running
from incast.peers import read_key

LONG_GREETING = b"\0\0\0\x80"
"""Says that 128 bytes follow."""
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
"""Of if_ether.h and socket(7): the module socket has neither."""


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def agent(tmp_path: Path, key_file: Path) -> Iterator[tuple[str, Path]]:
    """An agent that waits, and its folder."""
    with waiting(tmp_path / "root", key_file, "127.0.0.1:0") as address:
        yield address, tmp_path / "root"


@contextlib.contextmanager
def waiting(root: Path, key_file: Path, listen: str) -> Iterator[str]:
    """An agent's address."""
    root.mkdir()
    child = incast("broadcast", "agent", "--listen", listen, "--key-file", str(key_file), "--root", str(root))
    assert child.stderr
    address = child.stderr.readline().removeprefix("Waiting at ").strip()
    yield address
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130


def to_agent(
    place: Path, address: str, key_file: Path, *more: str, file: str = "file.bin"
) -> tuple[int, Any, str]:
    (place / "hosts.txt").write_text(f"{address}\n")
    words = [
        "broadcast",
        str(place / file),
        "--to",
        str(place / "hosts.txt"),
        "--key-file",
        str(key_file),
    ]
    if "--address" not in more:
        more = (*more, "--address", "127.0.0.1")
    return ended(incast(*words, "--json", *more))


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
    assert code == 6
    assert "its agent has another key" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="to hear all that travels needs root")
@pytest.mark.parametrize("plain", [False, True])
def test_who_hears_all_that_travels_reads_nothing_of_it(
    agent: tuple[str, Path], key_file: Path, place: Path, plain: bool
) -> None:
    address, root = agent
    marker = b"nobody else's business: "
    (place / "secret-name.txt").write_bytes(marker * 40_000)
    heard = bytearray()
    # packet(7): everything on the loopback interface, with the connections of other tests.
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as ear:
        ear.bind(("lo", 0))
        ear.settimeout(0.2)
        ear.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    heard.extend(ear.recv(1 << 17))

        listener = threading.Thread(target=listen)
        listener.start()
        code, said, err = to_agent(
            place, address, key_file, *(["--plain"] if plain else []), file="secret-name.txt"
        )
        over.set()
        listener.join()
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert (root / "secret-name.txt").read_bytes() == marker * 40_000
    # It was heard: greetings of streams, and as many bytes as there are in the file.
    assert b"incast\x03" in heard
    assert len(heard) > 40_000 * len(marker)
    assert (marker in heard) is plain
    for known in (b"secret-name", str(place).encode(), read_key(key_file)):
        assert known not in heard, known


def test_hosts_may_have_ipv6_addresses(place: Path, tmp_path: Path, key_file: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 on this machine")
    roots = [tmp_path / "root-one", tmp_path / "root-two"]
    with (
        waiting(roots[0], key_file, "[::1]:0") as one,
        waiting(roots[1], key_file, "[::]:0") as two,
    ):
        assert one.startswith("[::1]:")
        both = f"{one} one\n{two.replace('[::]', '[::1]')} two"
        code, said, err = to_agent(place, both, key_file, "--address", "::1")
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert all((root / "file.bin").read_bytes() == content(3_000_000) for root in roots)


def test_an_ipv6_address_to_listen_at_stands_in_brackets(key_file: Path) -> None:
    code, _, err = ended(incast("broadcast", "agent", "--listen", "::1:80", "--key-file", str(key_file)))
    assert code == 2
    assert "[::1]:80" in err


@pytest.mark.parametrize("dest", ["../outside", "/tmp/outside", "up/outside"])
def test_an_agent_writes_below_its_folder_and_nowhere_else(
    place: Path, agent: tuple[str, Path], key_file: Path, dest: str
) -> None:
    address, root = agent
    (root / "up").symlink_to(place)
    code, _, err = to_agent(place, address, key_file, "--dest", dest)
    assert code == 6
    assert "is not below the agent's folder" in err
    assert not (place / "outside").exists()


def told_by_an_attacker(agent: str, key: bytes, told: dict[str, Any], work: str) -> str:
    """What becomes of a member that the agent starts, for somebody who has the key."""
    host, port = agent.split(":")
    salt = b"s" * 16

    def start(number: int, address: tuple[str, int], _key: bytes) -> WaitingChild:
        frame = {"ip": address[0], "port": address[1], "host": number, "salt": salt.hex()}
        return WaitingChild((host, int(port)), key, frame)

    settings = json.loads(_core.live_settings(json.dumps({})))
    attacked = Host(0, "attacked", [1], told, "127.0.0.1", needed=False)
    other = Host(1, "attacker", [1], {**told, "role": "receiver"}, "127.0.0.1", needed=False, awaited=False)
    launch = Launch(
        [attacked, other],
        work,
        settings,
        restarts=0,
        patience_s=5,
        start=start,
        key=run_key(key, salt),
        ip="127.0.0.1",
    )
    with pytest.raises(RunError) as raised:
        Running(launch, lambda _: None, threading.Event()).run()
    return str(raised.value)


@pytest.mark.parametrize("path", ["{secret}", "../secret", "up/secret", "link"])
def test_who_has_the_key_reads_nothing_outside_of_the_folder(
    place: Path, agent: tuple[str, Path], key_file: Path, path: str
) -> None:
    address, root = agent
    secret = place / "secret"
    secret.write_bytes(b"nobody's business")
    (root.parent / "secret").write_bytes(b"nobody's business")
    (root / "up").symlink_to(place)
    (root / "link").symlink_to(secret)
    names = ["attacked", "attacker"]
    told = {
        "role": "source",
        "path": path.format(secret=secret),
        "root": "/",
        "name": "secret",
        "dest": None,
        "layout": json.loads(_core.broadcast_layout(str(secret), [], False)),
        "owner": False,
        "chunk": 65536,
        "config": {
            "source": 0,
            "topology": equals(names),
            "unknown": False,
            "places": dict(enumerate(names)),
            "algorithm": "stable",
            "headroom": None,
            "limit": None,
            "seed": 1,
            "patience_s": 1.0,
        },
    }
    why = told_by_an_attacker(address, read_key(key_file), told, "incast.broadcast.member:prepare")
    assert "is not below the agent's folder" in why or "a link can't be sent" in why


@pytest.mark.parametrize("work", ["incast.broadcast.planned:write", "incast.live.jobs:prepare", "os:system"])
def test_who_has_the_key_gets_no_other_work_done(agent: tuple[str, Path], key_file: Path, work: str) -> None:
    why = told_by_an_attacker(agent[0], read_key(key_file), {"path": "x"}, work)
    assert "is not of this package, or not for this member" in why


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
        ("fe80::1%eth0\n", "hosts.txt:1: 'fe80::1%eth0' is no host"),
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


def test_ipv6_addresses_are_those_of_shells_and_agents(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("2001:db8::1\nme@2001:db8::2 b\nssh://me@[2001:db8::3]:22\n[::1]:80 d\n")
    found = hosts.read(path)
    assert [target.host for target in found] == ["2001:db8::1", "2001:db8::2", "2001:db8::3", "::1"]
    assert [target.shell for target in found[:2]] == ["2001:db8::1", "me@2001:db8::2"]
    assert [target.agent for target in found] == [None, None, None, ("::1", 80)]


def test_bytes_of_strangers_do_not_keep_an_agent_from_its_work(
    place: Path, agent: tuple[str, Path], key_file: Path
) -> None:
    address, root = agent
    host, port = address.split(":")
    hostile = [
        b"GET / HTTP/1.0\r\n\r\n", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff" + b"\xff" * 8, b"\0\0\0\0", b"",
        b"\0\0\0\x14#CHALLENGE#" + b"x" * 9, content(10_000),
    ]  # fmt: skip
    silent = []
    for each in hostile * 20:
        stranger = socket.create_connection((host, int(port)))
        silent.append(stranger)
        with contextlib.suppress(OSError):
            stranger.sendall(each)
    code, said, err = to_agent(place, address, key_file)
    for stranger in silent:
        stranger.close()
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert (root / "file.bin").read_bytes() == content(3_000_000)


def test_an_agent_that_waits_takes_little_memory(tmp_path: Path, key_file: Path) -> None:
    with waiting(tmp_path / "root", key_file, "127.0.0.1:0") as address:
        port = f":{int(address.split(':')[1]):04X} "
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines() if port in line]
        inode = next(words[9] for words in lines if words[3] == "0A")
        holders = [
            process
            for process in Path("/proc").glob("[0-9]*")
            if any(_leads_to(each, f"socket:[{inode}]") for each in process.glob("fd/*"))
        ]
        status = (holders[0] / "status").read_text().splitlines()
        resident_kb = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert resident_kb < 40 * 1024


def _leads_to(link: Path, to: str) -> bool:
    try:
        return str(link.readlink()) == to
    except OSError:
        return False


def test_many_who_say_a_byte_now_and_then_keep_nobody_out(
    place: Path, agent: tuple[str, Path], key_file: Path
) -> None:
    address, _ = agent
    host, port = address.split(":")
    over = threading.Event()
    slow = [socket.create_connection((host, int(port))) for _ in range(80)]
    began = time.monotonic()

    def trickle() -> None:
        # The length of a greeting, and then never all of it: each read is answered in time.
        says = itertools.chain([LONG_GREETING], itertools.repeat(b"\0"))
        while not over.wait(0.5):
            part = next(says)
            for each in slow:
                with contextlib.suppress(OSError):
                    each.sendall(part)

    talker = threading.Thread(target=trickle)
    talker.start()
    try:
        # The strangers have begun, and hold whatever an agent has for greetings.
        time.sleep(3)
        code, said, err = to_agent(place, address, key_file)
        assert (code, set(states(said).values())) == (0, {"complete"}), err
        # Each was given the time of one greeting, all of them at once, however often they spoke.
        for each in slow:
            each.settimeout(max(0.1, began + HANDSHAKE_S + 5 - time.monotonic()))
            with contextlib.suppress(ConnectionResetError):
                while each.recv(100):
                    pass
    finally:
        over.set()
        talker.join()
        for each in slow:
            each.close()


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"HTTP/1.0 400 Bad request\r\n\r\n", "no agent answers: what is there is not incast"),
        (b"", "no agent answers: what is there says nothing"),
        (None, "no agent answers: connection refused"),
    ],
)
def test_what_is_no_agent_is_named(says: bytes | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if says == b"":
        monkeypatch.setattr("incast.live.control.CONNECT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = door.getsockname()
        if says is None:
            door.close()
        child = WaitingChild(address, b"k" * 32, {})
        if says is not None:
            there, _ = door.accept()
            there.sendall(says)
        assert child.wait(LIMIT_S) == 1
        assert child.said() == f"{why}: is `incast broadcast agent --listen` running there?"
        if says is not None:
            there.close()


def test_a_remote_shell_is_a_command_with_or_without_a_place_for_the_host() -> None:
    agent = ["incast", "broadcast", "agent"]
    assert command("ip netns exec {host}", "h1", "incast") == ["ip", "netns", "exec", "h1", *agent]
    assert command("ssh -p 22", "h1", "incast") == ["ssh", "-p", "22", "h1", *agent]
    with pytest.raises(ScenarioError, match="--rsh"):
        command("ssh 'x", "h1", "incast")
