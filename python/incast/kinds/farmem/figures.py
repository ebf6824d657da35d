"""The figures of programs on remote memory, computed from the tables of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from incast.folder import scan
from incast.frames import quantile, rows, whole

_FAULT_PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def programs(folder: Path) -> dict[str, dict[str, Any]]:
    """Figures of each job's programs on remote memory.

    No degradation where a program was not done, or computes nothing.
    """
    took = pl.col("end_ps") - pl.col("start_ps")
    slower = (took.cast(pl.Float64) / pl.col("all_local_ps") - 1) * 100
    exchanged = (pl.col("fetched", "written_back") * pl.col("page_bytes")).sum().name.suffix("_bytes")
    of_programs = (
        scan(folder, "programs")
        .group_by(pl.col("job").cast(pl.String))
        .agg(
            pl.when((pl.col("outcome") == "finished").all() & (pl.col("all_local_ps") > 0).all())
            .then(slower.mean())
            .alias("degradation_percent"),
            (pl.col("outcome") == "lost").sum().alias("lost"),
            pl.col("stall_ps").mean(),
            pl.col("faults").sum(),
            (pl.col("hits").sum() / pl.col("accesses").sum()).fill_nan(None).alias("hit_ratio"),
            exchanged,
        )
    )
    waited = (
        scan(folder, "faults")
        .filter(pl.col("fetched") > 0)
        .group_by(pl.col("job").cast(pl.String))
        .agg(
            pl.col("latency_ps").mean().alias("mean"),
            *(quantile("latency_ps", part).alias(name) for name, part in _FAULT_PARTS.items()),
        )
    )
    latencies = {row.pop("job"): row for row in rows(waited)}
    nothing = dict.fromkeys(("mean", *_FAULT_PARTS))
    return {
        (name := row.pop("job")): {
            **row,
            "stall_ps": whole(row["stall_ps"]),
            **{f"fault_latency_{key}_ps": whole(ps) for key, ps in latencies.get(name, nothing).items()},
        }
        for row in rows(of_programs.sort("job"))
    }
