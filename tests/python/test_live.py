"""Live runs with a process a host: as in the simulator, and with members that die or hang."""

from __future__ import annotations

import functools
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from helpers import SMALL, checked, spec, written
from incast import _core
from incast.cli.app import app
from incast.errors import RunError
from incast.live import Host, Launch, run_jobs
from incast.live.control import ChannelClosedError, Door, connect
from incast.live.jobs import members
from incast.live.launch import Child, FailedRunError
from incast.live.running import Running
from lives import LONG_S, Lives

LIMIT_S = 240.0


def _flows(folder: Path) -> list[tuple[Any, ...]]:
    columns = ["job", "group", "from", "to", "bytes", "outcome"]
    return sorted(pl.read_parquet(folder / "flows/*.parquet").select(columns).rows())


def _slow(tmp_path: Path, last_ms: int = 600_000) -> dict[str, Any]:
    """A job that lasts a while: unless somebody says so, longer than any test."""
    flows = [{"at": f"{at}ms", "from": "host0", "to": "host1", "size": "1kB"} for at in (0, 10, 20, last_ms)]
    return spec(tmp_path, {**SMALL, "jobs": [{"name": "slow", "kind": "replay", "flows": flows}]})


def test_the_same_flows_as_in_the_simulator(tmp_path: Path) -> None:
    given = spec(tmp_path, SMALL)
    _core.run(checked(given), str(tmp_path / "sim"), False, lambda _: True, 1)
    told: list[Mapping[int, Mapping[str, Any]]] = []
    outcome = run_jobs(given, checked(given), tmp_path / "live", limit_s=LIMIT_S, watch=told.append)
    assert outcome.finished
    assert not outcome.crashes
    assert _flows(tmp_path / "live") == _flows(tmp_path / "sim")
    assert len(_flows(tmp_path / "live")) == 3
    assert told
    assert {report["end"] for report in outcome.reports} == {"stopped"}
    jobs = pl.read_parquet(tmp_path / "live/jobs/*.parquet")
    assert jobs["end_ps"][0] > 0
    hosts = pl.read_parquet(tmp_path / "live/hosts/*.parquet")
    assert hosts["host"].to_list() == ["host0", "host1", "host2", "host3"]
    assert hosts["received_bytes"][0] == 60_000


def test_a_member_is_told_its_own_jobs_only(tmp_path: Path) -> None:
    second = {"name": "one", "kind": "bulk", "pairs": [["host2", "host3"]], "size": "1kB"}
    given = spec(tmp_path, {**SMALL, "jobs": [*SMALL["jobs"], second], "measure": {"interval": "1ms"}})
    told = {host.name: host.work["share"] for host in members(given, checked(given))}
    assert [job["index"] for job in told["host2"]["jobs"]] == [0, 1]
    assert [job["index"] for job in told["host0"]["jobs"]] == [0]
    assert told["host3"]["jobs"][1]["port"] != told["host3"]["jobs"][0]["port"]
    assert told["host0"].keys() == {"seed", "topology", "hosts", "interval", "jobs"}


def test_a_checked_scenario_goes_to_other_processes(tmp_path: Path) -> None:
    core = checked(spec(tmp_path, SMALL))
    again = pickle.loads(pickle.dumps(core))
    assert _core.diverge(core, again, lambda _: True) is None


def _launch(given: dict[str, Any], lives: Lives, **more: Any) -> Launch:
    return Launch(
        members(given, checked(given)), "incast.live.jobs:prepare", start=lives.start, limit_s=LIMIT_S, **more
    )


def _kill_once(lives: Lives, host: int, how: int) -> Any:
    done = threading.Event()

    def watch(progress: Mapping[int, Mapping[str, Any]]) -> None:
        if progress.get(host, {}).get("time_ps", 0) > 0 and not done.is_set():
            done.set()
            lives.of[host][-1].send_signal(how)

    return watch


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_member_that_dies_is_named_and_the_others_report(tmp_path: Path, how: int) -> None:
    lives = Lives()
    with pytest.raises(FailedRunError, match=r"^host1 (is gone|was ended from outside)") as caught:
        Running(_launch(_slow(tmp_path), lives), _kill_once(lives, 1, how)).run()
    assert 0 in [report["host"] for report in caught.value.outcome.reports]
    assert not caught.value.outcome.finished
    codes = {host: child.wait(LIMIT_S) for host, (child,) in lives.of.items()}
    assert codes[0] == 0
    assert codes[1] != 0 or how == signal.SIGTERM


