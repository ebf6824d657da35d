"""What a run takes by the number of hosts: `python -m benches.scale`.

A permutation in fat trees of 128 to 35,152 hosts, run by `incast run` as people run it, without its report.
Two sizes of flows tell what is paid once, in seconds and in memory, from what each packet-hop costs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benches import measure

#: Ports of a switch, and bytes of the larger flow. k³/4 hosts (Al-Fares et al. 2008).
TREES = ((8, 4_000_000), (16, 1_000_000), (32, 200_000), (40, 100_000), (52, 60_000))
#: Of the smaller flow: one packet.
SMALL = 1_000


def scenario(k: int, size: int) -> dict[str, Any]:
    """DCTCP over shallow buffers, as the other benchmarks have it."""
    return {
        "name": "tree",
        "topology": {"kind": "fat-tree", "k": k, "host_link": {"rate": "10Gbps", "delay": "1us"}},
        "switch": {
            "buffer": {"kind": "static", "limit": "150kB"},
            "queue": {"kind": "step", "threshold": "30kB"},
        },
        "host": {"tcp": {"congestion": "dctcp"}},
        "jobs": [{"name": "all", "kind": "permutation", "size": f"{size}B"}],
    }


def run(k: int, size: int, folder: Path) -> tuple[measure.Cost, int]:
    """What it cost, and its packet-hops."""
    file, out = folder / "tree.yaml", folder / "out"
    file.write_text(yaml.safe_dump(scenario(k, size)))
    command = [sys.executable, "-m", "incast", "run", str(file), "--out", str(out)]
    cost = measure.run([*command, "--no-report", "--force", "--json"])
    return cost, json.loads((out / "summary.json").read_text())["packet_hops"]


def rows() -> Iterator[dict[str, float]]:
    """One per fat tree."""
    with tempfile.TemporaryDirectory() as name:
        for k, size in TREES:
            (once, few), (all_, many) = (run(k, each, Path(name)) for each in (SMALL, size))
            yield {
                "hosts": k**3 // 4,
                "ports": k**2 * 5 // 4 * k + k**3 // 4,
                "set-up, CPU s": round(once.cpu_s, 2),
                "peak memory, MB": round(all_.rss_kib * 1.024e-3, 1),
                "packet-hops": many,
                "CPU ns per packet-hop": round((all_.cpu_s - once.cpu_s) / (many - few) * 1e9, 1),
            }


def main() -> None:
    """Prints a line of JSON per fat tree."""
    for row in rows():
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
