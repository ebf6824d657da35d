"""Runs a scenario in this simulator, or builds the program that measures what a run costs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from incast import _core
from incast.emu import linux
from testkit.ns3.case_file import Ways

ROOT = Path(__file__).resolve().parents[1]
Run = dict[str, Any]


def binary(example: str) -> Path:
    """The release build of an example of `crates/scenario`, built when it is out of date."""
    command = ["cargo", "build", "-q", "--release", "-p", "incast-scenario", "--example", example]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / example


def run(scenario: dict[str, Any]) -> Run:
    """Flows, drops and marks of a run, in the form in which `testkit.ns3.simulate` gives them.

    A flow has its congestion windows too, as pairs of time and bytes, if the scenario samples flows.
    """
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        checked = _core.check(json.dumps(scenario))
        outcome: Run = json.loads(_core.run(checked, str(out), False, lambda _: True, 1, linux()))
        flows = pl.read_parquet(out / "flows" / "*.parquet")
        ports = pl.read_parquet(out / "ports" / "*.parquet")
        windows = sampled(out, flows) if scenario["measure"]["flows"] else {}
    unfinished = flows.filter(pl.col("outcome") != "finished").height
    if outcome["end"] != "finished" or unfinished:
        raise RuntimeError(f"{scenario['name']}: ended {outcome['end']}, {unfinished} flows open")
    return outcome | {
        "drops": ports["out_discards"].sum(),
        "marks": ports["marks"].sum(),
        "flows": [
            {
                "from": flow["from"],
                "to": flow["to"],
                "bytes": flow["bytes"],
                "start_ps": flow["start_ps"],
                "finish_ps": flow["end_ps"],
                "retransmits": flow["retransmits"],
                "timeouts": flow["timeouts"],
                "path": nodes(flow["path"] or ""),
                "path_back": nodes(flow["path_back"] or ""),
                "windows": windows.get(flow["flow"], []),
            }
            for flow in flows.iter_rows(named=True)
        ],
    }


def sampled(out: Path, flows: pl.DataFrame) -> dict[int, list[tuple[int, int]]]:
    """Time and congestion window of each sample of a flow, from its first round trip to its end."""
    series = pl.read_parquet(out / "flows_series" / "*.parquet").join(flows, on="flow")
    # A simulated flow has a window before its SYN is answered, and no round trip.
    is_open = (pl.col("time_ps") < pl.col("end_ps")) & pl.col("srtt_ps").is_not_null()
    alive = series.filter(is_open).sort("time_ps")
    windows: dict[int, list[tuple[int, int]]] = {}
    for flow, time, cwnd in alive.select("flow", "time_ps", "cwnd_bytes").iter_rows():
        windows.setdefault(flow, []).append((time, cwnd))
    return windows


def nodes(path: str) -> list[str]:
    """The nodes that a path of ports, `a:b b:c`, crosses; none where it is not known."""
    ports = [port.split(":") for port in path.split()]
    return [*(node for node, _ in ports[:1]), *(peer for _, peer in ports)]


def ways(run: Run) -> Ways:
    """Which of several equal ways each pair of hosts took."""
    return {(flow["from"], flow["to"]): (flow["path"], flow["path_back"]) for flow in run["flows"]}