def test_a_member_that_dies_before_its_report_is_named(tmp_path: Path) -> None:
    lives = Lives()

    def kill(progress: Mapping[int, Mapping[str, Any]]) -> None:
        if len(progress) == len(lives.of) and all(each["finished"] for each in progress.values()):
            lives.kill(1)

    with pytest.raises(FailedRunError, match=r"^host1 is gone: it died before it had reported") as caught:
        Running(_launch(_slow(tmp_path, 30), lives), kill).run()
    assert [report["host"] for report in caught.value.outcome.reports] == [0]


def test_a_run_that_fails_keeps_what_the_others_have_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives()
    monkeypatch.setattr("incast.live.jobs.Launch", functools.partial(Launch, start=lives.start))
    slow = _slow(tmp_path)
    with pytest.raises(RunError, match=r"^host1 is gone"):
        run_jobs(slow, checked(slow), tmp_path / "live", watch=_kill_once(lives, 1, signal.SIGKILL))
    hosts = pl.read_parquet(tmp_path / "live/hosts/*.parquet")
    assert hosts["host"].to_list() == ["host0"]


def test_a_member_that_dies_is_started_anew(tmp_path: Path) -> None:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import incast.live.jobs, incast.live.member"], check=True)
    # By then it is there again, on a machine as busy as this one is.
    last_ms = 2000 + int(8000 * (time.monotonic() - began))
    lives = Lives()
    outcome = Running(
        _launch(_slow(tmp_path, last_ms), lives, restarts=1), _kill_once(lives, 1, signal.SIGKILL)
    ).run()
    assert outcome.finished
    assert outcome.crashes == {1: 1}
    assert len(outcome.reports) == 2
    flows = next(report["flows"] for report in outcome.reports if report["host"] == 0)
    assert len(flows) == 4
    assert flows[-1]["outcome"] == "finished"


def test_a_member_that_does_not_answer_is_named(tmp_path: Path) -> None:
    lives = Lives()
    launch = _launch(_slow(tmp_path), lives, patience_s=LONG_S)
    stop = _kill_once(lives, 1, signal.SIGSTOP)

    def watch(progress: Mapping[int, Mapping[str, Any]]) -> None:
        stop(progress)
        if progress.get(1, {}).get("time_ps", 0) > 0:
            launch.patience_s = 3.0

    with pytest.raises(RunError, match=r"^host1 has not answered for 3 s"):
        Running(launch, watch).run()


def test_a_member_that_never_comes_is_named() -> None:
    def start(*_: object) -> Child:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    launch = Launch([Host(1, "late", [5000], {})], "incast.live.jobs:prepare", patience_s=1.0, start=start)
    with pytest.raises(RunError, match=r"^late has not answered for 1 s"):
        Running(launch).run()


def test_work_that_fails_is_told_with_its_host() -> None:
    launch = Launch([Host(7, "g", [5000], {})], "os:system")
    with pytest.raises(RunError, match=r"^g: ValueError: 'os:system' is not of this package"):
        Running(launch).run()


def test_a_run_that_is_stopped_keeps_its_reports(tmp_path: Path) -> None:
    stop = threading.Event()
    slow = _slow(tmp_path)
    outcome = run_jobs(slow, checked(slow), tmp_path / "live", watch=lambda _: stop.set(), stop=stop)
    assert not outcome.finished
    assert len(outcome.reports) == 2
    assert pl.read_parquet(tmp_path / "live/jobs/*.parquet")["end_ps"][0] is None


def test_ctrl_c_stops_in_good_order(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(_slow(tmp_path)), encoding="utf-8")
    script = (
        "import json, pathlib, sys; from incast import _core; from incast.live import run_jobs\n"
        "text = pathlib.Path(sys.argv[1]).read_text()\n"
        "told = lambda now: print('going', flush=True)\n"
        "out = run_jobs(json.loads(text), _core.check(text), pathlib.Path(sys.argv[2]), watch=told)\n"
        "print('finished' if out.finished else 'stopped', len(out.reports))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "spec.json"), str(tmp_path / "live")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "going\n"
        # As a terminal does: to the whole group.
        os.killpg(child.pid, signal.SIGINT)
        rest = child.stdout.read()
        assert child.wait(LIMIT_S) == 0
    assert rest.splitlines()[-1] == "stopped 2"


def test_what_only_the_simulator_has_is_refused(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "crash": "host1"}]
    broken, small = spec(tmp_path, {**SMALL, "faults": faults}), spec(tmp_path, SMALL)
    with pytest.raises(_core.SpecError, match="a live run has none"):
        run_jobs(broken, checked(broken), tmp_path / "live")
    with pytest.raises(ValueError, match="batch: 0 is not within 1–1024"):
        run_jobs(small, checked(small), tmp_path / "live", settings={"batch": 0})
    assert not (tmp_path / "live").exists()


