"""Percentiles of waiting times in reports, from a histogram whose bins end later than the longest wait."""

from __future__ import annotations

from pathlib import Path

import incast
from helpers import SMALL, written
from incast.report import foreground, points
from incast.report.load import load


def test_no_percentile_lies_beyond_the_longest_or_below_the_shortest_wait(tmp_path: Path) -> None:
    job = {**SMALL["jobs"][0], "size": "300kB"}
    incast.run(written(tmp_path, {**SMALL, "jobs": [job]}), tmp_path / "out")
    (run,) = load(tmp_path / "out").runs
    ports = run.table("ports").select("port", "wait_max_ps").drop_nulls()
    longest = dict(ports.iter_rows())
    bins = run.table("waits").select("port", "to_ps").iter_rows()
    assert any(end > longest[port] for port, end in bins), "the last bin ends later than the longest wait"
    waits = foreground.switch_waits(run)
    assert waits.height > 3
    for (port,), own in waits.group_by("port"):
        for part in (0.001, 0.5, 0.99, 0.999, 1.0):
            found = points.wait_quantile(own, part)
            assert found is not None
            assert min(own["from_ps"]) <= found <= longest[str(port)]
        assert max(own["wait_ps"]) <= longest[str(port)]
