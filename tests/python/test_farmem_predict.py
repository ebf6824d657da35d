"""Predictions from traces of page faults: against counts by hand and against the document's figures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import farmem_traces as traces
from incast.cli.app import app
from incast.errors import ScenarioError
from incast.farmem.fit import fit
from incast.farmem.indicators import correlate
from incast.farmem.predict import Grid, Packing, errors, predict
from incast.farmem.size import Size
from incast.farmem.traced import Cache, Counts, Traced

# Slide 9 of document 004: latency in µs, then degradation in % at 10, 40 and 100 Gb/s.
PUBLISHED = {
    "a": [(1, 19.16627, 3.146243, 2.072869), (10, 29.30465, 15.00586, 13.61408), (20, 41.7141, 26.20122, 25.98349)],
    "b": [(1, 22.15557, 1.796469, 1.066328), (10, 35.78317, 22.48821, 20.56141), (20, 47.1101, 28.53313, 30.44016)],
    "c": [(1, 2.45968, 0.257468, 0.2323), (10, 2.332731, 2.580724, 3.984891), (20, 4.107053, 3.459237, 4.090281)],
    "d": [(1, 8.683149, 2.758907, 2.444568), (10, 13.19859, 8.547552, 8.051371), (20, 19.4652, 13.20217, 13.421)],
}  # fmt: skip


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """Ten scans of 1,000 pages."""
    return traces.write(tmp_path / "scan.trace", traces.scans(1000, 10))


@pytest.mark.parametrize(
    ("task", "pages", "rms"), [("a", 4.7, 1.1), ("b", 4.5, 3.1), ("c", 1.8, 0.9), ("d", 3.8, 0.7)]
)
def test_the_documents_tables_have_several_pages_a_latency(task: str, pages: float, rms: float) -> None:
    cells = [
        (us, gbps, cell)
        for us, *row in PUBLISHED[task]
        for gbps, cell in zip((10, 40, 100), row, strict=True)
    ]
    found = fit(cells)
    assert found.pages == pytest.approx(pages, abs=0.05)
    assert found.rms == pytest.approx(rms, abs=0.06)
    assert found.one_page_rms >= found.rms


def test_a_table_by_the_formula_is_a_page_a_latency() -> None:
    cells = [(us, gbps, 0.3 * (us + 4096 * 8 / gbps / 1e3)) for us in (1, 10, 20) for gbps in (10, 40, 100)]
    found = fit(cells)
    assert found.latency == pytest.approx(0.3)
    assert found.pages == pytest.approx(1)
    assert found.rms == pytest.approx(0, abs=1e-9)


def test_a_trace_says_what_caches_would_count(scan: Path) -> None:
    traced = Traced.read(scan)
    assert (traced.page, traced.policy, traced.cache_bytes) == (4096, "fifo", 64 * 4096)
    assert traced.footprint() == 1000 * 4096
    assert traced.computed_ps == 10_000 * 1_000_000
    # A scan misses everything in any cache that is smaller, by any of these policies.
    for policy in ("fifo", "clock", "lru"):
        assert traced.counts(4096, Cache(500, policy)) == Counts(0, 1000, 9000, 9000, 9000, 9500, 9500)
        assert traced.counts(4096, Cache(1000, policy)) == Counts(9000, 1000, 0, 0, 0, 0, 0)


def test_cells_are_the_documents_formula(scan: Path) -> None:
    frame = predict(Traced.read(scan), Grid(local=[Size("50%", share=0.5)]))
    assert frame.height == 9
    cell = frame.row(
        by_predicate=(pl.col("latency_ps") == 10_000_000) & (pl.col("bandwidth_bps") == 40_000_000_000),
        named=True,
    )
    assert cell["fetch_ps"] == 9000 * 10_819_200
    assert cell["write_back_ps"] == 9500 * 10_819_200
    assert cell["degradation"] == pytest.approx(18_500 * 10.8192 / 10_000)
    assert cell["time_ps"] == cell["all_local_ps"] + cell["fetch_ps"] + cell["write_back_ps"]


def test_waits_of_threads_overlap(tmp_path: Path) -> None:
    # The first thread writes all pages. Then threads read them in turn, each its share.
    def recorded(threads: int) -> Path:
        first = (traces.record(traces.WRITE, page) for page in range(400))
        turns = (traces.record(traces.READ, at % 400, ns=0, thread=at % threads) for at in range(4000))
        return traces.write(tmp_path / f"{threads}.trace", (*first, *turns))

    grid = Grid([Size("", bytes=64 * 4096)], latencies=[100_000_000], rates=[10**11], write_back=False)
    one, *more = (predict(Traced.read(recorded(threads)), grid).row(0, named=True) for threads in (1, 2, 4))
    waits = one["time_ps"] - one["all_local_ps"]
    assert waits == one["fetch_ps"] == 4000 * (100_000_000 + 327_680)
    for threads, cell in zip((2, 4), more, strict=True):
        assert cell["fetch_ps"] == waits
        assert cell["time_ps"] - cell["all_local_ps"] == pytest.approx(waits / threads, rel=0.01)


def test_compressed_pages_take_less_wire_and_some_work(scan: Path) -> None:
    packing = Packing(2.5, compress_ps=2_000_000, decompress_ps=1_000_000)
    half = Grid(local=[Size("50%", share=0.5)], latencies=[10_000_000], rates=[40 * 10**9], packing=packing)
    (cell,) = predict(Traced.read(scan), half).rows(named=True)
    wire = 1639 * 8 * 10**12 // (40 * 10**9)
    assert cell["fetch_ps"] == 9000 * (10_000_000 + wire)
    assert cell["write_back_ps"] == 9500 * (10_000_000 + wire)
    assert cell["packing_ps"] == 9500 * 2_000_000 + 9000 * 1_000_000
    assert cell["time_ps"] == cell["all_local_ps"] + sum(
        cell[each] for each in ("fetch_ps", "write_back_ps", "packing_ps")
    )


def test_larger_pages_and_read_ahead_save_latencies(scan: Path) -> None:
    traced = Traced.read(scan)
    large = predict(traced, Grid(local=[Size("50%", share=0.5)], pages=[4096, 65536]))
    assert large.filter(page_bytes=4096)["faults"][0] > 10 * large.filter(page_bytes=65536)["faults"][0]
    ahead = predict(traced, Grid(local=[Size("50%", share=0.5)], read_ahead=7, pages_a_request=8))
    assert ahead["faults"][0] == 9000 / 8
    assert ahead["fetched"][0] == 9000


def test_errors_are_in_points(scan: Path) -> None:
    predicted = predict(Traced.read(scan), Grid(local=[Size("50%", share=0.5)]))
    measured = predicted.select("latency_ps", "bandwidth_bps", pl.col("degradation") + 0.02)
    found = errors(predicted, measured)
    assert found.cells.height == 9
    assert found.median == pytest.approx(2)
    assert (found.within(3), found.within(1)) == (1, 0)
    off = found.cells["degradation"] - found.cells["measured"]
    shares = (off / (1 + found.cells["measured"])).sort().to_list()
    assert found.cells["error_share"].sort().to_list() == pytest.approx(shares)
    assert found.largest_share == pytest.approx(max(map(abs, shares)))
    assert min(shares) <= found.interval()[0] <= found.interval()[1] <= max(shares)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    good = traces.header() + traces.record(traces.READ, 1)
    for content, said in [
        (b"", "no trace"),
        (b"x" * 100, "no trace"),
        (good[:7] + b"2" + good[8:], "another version"),
        (traces.header(page_bits=30), "header"),
        (good + b"\xff" * 16, "record 2"),
    ]:
        path = tmp_path / "bad"
        path.write_bytes(content)
        with pytest.raises(ScenarioError, match=said):
            Traced.read(path)
    with (tmp_path / "large").open("wb") as large:
        large.truncate(5 << 30)
    with pytest.raises(ScenarioError, match=r"the file is too large: .*: trace a shorter run"):
        Traced.read(tmp_path / "large")
    with pytest.raises(ScenarioError, match="can't read it"):
        Traced.read(tmp_path)
    with pytest.raises(ScenarioError, match="can't read it"):
        Traced.read(tmp_path / "none")


def test_indicators_are_correlated() -> None:
    degradation = [1.0, 2.0, 3.0, 4.0, 5.0]
    size, layers, same = correlate(
        degradation, {"layers": [1, 3, 2, 5, 4], "size": [10, 20, 30, 40, 50], "same": [1] * 5}
    )
    assert [size.name, layers.name] == ["size", "layers"]
    assert size.pearson == pytest.approx(1)
    assert layers.pearson == pytest.approx(0.8)
    assert layers.spearman == pytest.approx(0.8)
    assert layers.low is not None
    assert layers.high is not None
    assert layers.low < 0.8 < layers.high
    assert same.pearson is None
    with pytest.raises(ValueError, match="4 figures for 5 programs"):
        correlate(degradation, {"layers": [1, 2, 3, 4]})


def _run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["farmem", "predict", *map(str, arguments)], env={"COLUMNS": "140"})
    return result.exit_code, result.output


def test_the_command_shows_the_documents_grid(scan: Path, tmp_path: Path) -> None:
    code, output = _run(scan, "--local", "50%,2MB", "--time", "1s", "--out", tmp_path / "grid.csv")
    assert code == 0
    assert "10 Gb/s" in output
    assert "2 MB" in output
    assert "less than that" not in output
    # 9,000 fetches and 9,500 write-backs of 10 µs and 0.82 µs, in a second: 20 %.
    assert "20.0 %" in output
    assert pl.read_csv(tmp_path / "grid.csv").height == 18


def test_the_command_says_what_a_trace_cant_know(tmp_path: Path) -> None:
    many = (traces.record(traces.WRITE, page, thread=page % 2) for page in range(200))
    code, output = _run(traces.write(tmp_path / "threads.trace", many), "--local", "10%")
    assert code == 0
    assert "taken with 262 kB local: less than that comes out too good" in output
    assert "2 threads" in output


def test_the_command_as_json(scan: Path) -> None:
    code, output = _run(scan, "--latency", "5us", "--bandwidth", "100Gbps", "--policy", "lru,fifo", "--json")
    cells = json.loads(output)["cells"]
    assert code == 0
    assert {(cell["policy"], cell["latency_ps"]) for cell in cells} == {
        ("lru", 5_000_000),
        ("fifo", 5_000_000),
    }


def test_measured_cells_stand_beside(scan: Path, tmp_path: Path) -> None:
    grid = tmp_path / "measured.parquet"
    assert _run(scan, "--local", "50%", "--out", grid)[0] == 0
    code, output = _run(scan, "--local", "50%", "--measured", grid)
    assert code == 0
    assert "9 cells" in output
    code, output = _run(scan, "--local", "100%", "--measured", grid)
    assert code == 2
    assert "none of its cells" in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--local", "0%"], "--local"),
        (["--local", "12"], "has no unit"),
        (["--local", "100B"], "at least a page"),
        (["--latency", "5"], "--latency 5"),
        (["--bandwidth", "0bps"], "--bandwidth 0bps"),
        (["--page", "5KiB"], "power of two"),
        (["--page", "4MiB"], "power of two"),
        (["--policy", "lfu"], "Allowed: fifo, clock, lru"),
        (["--time", "0s"], "--time 0s"),
        (["--measured", "nothing.csv"], "nothing.csv"),
        (["--out", "x.txt"], "Allowed: *.parquet, *.csv"),
    ],
)
def test_what_cant_be_is_refused(scan: Path, arguments: list[str], said: str) -> None:
    code, output = _run(scan, *arguments)
    assert code == 2
    assert said in output
