"""Counters of ports agree with each other while packets wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incast
from helpers import written

LINKS = {"host_link": {"rate": "1Gbps", "delay": "200us"}, "uplink": {"rate": "400Mbps", "delay": "500us"}}
TWO_LEAVES = {"kind": "leaf-spine", "leaves": [2, 2], "spines": 1, **LINKS}
ONE_SWITCH = {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "400Mbps"}}
SWITCHES: dict[str, dict[str, Any]] = {
    "static": {"buffer": {"kind": "static", "limit": "100kB"}},
    "shared": {"buffer": {"kind": "shared", "size": "4MB"}},
    "voq": {"buffer": {"kind": "voq", "size": "4MB", "cap": "2MB"}},
    "ets": {"buffer": {"kind": "shared", "size": "4MB"}, "scheduler": {"kind": "ets"}},
}


def ports(folder: Path, topology: dict[str, Any], switch: dict[str, Any], **more: Any) -> pl.DataFrame:
    """Ports of a run that ends while packets wait."""
    pairs = [["host0", "host2"], ["host1", "host2"]]
    jobs = [
        {"name": "u", "kind": "background", "pairs": pairs, "rate": "300Mbps"},
        {"name": "b", "kind": "bulk", "pairs": [["host3", "host0"]], "size": "100MB"},
    ]
    scenario = {"name": "cut", "topology": topology, "switch": switch, "until": "11ms", "jobs": jobs, **more}
    found = incast.run(written(folder, scenario)).ports.filter(pl.col("sent_packets") > 0)
    assert found["queue_max_bytes"].max() > 50_000  # type: ignore[operator]
    return found


def check(found: pl.DataFrame, cut: int = 1) -> None:
    """`cut`: so many packets have left in part only."""
    for row in found.select("port", "wire_bytes", "busy_ps", "rate_bps").rows(named=True):
        carried = row["busy_ps"] * row["rate_bps"] / 8e12
        assert -1 <= row["wire_bytes"] - carried <= cut * 1538 + 1, row


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_bytes_on_the_wire_are_those_of_the_busy_time(tmp_path: Path, switch: dict[str, Any]) -> None:
    check(ports(tmp_path, TWO_LEAVES, switch))
    down = {"at": "9ms", "link_down": ["leaf0", "spine0"], "for": "500us"}
    check(ports(tmp_path, TWO_LEAVES, switch, faults=[down]), cut=2)


def test_bytes_of_cells_on_the_wire_are_those_of_the_busy_time(tmp_path: Path) -> None:
    check(ports(tmp_path, ONE_SWITCH, {"buffer": {"kind": "cells", "limit": 20_000}}))
