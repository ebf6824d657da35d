"""Walks over a network that loses datagrams, simulated and real.

Every run ends and says what it lost; the walks that ended are where the same walks end without loss.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
import lossy
from helpers import written
from incast.cli.app import app
from incast.live.launch import Child, start_here
from incast.live.place import Here
from incast.result import Result
from walk_servers import SBM

WALKS = 100
SHARES = (0.01, 0.05, 0.2, 0.5, 1.0)


def walked(out: Path, share: float, monkeypatch: pytest.MonkeyPatch, *more: str) -> tuple[int, str]:
    """A walk on two servers, to whom this share of datagrams does not come."""
    monkeypatch.setattr("incast.walks.where.Here", lambda: Here(lossy.starts(share)))
    command = ["walk", SBM, "--walks", str(WALKS), "--servers", "2", "--out", str(out), *more]
    done = CliRunner().invoke(app, command)
    return done.exit_code, done.output


@pytest.mark.parametrize("share", SHARES)
def test_real_walks_over_a_lossy_network_end_and_say_what_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    out = tmp_path / "out"
    # The longest walk crosses some thirty times: of a twentieth lost, one attempt in five comes through.
    attempts = 20 if share >= 0.2 else 200
    code, said = walked(out, share, monkeypatch, "--set", f"loss.attempts={attempts}")
    result = incast.WalkResult.open(out)
    totals = result.table("walks").select("required", "finished", "given_up", "lost_timeout").sum().row(0)
    required, finished, given_up, lost = totals
    assert (finished + given_up, required) == (60 * WALKS, 60 * WALKS), said
    assert lost >= attempts * given_up
    assert (code, "Incomplete:" in said) == ((7, True) if given_up else (0, False)), said
    scores, there = ends(result), ends(incast.walk(SBM, walks=WALKS))
    assert scores["walks"].sum() == finished
    if share < 0.2:
        assert given_up == 0
        assert scores.equals(there)
    else:
        both = scores.join(there, on=["start", "node"], how="left")
        assert (both["walks"] <= both["walks_right"]).all(), "others than those without loss"
    if given_up:
        assert result.given_up == result.summary["given_up"] == given_up
        assert said.index("Incomplete:") < said.index("Result")
        assert f"{lost / (required + result.summary['servers']['additional']):.0%} of all walkers" in said
    assert (given_up > 0) is (share >= 0.5) or share == 0.2
    assert share < 1 or finished > 0, "walks that stay on a server lose nothing"


def ends(result: incast.WalkResult) -> pl.DataFrame:
    return result.table("scores").select("start", "node", "walks").sort("start", "node")


def test_a_run_that_loses_much_says_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incast.walks.servers.SLOW_S", 0.5)
    code, said = walked(
        tmp_path / "out", 1.0, monkeypatch, "--set", "loss.attempts=10", "--set", "loss.initial=300ms"
    )
    assert code == 7
    (warning,) = [line for line in said.splitlines() if line.startswith("warning:")]
    assert "none was finished within 0.5 s" in warning
    assert "of all walkers were lost" in warning
    assert "one that has timed out 10 times (loss.attempts) is given up, in some" in warning


@pytest.mark.parametrize("share", SHARES)
def test_simulated_walks_over_a_lossy_network_end_and_say_what_was_lost(tmp_path: Path, share: float) -> None:
    file = written(tmp_path, simulated(share))
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    walks = (
        Result.open(tmp_path / "out").walks.select("required", "finished", "given_up", "lost_timeout").sum()
    )
    required, finished, given_up, lost = walks.row(0)
    assert (finished + given_up, required) == (1200, 1200)
    assert lost >= 50 * given_up
    assert (share > 0.1 and given_up > 0) is (done.exit_code == 7), done.output
    assert given_up > 0 or done.exit_code == 0
    assert share < 0.5 or given_up > 0
    assert share > 0.05 or given_up == 0
    if given_up:
        assert f"{given_up} given up" in done.output


def test_walks_that_are_lost_and_not_generated_again_are_counted(tmp_path: Path) -> None:
    scenario = simulated(0.05)
    scenario["jobs"][0]["regenerate"] = False
    file = written(tmp_path, scenario)
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    result = Result.open(tmp_path / "out")
    lost = 1200 - int(result.walks["finished"].sum())
    assert lost > 100
    figures = result.summary["jobs"]["walks"]
    assert (figures["walks_unfinished"], figures["walks_again"]) == (lost, 0)
    assert any(line.split() == ["walks", "not", "finished", str(lost)] for line in done.output.splitlines())


def simulated(share: float) -> dict[str, Any]:
    """1,200 walks over three servers whose links lose this share of packets."""
    servers = ["host0", "host1", "host2"]
    return {
        "name": "lossy",
        "topology": {
            "kind": "single-switch",
            "hosts": 3,
            "host_link": {"rate": "10Gbps", "delay": "5us"},
        },
        "jobs": [
            {
                "name": "walks",
                "kind": "walk",
                "graph": {"kind": "sbm", "sizes": [20] * 3, "inside": 0.3, "between": 0.05},
                "walks": 20,
                "queue": {"kind": "tail-drop"},
                "limit": 100_000,
                "loss": {"attempts": 50, "initial": "10ms"},
            }
        ],
        "faults": [
            {"at": "0s", "loss": {"link": ["switch0", host], "probability": share}} for host in servers
        ],
    }


def test_drops_of_a_full_queue_use_up_no_attempts(tmp_path: Path) -> None:
    result = incast.walk(
        SBM,
        walks=20,
        servers=2,
        settings={"queue": {"kind": "tail-drop"}, "limit": 2, "loss": {"attempts": 1, "remote": True}},
        out=tmp_path / "out",
    )
    walks = result.table("walks")
    assert int(walks["drops_full"].sum()) > 0
    assert int(walks["finished"].sum()) + int(walks["given_up"].sum()) == 60 * 20
    assert int(walks["given_up"].sum()) <= int(walks["lost_timeout"].sum())
    said = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert said["servers"]["lost_direct"] + said["servers"]["lost_remote"] > 0


def test_datagrams_of_strangers_are_counted_where_one_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        child = start_here(host, address, key)
        assert isinstance(child, subprocess.Popen)
        threading.Thread(target=pester, args=(child,), daemon=True).start()
        return child

    def pester(child: subprocess.Popen[bytes]) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            while child.poll() is None:
                for port in lossy.ports(child.pid):
                    stranger.sendto(b"from nobody", ("127.0.0.1", port))
                time.sleep(0.01)

    monkeypatch.setattr("incast.walks.where.Here", lambda: Here(start))
    result = incast.walk(SBM, walks=3000, servers=2, out=tmp_path / "out")
    assert (result.table("walks")["refused_strangers"] > 0).all()
    assert result.table("scores")["walks"].sum() == 60 * 3000
