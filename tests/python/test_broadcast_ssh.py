"""Broadcasts by ssh, through an sshd of the test's own: what people have in their list of hosts, and what goes wrong."""

from __future__ import annotations

import getpass
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from broadcasts import MBPS, content, ended, incast, nothing_else, size, states
from helpers import until
from incast import __version__
from incast.broadcast import hosts
from incast.broadcast.shell import command, host_of
from incast.errors import ScenarioError
from sshd import OLD, Sshd, unavailable

WHY = unavailable()
needs_sshd = pytest.mark.skipif(WHY is not None, reason=WHY or "")
SIZE = 6_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a blank in its name, as in all names below."""
    place = tmp_path / "the folder"
    place.mkdir()
    (place / "a file").write_bytes(content(SIZE))
    return place


def send(folder: Path, sshd: Sshd, lines: Sequence[str], *more: str) -> Any:
    """To hosts as they stand in a list; each has a folder of its own here."""
    (folder / "my hosts").write_text("\n".join(lines) + "\n")
    for host in sshd.hosts:
        (folder / f"of {host}").mkdir(exist_ok=True)
    words = [
        "broadcast", str(folder / "a file"), "--to", str(folder / "my hosts"), "--rsh", sshd.rsh(), "--source", "source",
        "--dest", str(folder / "of {host}") + "/", "--json", *more,
    ]  # fmt: skip
    return incast(*words)


def network(folder: Path, names: Sequence[str]) -> Path:
    """One in which it takes some seconds."""
    ends = ["source", *names]
    nodes = [{"id": name, "kind": "host"} for name in ends] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": 10 * MBPS, "ba": 10 * MBPS} for name in ends]
    path = folder / "my net.json"
    path.write_text(json.dumps({"nodes": nodes, "links": links}))
    return path


def begun(folder: Path, host: str, child: Any) -> None:
    """Waits until a host has some of it."""
    journal = folder / f"of {host}" / ".a file.incast-journal"
    until(lambda: size(journal) > 1000, child)


@needs_sshd
def test_hosts_that_cannot_take_part_are_named_with_the_reason_and_what_helps(folder: Path) -> None:
    named = ["alias", "user", "port", "bare", "old", "locked", "strange", "nobody"]
    with Sshd(folder, named[:-1], bare=["bare"], old=["old"], locked=["locked"], strange=["strange"]) as sshd:
        user = getpass.getuser()
        lines = [
            "alias", f"{user}@user", f"ssh://{user}@{sshd.address('port')}:{sshd.port} port", "bare", "old", "locked",
            "strange", "nobody.invalid nobody",
        ]  # fmt: skip
        code, said, err = ended(send(folder, sshd, lines))
    assert code == 6, err
    well = ["alias", "user", "port"]
    # One of another version was there, and said so.
    assert states(said) == {
        name: "complete" if name in well else "failed" if name == "old" else "unreachable" for name in named
    }
    for name in well:
        assert (folder / f"of {name}/a file").read_bytes() == content(SIZE)
        assert nothing_else(folder / f"of {name}")
    why = {each["host"]: each["why"] for each in said["receivers"]}
    assert "not found: install incast there, or say with --incast where it is" in why["bare"]
    assert why["old"] == f"it has incast {OLD}, and {__version__} is here: both need the same version"
    assert "Permission denied" in why["locked"]
    assert "without a password" in why["locked"]
    assert why["strange"].startswith("Host key verification failed")
    assert "accept its key" in why["strange"]
    assert "Could not resolve hostname nobody.invalid" in why["nobody"]
    assert not any(each["restarts"] for each in said["receivers"])


@needs_sshd
def test_a_connection_that_dies_costs_nothing_as_long_as_the_agent_lives(folder: Path) -> None:
    with Sshd(folder, ["one", "two"]) as sshd:
        net = network(folder, sshd.hosts)
        child = send(folder, sshd, sshd.hosts, "--topology", str(net))
        begun(folder, "one", child)
        sshd.cut()
        code, said, err = ended(child)
    assert (code, states(said)) == (0, {"one": "complete", "two": "complete"}), err
    assert all((folder / f"of {host}/a file").read_bytes() == content(SIZE) for host in sshd.hosts)


@needs_sshd
def test_ctrl_c_ends_agents_at_the_other_end_and_the_same_command_goes_on(folder: Path) -> None:
    with Sshd(folder, ["one", "two"]) as sshd:
        net = network(folder, sshd.hosts)
        child = send(folder, sshd, sshd.hosts, "--topology", str(net))
        begun(folder, "one", child)
        child.send_signal(signal.SIGINT)
        code, said, err = ended(child)
        assert (code, set(states(said).values())) == (130, {"interrupted"}), err
        # Nobody holds the unfinished copies any more.
        code, said, err = ended(send(folder, sshd, sshd.hosts))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert all(each["resumed"] > 0 for each in said["receivers"])


@needs_sshd
def test_an_address_that_this_machine_does_not_have_is_named(folder: Path) -> None:
    with Sshd(folder, ["one"]) as sshd:
        code, _, err = ended(send(folder, sshd, ["one"], "--address", "203.0.113.77"))
    assert code == 4
    assert "203.0.113.77: it is no address of this machine" in err


@needs_sshd
def test_a_program_elsewhere_is_said_as_the_shell_there_would_have_it(folder: Path) -> None:
    with Sshd(folder, ["one"], bare=["one"]) as sshd:
        program = shlex.quote(str(folder / "bin/incast"))
        code, _, err = ended(send(folder, sshd, ["one"], "--incast", program))
        assert code == 0, err
        code, _, err = ended(send(folder, sshd, ["one"], "--incast", "$HOME/nowhere/incast", "--force"))
    assert code == 6
    assert "say with --incast where it is" in err
    assert host_of(sshd.rsh(), "one") == sshd.address("one")


def test_ssh_gets_the_program_as_it_was_written() -> None:
    agent = ["broadcast", "agent"]
    assert command("ssh -p 22", "h", "'~/my env'/incast") == [
        "ssh",
        "-p",
        "22",
        "h",
        "'~/my env'/incast",
        *agent,
    ]
    assert command("sudo /usr/bin/ssh {host}", "h", "a b")[3:] == ["a b", *agent]
    assert command("docker exec -i {host}", "h", "'a b' c") == [
        "docker",
        "exec",
        "-i",
        "h",
        "a b",
        "c",
        *agent,
    ]
    with pytest.raises(ScenarioError, match="--incast: it is empty"):
        command("ssh", "h", "")
    assert host_of("docker exec -i {host}", "h") is None
    assert host_of(f"{shlex.quote(sys.executable)}/nothing/ssh", "h") is None


@pytest.mark.parametrize(
    ("line", "host", "name"),
    [
        ("ssh://me@node:2222", "node", "node"),
        ("ssh://node", "node", "node"),
        ("me@node", "node", "node"),
        ("me@node other", "node", "other"),
    ],
)
def test_hosts_as_ssh_knows_them(tmp_path: Path, line: str, host: str, name: str) -> None:
    (tmp_path / "hosts.txt").write_text(line)
    (found,) = hosts.read(tmp_path / "hosts.txt")
    assert (found.shell, found.host, found.name) == (line.split()[0], host, name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("me@node:2222", "for ssh with another port write ssh://me@node:2222"),
        ("ssh://node:99999", "99999 is no port"),
        ("ssh://-oProxyCommand=x", "is no host"),
        ("ssh://-x@node", "is no host"),
        ("ssh://a/b", "is no host"),
    ],
)
def test_what_ssh_would_not_understand_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "hosts.txt").write_text(line)
    with pytest.raises(ScenarioError, match=problem):
        hosts.read(tmp_path / "hosts.txt")
