"""Broadcasts between processes on this machine: what arrives, what is refused, what can be interrupted."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from broadcasts import HERE, MBPS, content, ended, here, nothing_else, size, states
from helpers import until
from incast.cli.app import app


def test_a_file_arrives_everywhere(place: Path) -> None:
    code, said, err = ended(here(place))
    assert (code, states(said)) == (0, dict.fromkeys(("one", "two", "three"), "complete")), err
    for name in ("one", "two", "three"):
        assert (place / name / "file.bin").read_bytes() == content(3_000_000)
        assert nothing_else(place / name)


def test_the_same_command_again_moves_only_what_is_missing(place: Path) -> None:
    sent = content(3_000_000)
    for name in ("one", "two"):
        (place / name / "file.bin").write_bytes(sent)
        (place / name / "file.bin").chmod((place / "file.bin").stat().st_mode & 0o777)
    # One that died after its copy had its name and before the rest was cleared away.
    (place / "two/.file.bin.incast-journal").write_bytes(b"")
    before = (place / "one/file.bin").stat()
    code, said, err = ended(here(place))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert [each["resumed"] for each in said["receivers"]] == [3_000_000, 3_000_000, 0]
    assert (place / "one/file.bin").stat().st_ino == before.st_ino
    assert all(nothing_else(place / name) for name in ("one", "two", "three"))
    # A file of the same size with other content stays, unless somebody says that it may go.
    changed = sent[:1_000_000] + b"!" + sent[1_000_001:]
    (place / "file.bin").write_bytes(changed)
    code, _, err = ended(here(place))
    assert code == 4
    assert err.count("exists already with other content; --force replaces it") == 3
    assert (place / "one/file.bin").read_bytes() == sent
    code, said, err = ended(here(place, "--force", "--chunk", "64KiB"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert all((place / name / "file.bin").read_bytes() == changed for name in ("one", "two", "three"))
    assert all(each["resumed"] >= 3_000_000 - 65_536 for each in said["receivers"])
    # One of another size has another form: it is not even compared.
    (place / "file.bin").write_bytes(sent[:-1])
    code, _, err = ended(here(place))
    assert code == 4
    assert "exists already; --force replaces it" in err


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


def begin_slowly(place: Path, *more: str, mbps: int = 2) -> subprocess.Popen[str]:
    """Sends in a network in which it takes some seconds; the first receiver has noted some chunks."""
    names = (socket.gethostname(), "one", "two", "three")
    nodes = [{"id": name, "kind": "host"} for name in names] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": mbps * MBPS, "ba": mbps * MBPS} for name in names]
    (place / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    child = here(place, "--topology", str(place / "net.json"), *more)
    until(lambda: size(place / "one/.file.bin.incast-journal") > 500, child)
    return child


@pytest.mark.parametrize(
    ("chunk", "request_"),
    [("32KiB", signal.SIGTERM), ("16KiB", signal.SIGHUP)],
    ids=["the-same", "cut-in-another-way"],
)
def test_an_interrupted_broadcast_goes_on_where_it_was(
    place: Path, chunk: str, request_: signal.Signals
) -> None:
    child = begin_slowly(place, "--chunk", "32KiB")
    child.send_signal(request_)
    code, said, err = ended(child)
    assert code == 130, err
    assert said["interrupted"]
    code, said, err = ended(here(place, "--chunk", chunk))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert said["receivers"][0]["resumed"] > 0
    assert (place / "one/file.bin").read_bytes() == content(3_000_000)


def test_a_file_that_changes_is_named_and_nothing_gets_its_name(place: Path) -> None:
    child = begin_slowly(place, "--chunk", "32KiB", mbps=4)
    with (place / "file.bin").open("ab") as file:
        file.write(b"more")
    code, _, err = ended(child)
    assert code == 4
    # Of which host, by its name.
    assert f"{socket.gethostname()}: file.bin changed while it was sent: its length" in err
    assert not (place / "one/file.bin").exists()


def test_a_folder_of_many_small_files_arrives(place: Path) -> None:
    tree = place / "tree"
    for folder in range(50):
        (tree / str(folder)).mkdir(parents=True)
        for file in range(40):
            (tree / str(folder) / str(file)).write_bytes(content(folder * file, file))
    code, said, err = ended(here(place, file="tree"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    for name in ("one", "two", "three"):
        for folder in range(50):
            for file in range(40):
                assert (place / name / "tree" / str(folder) / str(file)).read_bytes() == content(
                    folder * file, file
                )


def test_best_possible_rates_are_those_of_hosts_alone(place: Path) -> None:
    rates = {"me": 40, "one": 40, "two": 20, "three": 40}
    nodes = [{"id": name, "kind": "host"} for name in rates] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": rate * MBPS, "ba": rate * MBPS} for name, rate in rates.items()]
    (place / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    code, said, err = ended(here(place, "--topology", str(place / "net.json"), "--source", "me"))
    assert code == 0, err
    assert [each["best_bps"] for each in said["receivers"]] == [40 * MBPS, 20 * MBPS, 40 * MBPS]
    for each in said["receivers"]:
        assert each["rate_bps"] == pytest.approx(each["bytes"] * 8 / each["seconds"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--topology", "net.json", "--source", "nobody"], "'nobody' is not a host of the topology"),
        (["--algorithm", "stabel"], "Did you mean 'stable'?"),
        (["--chunk", "many"], "--chunk"),
        (["--rsh", ""], "--rsh: it is empty"),
        (["--address", "203.0.113.9"], "203.0.113.9: it is no address of this machine"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_begins(
    place: Path, words: list[str], problem: str
) -> None:
    nodes = [{"id": name, "kind": "host"} for name in ("me", "one", "two", "three")]
    links = [{"a": "me", "b": name, "ab": MBPS, "ba": MBPS} for name in ("one", "two", "three")]
    (place / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    found = CliRunner().invoke(
        app,
        [
            "broadcast", str(place / "file.bin"), "--to", str(place / "hosts.txt"), "--rsh", HERE,
            *(str(place / word) if word == "net.json" else word for word in words),
        ],
    )  # fmt: skip
    assert found.exit_code in {2, 4}
    assert problem in found.output.replace("\n", " ")
    assert not any((place / name / "file.bin").exists() for name in ("one", "two", "three"))