def test_strangers_do_not_come_in() -> None:
    door = Door("127.0.0.1", b"the key")
    for garbage in [b"", b"\0" * 100, b"\xff" * 100, os.urandom(1000)]:
        with socket.create_connection(door.address) as stranger:
            stranger.sendall(garbage)
    with pytest.raises(Exception, match=r"digest|reset|EOF|^$"):
        connect(door.address, b"another key")
    channel = connect(door.address, b"the key")
    inside = door.arrived.get(timeout=10)
    channel.send({"type": "hello"})
    assert inside.receive(10) == {"type": "hello"}
    with pytest.raises(TimeoutError):
        inside.receive(0.01)
    channel.connection.send_bytes(b"[1, 2")
    with pytest.raises(ChannelClosedError):
        inside.receive(10)
    channel.close()
    with pytest.raises(ChannelClosedError):
        inside.receive(10)
    deadline = time.monotonic() + 60
    while door.refused < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert door.refused == 5
    door.close()


def test_walks_run_live_as_slow_as_modelled_and_leave_their_tables(tmp_path: Path) -> None:
    walk = {
        "name": "walks",
        "kind": "walk",
        "graph": {"kind": "sbm", "sizes": [10, 10, 10], "inside": 0.3, "between": 0.2},
        "walks": 20,
        "costs": {"generate": "2ms"},
        "generation": {"sleep": "never"},
        "loss": {"initial": "30s"},
    }
    content = {
        "name": "walked",
        "topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "10Gbps"}},
        "jobs": [walk],
        "measure": {"interval": "20ms"},
    }
    file = written(tmp_path, content)
    command = ["run", str(file), "--live", "--no-report", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    walks = pl.read_parquet(tmp_path / "out/walks/*.parquet").sort("host")
    assert walks["finished"].to_list() == [200, 200, 200]
    assert walks["generated"].min() >= 200  # type: ignore[operator]
    # 200 generations of 2 ms each, however late the kernel wakes the process: not faster.
    assert walks["finished_ps"].min() >= 400e9  # type: ignore[operator]
    series = pl.read_parquet(tmp_path / "out/walks_series/*.parquet")
    assert 0 < series["generated"].sum() <= walks["generated"].sum()
    assert set(series["host"]) == {"host0", "host1", "host2"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("faults:\n  - {at: 1ms, link_down: [host0, switch0]}\n", "6: faults: a live run has none"),
        ("choices:\n  good: {}\n  bad:\n    faults: [{at: 1ms, crash: host1}]\n", "9: faults: a live run"),
        (
            "  - {name: noise, kind: background, over: udp, model: fluid, rate: 1Mbps}\n",
            "6: jobs[1]: a fluid has no packets",
        ),
        (
            "  - {name: remote, kind: farmem, programs: host0, memory: host1, local: 50%,\n"
            "     pattern: {kind: random, size: 1MB, accesses: 9}}\n",
            "6: jobs[1].kind: farmem is a model of programs",
        ),
    ],
)
def test_what_only_the_simulator_has_is_refused_where_it_is_written(
    tmp_path: Path, more: str, said: str
) -> None:
    jobs = "jobs:\n  - {name: all, kind: permutation, size: 10kB}\n"
    network = "topology: {kind: single-switch, hosts: 4, host_link: {rate: 10Gbps}}\n"
    file = tmp_path / "only.yaml"
    file.write_text(f"name: only\n{network}until: 1s\n{jobs}{more}", "utf-8")
    result = CliRunner().invoke(app, ["run", str(file), "--live", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert f"only.yaml:{said}".replace(" ", "") in "".join(result.output.replace("│", "").split())
    assert not (tmp_path / "out").exists()
