"""Discards, marks, latency and pauses over time, as an operator's monitoring shows them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from incast.report import write
from report_data import DCTCP, MS, SHALLOW, write_choices, write_pauses, write_run
from test_report import charts_of, data_of, edit, text_of

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "ns": 1e3, "µs": 1e6, "ms": 1e9}


def panels(page: Path) -> list[tuple[str, str, dict[str, list[Any]]]]:
    """What each chart over time shows: the figure, its unit, the points."""
    found = []
    for chart in data_of(page)["charts"]:
        spec, columns = chart["spec"], chart["columns"]
        assert isinstance(spec, dict)
        assert isinstance(columns, dict)
        layer = spec.get("layer", [{}])[0]
        if layer.get("name") == "lines":
            what, _, unit = layer["encoding"]["y"]["title"].partition(" (")
            found.append((what, unit.rstrip(")"), columns["points"]))
    return found


def test_a_port_shows_drops_queue_and_latency_together(tmp_path: Path) -> None:
    page = write(write_run(tmp_path, SHALLOW))
    names = [what for what, _, _ in panels(page)]
    at = names.index("queue drops")
    assert names[at : at + 3] == ["queue drops", "queue length", "transmit latency"]
    assert "Drops, queue and latency at " in text_of(page)


def test_latency_is_the_queue_by_the_rate(tmp_path: Path) -> None:
    folder = write_run(tmp_path, DCTCP)
    edit(folder, "ports", pl.lit(25_000_000_000).alias("rate_bps"))
    found = panels(write(folder))
    at = next(i for i, (what, _, _) in enumerate(found) if what == "queue length")
    (_, size, queue), (_, time, latency) = found[at : at + 2]
    longest, slowest = max(queue["y"]) * UNITS[size], max(latency["y"]) * UNITS[time]
    assert slowest == pytest.approx(longest * 8e12 / 25e9, rel=1e-3)


def test_what_never_happened_has_no_panel(tmp_path: Path) -> None:
    page = write(write_run(tmp_path, DCTCP))
    names = {what for what, _, _ in panels(page)}
    assert "ECN marks" in names
    assert not names & {"PAUSE sent", "ports paused", "time paused", "in discards", "out discards"}
    assert "Pauses" not in text_of(page)


def test_pauses_are_drawn_with_storms_listed_and_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SHALLOW)
    write_pauses(folder)
    page = write(folder)
    found = {what: points for what, _, points in panels(page)}
    assert {"PAUSE sent", "ports paused", "time paused", "in discards", "out discards"} <= found.keys()
    assert max(found["time paused"]["y"]) == pytest.approx(25, rel=0.01)
    assert max(found["ports paused"]["y"]) == pytest.approx(1, rel=0.01)  # four, a quarter of the time
    moments = charts_of(page, "moments")[0]["moments"]
    assert len(moments["what"]) == 2
    assert str(moments["what"][0]).startswith("pfc-storm ")
    words = text_of(page)
    assert (
        "PAUSE frames sent; longest paused was host0:leaf0, 2 ms in all; the watchdog found 2 storms."
        in words
    )
    assert "Pauses Port PAUSE sent PAUSE received Time paused In discards Out discards" in words


def test_the_axis_ends_soon_after_the_shortest_run_and_says_so(tmp_path: Path) -> None:
    write_choices(tmp_path)
    edit(tmp_path / "deep", "ports_series", pl.col("time_ps") * 40)
    page = write(tmp_path)
    assert "Not shown: what comes later in deep, " in text_of(page) or "later in deep." in text_of(page)
    shortest = min(
        int(pl.read_parquet(tmp_path / name / "ports_series")["time_ps"].max())  # type: ignore[arg-type]
        for name in ("deep", "shallow", "shallow-ecn-cubic", "shallow-ecn-dctcp")
    )
    queues = [points["t"] for what, _, points in panels(page) if what == "queue length"]
    assert queues
    assert max(max(times) for times in queues) * MS <= 2.01 * shortest
