"""What skipping steady states saves and costs: `python -m benches.skip`.

Each scenario runs whole and with `fidelity: skip`, as people run it, without its report; and whole once more
with one packet more at its beginning, which says how far flows depend on chance. The table is that of
docs/explanation/skip.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from benches import measure

#: How much faster, and the greatest error of a flow's time.
TARGETS = (10.0, 0.01)


def leaf_spine(uplink: str, *jobs: dict[str, Any]) -> dict[str, Any]:
    """72 hosts of 10 Gb/s on five leaves and four spines, DCTCP over shallow buffers."""
    return {
        "name": "skip",
        "topology": {
            "kind": "leaf-spine",
            "leaves": [16, 16, 16, 16, 8],
            "spines": 4,
            "host_link": {"rate": "10Gbps", "delay": "1us"},
            "uplink": {"rate": uplink, "delay": "1us"},
        },
        "switch": {
            "buffer": {"kind": "shared", "size": "4MB"},
            "queue": {"kind": "step", "threshold": "100kB"},
        },
        "host": {"tcp": {"congestion": "dctcp"}},
        "jobs": [{"name": f"job{number}", **job} for number, job in enumerate(jobs)],
    }


PERMUTATION = {"kind": "permutation", "hosts": "host[0-63]", "size": "1GB"}
CALLS = {"kind": "rpc", "clients": "host[64-67]", "servers": "host[68-71]", "fan_out": 2, "calls": 5000}
CASES = {
    "64 flows of 1 GB, each with a link of its own": leaf_spine("100Gbps", PERMUTATION),
    "the same, and calls within another rack": leaf_spine("100Gbps", PERMUTATION, CALLS),
    "the first, with uplinks that some flows share": leaf_spine("40Gbps", PERMUTATION),
    "1 GB from seven hosts into one": leaf_spine(
        "100Gbps", {"kind": "incast", "senders": "host[1-7]", "receiver": "host0", "size": "1GB"}
    ),
}


#: One packet more, at the beginning.
NUDGE = {"name": "nudge", "kind": "incast", "senders": "host2", "receiver": "host0", "size": "1kB"}


@dataclass(frozen=True)
class Run:
    """What a run cost, and how long each flow took."""

    cpu_s: float
    skipped: float
    times: pl.DataFrame


def run(scenario: dict[str, Any], fidelity: str, folder: Path) -> Run:
    """Runs a scenario on one thread."""
    file, out = folder / "scenario.yaml", folder / fidelity
    file.write_text(yaml.safe_dump({**scenario, "fidelity": fidelity}))
    command = [sys.executable, "-m", "incast", "run", str(file), "--out", str(out)]
    cost = measure.run([*command, "--threads", "1", "--no-report", "--force", "--json"])
    summary = json.loads((out / "summary.json").read_text())
    flows = pl.read_parquet(out / "flows" / "*.parquet")
    times = flows.sort("flow").select(
        "job", number=pl.int_range(pl.len()).over("job"), time=pl.col("end_ps") - pl.col("start_ps")
    )
    skipped = summary.get("skipped_hops", 0)
    return Run(cost.cpu_s, skipped / (skipped + summary["packet_hops"]), times)


def worst_flow(run: Run, other: Run) -> float:
    """By how much the time of a flow of `run` differs at most."""
    both = run.times.join(other.times, on=["job", "number"], suffix="_other")
    return float(both.select((pl.col("time_other") / pl.col("time") - 1).abs().max()).item())


def rows() -> Iterator[str]:
    """One for each scenario."""
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in CASES.items():
            exact, found = (run(scenario, fidelity, Path(folder)) for fidelity in ("exact", "skip"))
            nudged = run({**scenario, "jobs": [*scenario["jobs"], NUDGE]}, "exact", Path(folder))
            worst, chance = (worst_flow(exact, other) for other in (found, nudged))
            ratio = exact.cpu_s / found.cpu_s
            met = "met" if ratio >= TARGETS[0] and worst <= TARGETS[1] else "missed"
            yield (
                f"| {name} | {found.skipped:.0%} | {exact.cpu_s:.1f} s | {found.cpu_s:.1f} s | {ratio:.0f} "
                f"| {worst:.3%} | {chance:.3%} | {met} |"
            )


def main() -> None:
    """Prints the table."""
    print("| | skipped | exact, CPU | skip, CPU | times as fast | worst flow | by chance | 10 times, 1 % |")
    print("| --- | --: | --: | --: | --: | --: | --: | --- |")
    for row in rows():
        print(row, flush=True)


if __name__ == "__main__":
    main()
