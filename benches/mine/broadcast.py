"""All nodes' large itemsets to all: as `incast mine` sends them, or by broadcasts that hosts relay.

Simulated; prints one line per network and size. `python -m benches.mine.broadcast`. Not here: live runs.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import incast

_ROW_BYTES = 12
"""Two items and a count."""
_LARGE = (1_000_000, 10_000)
_RELAYED = ("stable", "random-pipeline")


def _star(*last: str) -> tuple[dict[str, Any], list[str]]:
    """Eight hosts at 1 Gb/s; the last one sends and receives at these rates."""
    hosts = [f"host{number}" for number in range(8)]
    rates = [("1Gbps", "1Gbps")] * 7 + [last or ("1Gbps", "1Gbps")]
    links = [
        {"ends": [host, "switch"], "rate": up, "back": {"rate": down}, "delay": "5us"}
        for host, (up, down) in zip(hosts, rates, strict=True)
    ]
    kinds = dict.fromkeys(hosts, "host") | {"switch": "switch"}
    return {"kind": "graph", "nodes": kinds, "links": links}, hosts


_RACKS = {
    "kind": "leaf-spine",
    "leaves": [8, 8],
    "spines": 1,
    "host_link": {"rate": "1Gbps"},
    "uplink": {"rate": "2Gbps"},
}
NETWORKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "8 hosts, 1 Gb/s": _star(),
    "one at 100 Mb/s": _star("100Mbps", "100Mbps"),
    "one sends at 100 Mb/s": _star("100Mbps", "1Gbps"),
    "2 racks of 8, 4:1": (_RACKS, [f"host{number}" for number in range(16)]),
}


def _run(topology: dict[str, Any], jobs: list[dict[str, Any]], folder: Path) -> incast.Result:
    scenario = incast.Scenario.model_validate({"name": "large", "topology": topology, "jobs": jobs})
    return incast.run(scenario, folder, force=True)


def direct(topology: dict[str, Any], large: int, folder: Path) -> float:
    """Milliseconds from the first node's broadcast to the end of the last, where counting takes no time."""
    free: dict[str, Any] = dict.fromkeys(("transaction", "item", "generate", "probe"), "0s")
    passes = [
        {"large": 2000, "found": 0, "entries": 0},
        {"candidates": 1_999_000, "large": large, "found": 0},
        {"candidates": 1, "large": 0, "found": 0},
    ]
    job = {
        "name": "mine",
        "kind": "mine",
        "order": "rotated",
        "support": 0.1,
        "costs": {**free, "disk": False, "variation": 0},
        "transactions": {"kind": "profile", "count": 1000, "items": 10_000, "passes": passes},
    }
    tasks = _run(topology, [job], folder).tasks.filter(kind="broadcast", number=2)
    span = tasks.select(pl.col("end_ps").max() - pl.col("start_ps").min())
    return float(span.item()) / 1e9


def relayed(topology: dict[str, Any], hosts: list[str], large: int, plan: str, folder: Path) -> float:
    """The same by a broadcast from each host at once, until the last host has all of them."""
    size = f"{large * _ROW_BYTES // len(hosts)}B"
    common = {"kind": "broadcast", "size": size, "algorithm": plan, "headroom": None, "report": "50ms"}
    jobs = [{**common, "name": f"from-{host}", "source": host} for host in hosts]
    ends = _run(topology, jobs, folder).broadcasts["complete_ps"]
    return float(ends.drop_nulls().to_numpy().max()) / 1e9


def main() -> None:
    """Prints the table."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        for name, (topology, hosts) in NETWORKS.items():
            for large in _LARGE:
                by = [("direct", direct(topology, large, out))]
                by += [(plan, relayed(topology, hosts, large, plan, out)) for plan in _RELAYED]
                print(f"{name:24}{large:9,} itemsets  " + "  ".join(f"{how} {ms:.1f} ms" for how, ms in by))


if __name__ == "__main__":
    main()
