"""Remote procedure calls, against what queueing theory says of them, and where they can't succeed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from helpers import refused, variants, written
from incast.cli.app import app
from incast.cli.exits import Exit

MS = 10**9


def scenario(hosts: int = 2, **job: Any) -> dict[str, Any]:
    calls = {"name": "calls", "kind": "rpc", "clients": "host0", "servers": "host[1-9]", **job}
    if hosts < 10:
        calls["servers"] = job.get("servers", f"host[1-{hosts - 1}]")
    return {
        "name": "rpc",
        "topology": {"kind": "single-switch", "hosts": hosts, "host_link": {"rate": "10Gbps"}},
        "host": {"cores": 1},
        "jobs": [calls],
    }


def ran(folder: Path, content: dict[str, Any]) -> incast.Result:
    return incast.run(written(folder, content), folder / "out")


def took(calls: pl.DataFrame) -> np.ndarray:
    """In milliseconds."""
    return (calls["end_ps"] - calls["start_ps"]).to_numpy() / MS


def test_an_open_loop_waits_as_an_m_d_1_queue(tmp_path: Path) -> None:
    """Poisson arrivals at one core, each for 1 ms, half of its time: Pollaczek and Khinchine say 1.5 ms on average."""
    open_loop = {"kind": "open", "every": "2ms"}
    result = ran(
        tmp_path, scenario(arrivals=open_loop, calls=40_000, service="1ms", request="100B", reply="100B")
    )
    calls = result.calls
    assert calls.height == 40_000
    assert took(calls).mean() == pytest.approx(1.5, rel=0.05)
    gaps = np.diff(np.sort(calls["start_ps"].to_numpy())) / MS
    # Exponential: the standard deviation is the mean.
    assert (gaps.mean(), gaps.std()) == (pytest.approx(2, rel=0.03), pytest.approx(2, rel=0.03))


def test_a_closed_loop_keeps_littles_law(tmp_path: Path) -> None:
    """Callers = throughput × (time of a call + time of thinking)."""
    closed = {"kind": "closed", "callers": 8, "think": "5ms"}
    calls = ran(tmp_path, scenario(arrivals=closed, calls=8_000, service="500us")).calls
    span = (calls["end_ps"].to_numpy().max() - calls["start_ps"].to_numpy().min()) / MS
    assert calls.height / span * (took(calls).mean() + 5) == pytest.approx(8, rel=0.03)


def test_the_slowest_of_many_servers_decides(tmp_path: Path) -> None:
    """With one core and exponential gaps, ten servers' slowest reply takes longer than one's."""
    means = []
    for fan_out in (1, 9):
        (folder := tmp_path / str(fan_out)).mkdir()
        content = scenario(
            10, arrivals={"kind": "open", "every": "4ms"}, calls=2_000, service="1ms", fan_out=fan_out,
            clients="host[0-2]", servers="host[0-9]",
        )  # fmt: skip
        calls = ran(folder, content).calls
        assert calls["bytes"].unique().to_list() == [fan_out * 11_000]
        means.append(took(calls).mean())
    assert means[1] > 1.5 * means[0]


def test_calls_after_their_deadline_are_late_and_count(tmp_path: Path) -> None:
    content = scenario(
        arrivals={"kind": "open", "every": "1500us"}, service="1ms", deadline="2ms", calls=2_000
    )
    result = ran(tmp_path, content)
    late = int((took(result.calls) > 2).sum())
    assert 100 < late < 1_900
    figures = result.summary["jobs"]["calls"]
    assert (figures["late"], figures["failed"], figures["calls"]) == (late, 0, 2_000)
    assert figures["call_p99_ps"] == pytest.approx(np.quantile(took(result.calls), 0.99) * MS, rel=1e-9)
    assert "incomplete" not in result.summary


def test_calls_that_fail_or_do_not_end_are_said_first(tmp_path: Path) -> None:
    dead = {"at": "50ms", "link_down": ["host1", "switch0"]}
    few = {"rto_min": "10ms", "rto_max": "20ms"}
    content = {
        **scenario(calls=1000, service="1ms"),
        "host": {"tcp": few},
        "faults": [dead],
        "until": "10min",
    }
    file = written(tmp_path, content)
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == Exit.INCOMPLETE, done.output
    assert "failed" in done.output
    result = incast.Result.open(tmp_path / "out")
    counts = dict(result.calls.group_by(pl.col("outcome").cast(pl.String)).len().iter_rows())
    assert counts["failed"] > 0
    assert counts["finished"] > 10
    assert "calls failed" in result.incomplete[0]


@pytest.mark.parametrize("restart", ["2s", None])
def test_calls_fail_at_a_server_that_crashes_while_it_works(tmp_path: Path, restart: str | None) -> None:
    """It has acknowledged the request, so TCP has nothing to repeat: only a ping shows that it is gone."""
    faults = [{"at": "1s", "crash": "host1"}, *([{"at": restart, "restart": "host1"}] if restart else [])]
    content = {**scenario(calls=1, service="10s"), "faults": faults, "until": "2h"}
    done = CliRunner().invoke(app, ["run", str(written(tmp_path, content)), "--out", str(tmp_path / "out")])
    assert done.exit_code == Exit.INCOMPLETE, done.output
    result = incast.Result.open(tmp_path / "out")
    assert [str(outcome) for outcome in result.calls["outcome"]] == ["failed"], "known, and not unfinished"
    minute, end = 60 * 1000 * MS, result.calls["end_ps"][0]
    assert minute < end < (2 if restart else 60) * minute, "a restarted host answers the first ping"


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    for change, field in (
        ({"fan_out": 2}, "fan_out"),
        ({"arrivals": {"kind": "open"}}, "arrivals"),
        ({"request": [["1kB", 0.5]]}, "request"),
        ({"servers": "host7"}, "servers"),
    ):
        assert field in refused(tmp_path, scenario(**change))[0].path


def test_sizes_are_drawn(tmp_path: Path) -> None:
    (plan,) = variants(tmp_path, scenario(reply="web-search", request="2kB"))
    work = plan.resolved.spec["jobs"][0]["work"]
    assert work["request"] == [(2000, 1.0)]
    assert work["reply"][-1] == (30_000_000, 1.0)


def test_on_sockets_the_same_calls_are_made(tmp_path: Path) -> None:
    file = written(tmp_path, scenario(4, fan_out=2, calls=200, arrivals={"kind": "closed", "callers": 4}))
    tables = []
    for name, options in (("simulated", []), ("live", ["--live"])):
        out = tmp_path / name
        done = CliRunner().invoke(app, ["run", str(file), *options, "--out", str(out)])
        assert done.exit_code == 0, done.output
        tables.append(incast.Result.open(out).calls.sort("number"))
        assert (out / "report.html").exists()
    simulated, live = (table.select("host", "number", "bytes", "outcome") for table in tables)
    assert simulated.cast(pl.String).equals(live.cast(pl.String))
    assert (took(tables[1]) > 0).all()
