"""Writes memory.yaml: the study's programs at 200 MB local memory and three nodes, to be allocated.

    python studies/remote-memory/allocation.py && incast farmem allocate studies/remote-memory/memory.yaml

A program needs what it has in use beyond local memory. Those that a microsecond costs a percent or more may
wait 5 µs a request at most, the document's limit: with 1 µs fixed, no node beyond 400 m is theirs.
"""

from __future__ import annotations

import polars as pl
import yaml
from programs import HERE

_LOCAL_MB = 200
_SENSITIVE = 1.0
"""Percent a microsecond."""
_NODES = [
    {"name": "rack", "memory": "900MB", "distance": "20m", "hops": 1, "bandwidth": "100Gbps"},
    {"name": "row", "memory": "5GB", "distance": "150m", "hops": 1, "bandwidth": "100Gbps"},
    {"name": "hall", "memory": "64GB", "distance": "600m", "hops": 2, "bandwidth": "40Gbps"},
]


def main() -> None:
    """Reads ours.csv."""
    grid = pl.read_csv(HERE / "ours.csv").filter(local="200 MB", bandwidth_gbps=40)
    programs = []
    for name in grid.filter(pl.col("faults") > 0)["program"].unique(maintain_order=True):
        one, ten = (grid.filter(program=name, latency_us=us).row(0, named=True) for us in (1, 10))
        a_us = (ten["degradation_percent"] - one["degradation_percent"]) / 9
        program = {
            "name": name,
            "memory": f"{max(1, round(one['footprint_mb'] - _LOCAL_MB))}MB",
            "faults": one["faults"],
            "written_back": one["written_back"],
            "time": f"{one['all_local_s']}s",
        }
        programs.append(program | ({"latency": "5us"} if a_us >= _SENSITIVE else {}))
    problem = {"fixed": "1us", "hop": "300ns", "programs": programs, "nodes": _NODES}
    text = yaml.safe_dump(problem, sort_keys=False, default_flow_style=None, width=200)
    (HERE / "memory.yaml").write_text(f"# Made by allocation.py of ours.csv.\n{text}")


if __name__ == "__main__":
    main()
