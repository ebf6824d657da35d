"""Broadcasts between processes on this machine: what arrives, what is refused, what can be interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from broadcasts import HERE, MBPS, content, ended, here, incast, nothing_else, size, states
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
    assert code == 6
    assert err.count("exists already with other content; --force replaces it") == 3
    assert (place / "one/file.bin").read_bytes() == sent
    code, said, err = ended(here(place, "--force", "--chunk", "64KiB"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    assert all((place / name / "file.bin").read_bytes() == changed for name in ("one", "two", "three"))
    assert all(each["resumed"] >= 3_000_000 - 65_536 for each in said["receivers"])
    # One of another size has another form: without --force it is not even compared.
    (place / "file.bin").write_bytes(sent[:-1])
    code, _, err = ended(here(place))
    assert code == 6
    assert "exists already; --force replaces it" in err


def test_with_force_only_what_is_not_there_moves(place: Path) -> None:
    tree = place / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(content(1000))
    (tree / "b").write_bytes(content(2_000_000))
    chunks = ["--force", "--chunk", "64KiB"]
    code, _, err = ended(here(place, *chunks, file="tree"))
    assert code == 0, err

    def moved() -> set[int]:
        code, said, err = ended(here(place, *chunks, file="tree"))
        assert (code, set(states(said).values())) == (0, {"complete"}), err
        size = sum(each.stat().st_size for each in tree.iterdir())
        return {size - each["resumed"] for each in said["receivers"]}

    (tree / "b").chmod(0o750)
    assert moved() == {0}
    assert (place / "two/tree/b").stat().st_mode & 0o777 == 0o750
    # A file that grows moves those behind it to other places; what was appended is one chunk or two.
    (tree / "a").write_bytes(content(1500))
    assert max(moved()) <= 64 << 10
    (tree / "b").write_bytes(content(2_000_000) + b"more")
    assert max(moved()) <= 128 << 10
    assert (place / "three/tree/a").read_bytes() == content(1500)
    assert (place / "three/tree/b").read_bytes() == content(2_000_000) + b"more"


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


def test_what_patterns_exclude_is_neither_sent_nor_looked_at(place: Path) -> None:
    tree = place / "tree"
    for name in ("keep/a.log", "keep/b.txt", "cache/big", "cache/inner/x", "important.log", "deep/cache/y"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content(50_000, len(name)))
    # It could not be sent, and would be refused if anybody looked.
    os.mkfifo(tree / "cache/pipe")
    words = ["--exclude", "/cache", "--exclude", "*.log", "--exclude", "!important.log"]
    code, said, err = ended(here(place, *words, file="tree"))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    for name in ("one", "two", "three"):
        found = {
            str(each.relative_to(place / name))
            for each in (place / name / "tree").rglob("*")
            if each.is_file()
        }
        assert found == {"tree/keep/b.txt", "tree/important.log", "tree/deep/cache/y"}
    code, said, err = ended(here(place, *words, file="tree"))
    assert (code, [each["resumed"] for each in said["receivers"]]) == (0, [150_000] * 3), err
    for words, why in ((["[z-a]"], "[z-a]"), (["# x"], "excludes nothing")):
        code, _, err = ended(here(place, "--exclude", *words, file="tree"))
        assert (code, why in err) == (2, True), err
    code, _, err = ended(here(place, "--exclude", "*.bin"))
    assert (code, "is no folder" in err) == (2, True), err


def star(place: Path, mbps: dict[str, int]) -> list[str]:
    """Options that say what hosts around a switch can send and receive."""
    nodes = [{"id": name, "kind": "host"} for name in mbps] + [{"id": "switch", "kind": "switch"}]
    links = [{"a": name, "b": "switch", "ab": rate * MBPS, "ba": rate * MBPS} for name, rate in mbps.items()]
    (place / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    return ["--topology", str(place / "net.json"), "--source", "me"]


def test_a_dry_run_says_what_would_happen_and_moves_nothing(place: Path) -> None:
    words = ["--dry-run", *star(place, {"me": 40, "one": 40, "two": 20, "three": 40})]
    # Nobody is asked: there is no such shell.
    code, said, err = ended(here(place, *words, "--rsh", "false"))
    assert (code, said["bytes"], said["files"], said["dry_run"]) == (0, 3_000_000, 1, True), err
    found = {each["host"]: (each["path"], each["rate_bps"], each["seconds"]) for each in said["receivers"]}
    rates = {"one": 40, "two": 20, "three": 40}
    assert found == {
        name: (str(place / name / "file.bin"), rate * MBPS, pytest.approx(24 / rate))
        for name, rate in rates.items()
    }
    assert said["trees"]
    assert all(each["parents"] for each in said["receivers"])
    # With a limit, what a host sends is the bottleneck, and the plan knows.
    code, said, err = ended(here(place, *words, "--rate", "10Mbps"))
    assert (code, {each["rate_bps"] for each in said["receivers"]}) == (0, {10 * MBPS}), err
    # Of rates that nobody knows nothing is said.
    code, said, err = ended(here(place, "--dry-run"))
    assert (code, {each["seconds"] for each in said["receivers"]}, said["algorithm"]) == (0, {None}, None), (
        err
    )
    assert not any(list((place / name).iterdir()) for name in ("one", "two", "three"))


@pytest.mark.parametrize("known", [True, False])
def test_no_host_sends_more_than_the_rate_that_was_said(place: Path, known: bool) -> None:
    words = star(place, dict.fromkeys(("me", "one", "two", "three"), 400)) if known else []
    code, said, err = ended(here(place, "--rate", "10Mbps", *words))
    assert (code, set(states(said).values())) == (0, {"complete"}), err
    # 2.4 s from the source alone; three of them would have to share what it may send if nobody passed it on.
    assert all(2.3 < each["seconds"] < 6 for each in said["receivers"]), said
    code, _, err = ended(here(place, "--rate", "1"))
    assert (code, "--rate" in err) == (2, True), err


def test_times_arrive_and_owners_where_they_are_asked_for(place: Path) -> None:
    os.utime(place / "file.bin", ns=(1, 1_234_567_890_123_456_789))
    root = os.geteuid() == 0
    if root:
        os.chown(place / "file.bin", 1234, 2345)
    code, said, err = ended(here(place, "--owner"))
    came = (0, "complete") if root else (6, "failed")
    assert (code, states(said)) == (came[0], dict.fromkeys(("one", "two", "three"), came[1])), err
    if root:
        for name in ("one", "two", "three"):
            found = (place / name / "file.bin").stat()
            assert (found.st_uid, found.st_gid, found.st_mtime_ns) == (1234, 2345, 1_234_567_890_123_456_789)
    # A file that was only touched is what it was: nothing moves.
    os.utime(place / "file.bin")
    code, said, err = ended(here(place, "--owner"))
    assert (code, [each["resumed"] for each in said["receivers"]]) == (0, [3_000_000] * 3) or not root, err


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


def test_that_nobody_is_there_is_a_result_with_all_reasons(place: Path) -> None:
    code, said, err = ended(here(place, "--rsh", "false", "--out", str(place / "kept")))
    assert code == 6, err
    assert states(said) == dict.fromkeys(("one", "two", "three"), "unreachable")
    assert {each["why"] for each in said["receivers"]} == {"ended with code 1 before it was ready"}
    assert said["failed"] is None
    kept = json.loads((place / "kept/summary.json").read_text())
    assert kept["receivers"] == said["receivers"]


def begin_slowly(place: Path, *more: str, mbps: int = 2) -> subprocess.Popen[str]:
    """Sends in a network in which it takes some seconds; the first receiver has noted some chunks."""
    child = here(place, *star(place, dict.fromkeys(("me", "one", "two", "three"), mbps)), *more)
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


def test_measuring_that_is_interrupted_before_anything_arrived_says_so(place: Path) -> None:
    interrupts = "sh -c 'test $0 != one || kill -INT $PPID; exec sleep 60' {host}"
    net = place / "net.json"
    words = ["--to", str(place / "hosts.txt"), "--rsh", interrupts, "--out", str(net), "--json"]
    code, said, err = ended(incast("broadcast", "measure", *words))
    assert code == 130, err
    assert said["interrupted"]
    assert not net.exists()


def test_a_launcher_that_stood_still_for_longer_than_its_patience_blames_nobody(place: Path) -> None:
    child = begin_slowly(place, "--patience", "4", mbps=4)
    child.send_signal(signal.SIGSTOP)
    time.sleep(6)
    child.send_signal(signal.SIGCONT)
    code, said, err = ended(child)
    assert (code, states(said)) == (0, dict.fromkeys(("one", "two", "three"), "complete")), err
    assert [each["restarts"] for each in said["receivers"]] == [0, 0, 0]


def test_a_file_that_changes_is_named_and_nothing_gets_its_name(place: Path) -> None:
    child = begin_slowly(place, "--chunk", "32KiB", mbps=4)
    with (place / "file.bin").open("ab") as file:
        file.write(b"more")
    code, _, err = ended(child)
    assert code == 4
    # Of which host, by its name.
    assert "me: file.bin changed while it was sent: its length" in err
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
    words = star(place, {"me": 40, "one": 40, "two": 20, "three": 40})
    code, said, err = ended(here(place, *words))
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
