"""Walks on servers that are interrupted, killed or silent: what is finished is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from incast.cli.app import app
from incast.errors import RunError
from incast.live.launch import Child
from incast.live.place import Here
from incast.walks import request
from incast.walks.board import Board
from incast.walks.member import JOURNAL
from incast.walks.memory import InMemory
from incast.walks.run import Watch, run
from incast.walks.servers import OnServers
from lives import LONG_S, Lives, held, meanwhile, not_over_before, silent
from walk_servers import SBM, graph, has_begun, noted, servers


def members_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.parametrize(
    ("app_name", "request_"),
    [("ppr", signal.SIGHUP), ("node2vec", signal.SIGTERM), ("corpus", signal.SIGINT)],
)
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(
    tmp_path: Path, app_name: str, request_: signal.Signals
) -> None:
    out = tmp_path / "out"
    walks = {"ppr": "4000000", "node2vec": "400000", "corpus": "400000"}[app_name]
    command = [sys.executable, "-m", "incast", "walk", SBM, "--app", app_name, "--walks", walks]
    command += ["--servers", "2", "--out", str(out), "--metrics", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr
    address = process.stderr.readline().partition(" ")[2].strip()
    for _ in range(600):
        with urllib.request.urlopen(address, timeout=60) as answer:
            page = answer.read().decode()
        if any(
            line.startswith("incast_walk_finished_total") and not line.endswith(" 0.0")
            for line in page.split("\n")
        ):
            break
        time.sleep(0.1)
    members = members_of(process.pid)
    assert len(members) == 2
    process.send_signal(request_)
    shown, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    assert not [pid for pid in members if Path(f"/proc/{pid}").exists()]
    result = incast.WalkResult.open(out)
    assert result.interrupted
    finished = result.summary["finished"]
    assert 0 < finished < 60 * int(walks)
    assert f"{finished:,}".replace(",", "\u202f") in shown
    if app_name == "ppr":
        assert result.table("scores")["walks"].sum() == result.table("walks")["finished"].sum()
    if app_name == "corpus":
        assert len((out / "corpus.txt").read_text().splitlines()) == result.table("walks")["finished"].sum()
    if app_name == "node2vec":
        assert len(result.walks) == result.table("walks")["finished"].sum()
        assert (np.asarray(result.walks[:, 0]) < 60).all()


class Stopper(Watch):
    """Ctrl-C after 20,000 walks, once something is true of the servers."""

    def __init__(self, when: Callable[[Board], object] = lambda _: True) -> None:
        self.left, self.when, self.asked = 20_000, when, False

    def begin(self, _: int, board: Board | None) -> None:
        self.board = board

    def more(self, walks: int) -> None:
        self.left -= walks
        if self.left <= 0 and not self.asked and (self.board is None or self.when(self.board)):
            self.asked = True
            os.kill(os.getpid(), signal.SIGINT)


def test_what_an_interrupted_run_walked_anew_is_counted(tmp_path: Path) -> None:
    small = {"queue": {"kind": "tail-drop"}, "limit": 50}
    watch = Stopper(lambda board: board.total("additional"))
    result = run(SBM, tmp_path / "out", walks=1_000_000, servers=2, settings=small, watch=watch)
    assert result.interrupted
    walks = result.table("walks")
    lost = walks["lost_timeout"] + walks["lost_direct"]
    assert 0 < result.summary["servers"]["additional"] == walks["additional"].sum()
    assert (walks["additional"] <= lost).all()
    assert (walks["generated"] < walks["required"]).all()


def test_ctrl_c_in_memory_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incast.walks.memory.CALL_STEPS", 1000)

    class Stopper(Watch):
        def more(self, _: int) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    result = run(SBM, tmp_path / "out", walks=1000, watch=Stopper())
    assert result.interrupted
    assert result.table("scores")["walks"].sum() == result.summary["finished"] < 60_000


def test_communities_of_interrupted_walks_are_those_of_finished_ones(tmp_path: Path) -> None:
    # Every walk around a node is finished, or none.
    memory = run("sbm:3,600,0.3,0.01", tmp_path / "memory", app="communities", walks=20_000, watch=Stopper())
    found = memory.table("communities")
    assert memory.interrupted
    assert found["community"].null_count() > 300, "one community, about"
    assert set(found["community"].drop_nulls()) == set(memory.top["community"]) == {0}
    # Some walks around all nodes, or nearly.
    watch = Stopper(lambda board: all(each.totals.get("finished", 0) > 5000 for each in board.servers))
    served = run(SBM, tmp_path / "served", app="communities", walks=1_000_000, servers=2, watch=watch)
    assert served.interrupted
    assert served.summary["finished"] == served.table("walks")["finished"].sum() < 60 * 1_000_000
    assert served.table("communities")["community"].null_count() == 0
    around = run(SBM, tmp_path / "a", app="communities", starts=[0, 1, 2], walks=20_000, watch=Stopper())
    assert around.top["start"].to_list() == [0]
    assert around.table("members")["start"].unique().to_list() == [0]


def test_a_server_that_hangs_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = Lives()
    stopped: list[int] = []

    def tell(_: int) -> None:
        if not stopped:
            stopped.append(1)
            lives.of[1][0].send_signal(signal.SIGSTOP)

    not_over_before(monkeypatch, lambda: lives.again(1))
    silent(monkeypatch, 1, lambda: stopped and not lives.again(1))
    with Here(lives.start) as place:
        place.patience_s = LONG_S
        walker = servers(place, tell, walks=5000)
        ((_, _, counts),) = walker.ends(np.arange(60, dtype=np.uint32))
    assert counts.sum() == 60 * 5000
    assert len(lives.of[1]) == 2
    assert walker.ran[0].crashes == {1: 1}


@pytest.mark.parametrize("takes", ["ends", "paths"])
def test_a_server_that_is_killed_takes_up_what_it_had_finished(
    takes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives()
    everywhere = np.arange(60, dtype=np.uint32)
    wanted = (
        request.make("ppr", walks=10_000)
        if takes == "ends"
        else request.make("corpus", walks=10_000, length=5)
    )
    owners = (everywhere // 20).astype(np.uint16)
    with Here(lives.start) as place:
        place.patience_s = LONG_S
        journal = Path(place.folder(1)) / JOURNAL

        def kill() -> None:
            if not lives.again(1) and has_begun(journal, everywhere[20:40], 10_000, takes == "paths"):
                lives.kill(1)

        # Some walks of server 1 need server 0, so that it can't have finished.
        held(monkeypatch, lives, 0, until=lambda: lives.again(1))
        meanwhile(monkeypatch, kill)
        walker = OnServers(graph().core, wanted, everywhere, owners, 3, place, lambda _: None)
        memory = InMemory(graph().core, wanted, 1, lambda _: None)
        walks: list[tuple[Any, ...]] = []
        for each in (walker, memory):
            found: Any = (
                each.ends(everywhere) if takes == "ends" else (part[:1] for part in each.paths(everywhere))
            )
            walks.append(tuple(map(np.concatenate, zip(*found, strict=True))))
    for ours, theirs in zip(*walks, strict=True):
        assert np.array_equal(ours, theirs)
    assert walker.ran[0].crashes == {1: 1}
    totals = walker.board.servers[1].totals
    assert totals["finished"] == totals["required"] == 200_000
    assert 0 < totals["restored"] < 200_000
    lost = totals["lost_timeout"] + totals["lost_direct"] + totals["lost_remote"]
    # Those of before the crash are not walked again.
    assert totals["generated"] - lost <= totals["required"] - totals["restored"]
    assert walker.board.servers[0].totals["restored"] == 0


def test_a_run_whose_server_dies_for_good_keeps_what_was_finished(tmp_path: Path) -> None:
    lives, out = Lives(), tmp_path / "out"
    with Here(lives.start) as place, pytest.MonkeyPatch.context() as patch:
        journal = Path(place.folder(1)) / JOURNAL
        own = np.arange(30, 60, dtype=np.uint32)

        def kill() -> None:
            """Whenever it is there, once it has noted some walks."""
            if lives.again(1) or has_begun(journal, own, 1_000_000, False):
                lives.kill(1)

        meanwhile(patch, kill)
        patch.setattr("incast.walks.where.Here", lambda: nullcontext(place))
        with pytest.raises(
            RunError,
            match=rf"server1 (is gone|was killed by signal 9).*; {out} has the walks that were finished",
        ):
            run(SBM, out, walks=1_000_000, servers=2)
    result = incast.WalkResult.open(out)
    assert result.interrupted
    # It may be killed before or after it has said anything.
    error = next(
        way for way in ("server1 is gone", "server1 was killed by signal 9") if way in result.summary["error"]
    )
    scores, walks = result.table("scores"), result.table("walks")
    assert 0 < scores["walks"].sum() == result.summary["finished"] < 60 * 1_000_000
    assert walks["finished"].sum() == result.summary["finished"]
    dead = scores.filter(pl.col("start") >= 30)
    assert dead["walks"].sum() == walks["finished"][1] > 0, "the one that is dead has left a journal"
    assert walks["restarts"].to_list() == [0, 3]
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0
    assert f"Walks failed: {error}" in (out / "report.html").read_text("utf-8")


def test_a_journal_that_is_torn_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    everywhere, own = np.arange(60, dtype=np.uint32), np.arange(30, 60, dtype=np.uint32)
    with Here() as place:
        next(servers(place, walks=10_000).ends(everywhere))
        bytes_ = (Path(place.folder(1)) / JOURNAL).read_bytes()
    journal = tmp_path / "journal"

    def walks(content: bytes) -> int:
        journal.write_bytes(content)
        return noted(journal, own, 10_000, False)

    whole = walks(bytes_)
    assert whole == 30 * 10_000
    assert 0 < walks(bytes_[:-1]) < whole
    assert walks(bytes_ + b"RWE2") == whole
    assert walks(b"") == 0
    for other in (bytes_[1:], b"not a journal"):
        with pytest.raises(ValueError, match="damaged"):
            walks(other)
    journal.write_bytes(bytes_)
    with pytest.raises(ValueError, match="of another job"):
        noted(journal, own, 10, False)


def test_a_server_that_never_answers_is_named_in_bounded_time() -> None:
    mute: list[subprocess.Popen[bytes]] = []

    def start(*_: object) -> Child:
        mute.append(subprocess.Popen(["sleep", "600"]))
        return mute[-1]

    everywhere = np.arange(60, dtype=np.uint32)
    with Here(start) as place:
        place.patience_s = 1.0
        walker = OnServers(
            graph().core, request.make("ppr"), everywhere, np.zeros(60, np.uint16), 1, place, lambda _: None
        )
        with pytest.raises(RunError, match=r"server0 has not answered for 1\.5 s"):
            next(walker.ends(everywhere))
    assert len(mute) == 2, "a second try, and no more"
    assert all(child.poll() is not None for child in mute)


def test_the_command_says_which_server_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["walk", SBM, "--servers", "2", "--out", str(out), "--json"])
    assert done.exit_code == 4
    (said,) = json.loads(done.stdout)["problems"]
    assert "ended with code 1 before it was ready" in said["message"]
    assert said["message"].startswith("server")
    assert not out.exists()
