"""`incast farmem grid`: what is run and kept, what it comes to, and that one traced run foretells it."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import farmem_traces as traces
from farmem_programs import remote_memory_or_skip
from helpers import until
from incast.cli import exits
from incast.cli.app import app
from incast.errors import OutputExistsError, RunError
from incast.farmem import grid as grids
from incast.farmem.coverage import Coverage
from incast.farmem.grid import CELL, FAR, LOCAL, NEAR, TRACE, MeasuredGrid, Request
from incast.farmem.measured import cells
from incast.farmem.overhead import Beyond, Near, Overhead, Ran, calibrate
from incast.farmem.predict import Grid, predict
from incast.farmem.run import ALL, Memory, Outcome
from incast.farmem.size import Size
from incast.farmem.traced import Counts, Handled, Traced
from memory_servers import serving, written_key

US = 1_000_000
REQUEST = Request(
    ("program",),
    (Size("50%", share=0.5), Size("2MB", bytes=2_000_000)),
    (US, 20 * US),
    (10**10,),
    Memory(ALL, 0, 0),
    runs=3,
)


class Machine:
    """Runs nothing: a second with all memory local; a fetch costs 5 µs, a first touch 3, a page that leaves 5.

    Waits hide 2 µs of a fault, and take 1 % longer than asked. Compressed, pages are a third of their size.
    """

    def __init__(self) -> None:
        self.ran: list[Memory] = []
        self.interrupt_at: int | None = None
        self.exit_code = 0
        self.scans = list(traces.scans(1000, 10))
        self.coverage = Coverage(1, 8_000_000, 7_600_000, {"stacks": 400_000}, 0.05)

    def run(self, command: Sequence[str], memory: Memory, log: Any) -> Outcome:
        self.ran.append(memory)
        log.write(b"out of luck")
        if memory.trace:
            asked = [traces.asked(8_000_000)]
            traces.write(memory.trace, [*asked, *self.scans])
        counts = self._counts(memory)
        packed = 4096 // 3 if memory.compress else 4096
        way = memory.latency_ps + packed * 8 * 10**12 // memory.rate_bps
        nominal = (counts.faults + counts.written_back) * way / 1e12
        pages = memory.local // 4096
        overhead = counts.faults * 5e-6 + counts.cold * 3e-6 + counts.written_back * 5e-6
        waiting = counts.faults + max(0, counts.cold - pages)
        hides_ns = {wait: min(wait, 2000) * waiting for wait in (1000, 2000, 8000)}
        added = nominal * 1.01 + overhead - (2e-6 * waiting if memory.latency_ps else 0)
        return Outcome(
            command=list(command), exit_code=self.exit_code, wall_s=1 + added, processes=1, faults=counts.faults,
            first_touches=counts.cold, adopted=0, soft_faults=0, pages_in=counts.fetched,
            pages_out=counts.written_back, bytes_in=counts.fetched * packed,
            bytes_out=counts.written_back * packed, asked_bytes=8_000_000, touched_bytes=8_000_000, nominal_s=nominal,
            coverage=self.coverage,
            injected_s=nominal * 1.01, own_s=0.0, hides_ns=hides_ns, interrupted=len(self.ran) == self.interrupt_at,
        )  # fmt: skip

    def _counts(self, memory: Memory) -> Counts:
        if memory.local >= 8_000_000:
            return Counts(0, 0, 0, 0, 0, 0, 0)
        cold, pages = 1000, memory.local // 4096
        faults = 9000 if pages < 1000 else 0
        return Counts(0, cold, faults, faults, faults, max(0, faults + cold - pages), 0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(grids, "run", found.run)
    return found


def test_a_run_with_all_memory_local_precedes_each_other(machine: Machine, tmp_path: Path) -> None:
    grid = MeasuredGrid.open(REQUEST, tmp_path)
    grid.measure()
    kinds = [row.kind for row in grid.rows]
    a_round = [NEAR, NEAR, NEAR, FAR, *[CELL] * 4]
    assert kinds[1::2] == [TRACE, *(a_round * 3)]
    assert set(kinds[::2]) == {LOCAL}
    assert grid.missing() == 0
    assert len(machine.ran) == len((tmp_path / "runs.csv").read_text().splitlines()) - 1


@pytest.mark.parametrize(("times", "part"), [(20, 4), (60, 1)])
def test_runs_that_calibrate_have_no_more_faults_than_cells_unless_they_are_few(
    times: int, part: int, machine: Machine, tmp_path: Path
) -> None:
    # 600 pages do not fit into the 488 of the least memory; another 300 do, but not into a part of it.
    machine.scans = [*traces.scans(1953, 1), *traces.scans(600, times), *traces.scans(300, times)]
    grid = MeasuredGrid.open(REQUEST, tmp_path)
    grid.measure()
    least = min(row.local_bytes for row in grid.done(CELL))
    for kind in (NEAR, FAR):
        sizes = {row.local_bytes for row in grid.done(kind)}
        assert min(sizes) == least // part // 4096 * 4096


def test_what_has_ended_is_not_run_again(machine: Machine, tmp_path: Path) -> None:
    machine.interrupt_at = 11
    with pytest.raises(KeyboardInterrupt):
        MeasuredGrid.open(REQUEST, tmp_path).measure()
    machine.interrupt_at = None
    with (tmp_path / "runs.csv").open("a") as torn:
        torn.write("cell,1,2048000,10")
    again = MeasuredGrid.open(REQUEST, tmp_path)
    assert [row.kind for row in again.rows][1::2] == [TRACE, NEAR, NEAR, NEAR, FAR]
    assert again.missing() == 2 * (4 + 2 * 8)
    again.measure()
    assert len(again.done(CELL)) == 12
    assert len(again.done(TRACE)) == 1
    assert {row.invocation for row in again.done(LOCAL)} == {1, 2}
    more = MeasuredGrid.open(replace(REQUEST, runs=4), tmp_path)
    assert len(more.rows) == len(again.rows)
    more.measure()
    assert len(more.done(CELL)) == 16


def test_pages_are_exchanged_as_asked_in_all_runs_but_the_traced_one(
    machine: Machine, tmp_path: Path
) -> None:
    memory = Memory(ALL, 0, 0, read_ahead=3, pages_a_request=4, policy="lru")
    grid = MeasuredGrid.open(replace(REQUEST, memory=memory), tmp_path)
    grid.measure()
    assert {each.policy for each in machine.ran} == {"lru"}
    assert {each.read_ahead for each in machine.ran if each.trace} == {0}
    assert {each.read_ahead for each in machine.ran if not each.trace} == {3}
    with pytest.raises(OutputExistsError):
        MeasuredGrid.open(REQUEST, tmp_path)


def test_a_folder_of_something_else_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    MeasuredGrid.open(REQUEST, tmp_path / "ours").measure()
    with pytest.raises(OutputExistsError):
        MeasuredGrid.open(replace(REQUEST, command=("another",)), tmp_path / "ours")
    runs = tmp_path / "ours" / "runs.csv"
    of_before = runs.read_text().replace(",hides_ns", "")
    runs.write_text(of_before)
    with pytest.raises(OutputExistsError):
        MeasuredGrid.open(REQUEST, tmp_path / "ours")
    assert runs.read_text() == of_before
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    with pytest.raises(OutputExistsError):
        MeasuredGrid.open(REQUEST, tmp_path / "theirs")
    machine.exit_code = 3
    with pytest.raises(RunError, match="exit code 3: out of luck"):
        MeasuredGrid.open(REQUEST, tmp_path / "fails").measure()


@pytest.mark.usefixtures("machine")
def test_a_machine_that_becomes_slower_is_not_taken_for_the_network(tmp_path: Path) -> None:
    grid = MeasuredGrid.open(REQUEST, tmp_path)
    grid.measure()
    steady = cells(REQUEST, grid.rows, Traced.read(grid.trace), "wall").cells["measured"].to_list()
    drifts = [replace(row, wall_s=row.wall_s + at * 0.01) for at, row in enumerate(grid.rows)]
    found = cells(REQUEST, drifts, Traced.read(grid.trace), "wall")
    by_its_own = [each * found.all_local_s for each in found.cells["measured"].to_list()]
    assert by_its_own == pytest.approx(steady, abs=1e-6)
    assert found.all_local_s > 1.1


@pytest.mark.parametrize("compress", [None, "lz4"])
def test_one_traced_run_foretells_the_cells(compress: str | None, machine: Machine, tmp_path: Path) -> None:
    request = replace(REQUEST, memory=replace(REQUEST.memory, compress=compress))
    grid = MeasuredGrid.open(request, tmp_path)
    grid.measure()
    found = cells(request, grid.rows, Traced.read(grid.trace), "wall")
    assert machine.ran[1].trace
    assert found.cells.height == 4
    assert found.errors.largest < 1.5
    # All runs without a network fetch as much: what they do can't be told apart.
    assert found.overhead.fault_ps + found.overhead.leave_ps == pytest.approx(10 * US, rel=0.05)
    assert found.overhead.hides(20 * US, 2_000_000) == pytest.approx(2 * US, rel=0.001)
    assert found.overhead.late == pytest.approx(0.01, rel=0.03)
    assert set(found.cells["runs"]) == {3}


SIZES = st.integers(1000, 10**6)
COSTS = st.floats(2, 10)


@given(cold=SIZES, faults=SIZES, fewer=st.integers(0, 10**6), costs=st.tuples(COSTS, COSTS, COSTS))
def test_runs_tell_what_each_kind_of_work_costs(
    cold: int, faults: int, fewer: int, costs: tuple[float, float, float]
) -> None:
    def ran(faults: int, cache: int) -> Ran:
        evicted = max(0, faults + cold - cache)
        return Ran(faults, cold, evicted, faults)

    small, large = ran(faults, cold // 8), ran(faults // (2 + fewer), cold // 2)
    fault, touch, leave = (round(cost * US) for cost in costs)
    meant = Overhead(fault, touch, leave)
    near = [Beyond(each, at, meant.total(each, 0, at) / 1e12) for at, each in enumerate((small, large))]
    far = Beyond(small, 0, near[0].beyond_s + 1.02, waits_s=1.0)
    found = calibrate(near, [far])
    assert found.late == pytest.approx(0.02, rel=1e-3)
    assert found.total(small, 10**12, 0) / 1e12 == pytest.approx(far.beyond_s - 1, rel=1e-6)
    for each in near:
        # The pull towards equal costs leaves it at most that far off, and then it is known how far.
        assert replace(found, near=()).total(each.ran, 0, 0) / 1e12 == pytest.approx(each.beyond_s, rel=0.1)
        assert found.total(each.ran, 0, each.local_bytes) / 1e12 == pytest.approx(each.beyond_s, rel=1e-6)


def test_between_two_sizes_of_local_memory_it_is_in_between() -> None:
    overhead = Overhead(4 * US, near=(Near(1000, 1.0), Near(3000, 1.5)))
    ran = Ran(faults=10, touched=0, evicted=0, waiting=0)
    of = {size: overhead.total(ran, 0, size) for size in (0, 1000, 2000, 3000, 10**9)}
    assert of == {0: 40 * US, 1000: 40 * US, 2000: 50 * US, 3000: 60 * US, 10**9: 60 * US}


def test_waits_hide_work_up_to_their_length() -> None:
    """Of ten faults one has 16 us of work and nine have 1 us: ever longer waits hide 1, then more of the one."""
    ran = Ran(faults=10, touched=0, evicted=0, waiting=10)
    work = [16 * US] + [US] * 9
    hides = {wait: sum(min(each, wait * 1000) for each in work) / 1e12 for wait in (1000, 2000, 8000, 32_000)}
    found = calibrate([Beyond(ran, 1000, sum(work) / 1e12, hides=hides)], [])
    for wait in (US // 2, US, 2 * US, 8 * US):
        beside = found.total(ran, 10 * wait, 1000)
        assert beside == pytest.approx(sum(max(0, each - wait) for each in work), abs=10)
    assert found.total(ran, 10 * 32 * US, 1000) == pytest.approx(0, abs=10)


def test_faults_that_wait_twice_hide_more_than_others() -> None:
    """Four faults of 3 us work; one waits for what leaves alone, two for both, and one for what comes alone."""
    ran = Ran.predicted(Handled(Counts(0, 1, 3, 3, 3, 3, 3), unseen=0, evicted=3, waiting=4))
    assert (ran.faults, ran.touched, ran.waiting, ran.twice) == (3, 1, 4, 2)
    hides = {wait: 4 * min(3000, wait) / 1e9 for wait in (1000, 2000, 3000, 8000)}
    found = calibrate([Beyond(ran, 1000, 12e-6, hides=hides)], [])
    for wait in (US, 2 * US):
        beside = sum(3 * US - min(3 * US, often * wait) for often in (1, 2, 2, 1))
        assert found.total(ran, 6 * wait, 1000) == pytest.approx(beside, abs=10)


@pytest.mark.usefixtures("machine")
def test_the_time_left_is_that_of_the_runs_to_come(tmp_path: Path) -> None:
    grid = MeasuredGrid.open(REQUEST, tmp_path)
    told: list[tuple[float, float]] = []

    def tell(_: str, grid: MeasuredGrid) -> None:
        told.append((grid.left_s(), sum(row.wall_s for row in grid.rows)))

    grid.tell = tell
    grid.measure()
    end = sum(row.wall_s for row in grid.rows)
    # From the first run behind the trace on; with the trace's own word until a cell was run.
    for left, ended in told[2:]:
        assert left == pytest.approx(end - ended, rel=0.2, abs=1.5)
    assert grid.left_s() == 0


def test_waits_of_threads_overlap_as_in_a_run_with_long_waits_but_not_on_the_link(tmp_path: Path) -> None:
    ran = Ran(faults=9000, touched=0, evicted=0, waiting=9000)
    # Four threads: 9,000 waits of 20 µs make the run a quarter of their sum longer.
    far = Beyond(ran, 1 << 20, beyond_s=0.045, waits_s=0.18)
    overhead = calibrate([Beyond(ran, 1 << 20, beyond_s=1e-9)], [far])
    assert overhead.late == pytest.approx(-0.75, abs=1e-3)
    traced = Traced.read(traces.write(tmp_path / "trace", traces.scans(1000, 10)))
    grid = Grid(
        local=[Size("half", share=0.5)], latencies=[10 * US], rates=[10**14, 10**8], overhead=overhead
    )
    far_away, narrow = predict(traced, grid, 10**12).to_dicts()
    asked = far_away["fetch_ps"] + far_away["write_back_ps"]
    assert far_away["time_ps"] - 10**12 == pytest.approx(asked / 4, rel=0.01)
    wire = narrow["written_back"] * 4096 * 8 * 10**4
    assert narrow["time_ps"] - 10**12 == pytest.approx(
        max(wire, narrow["fetched"] * 4096 * 8 * 10**4), rel=0.01
    )


def test_the_command_measures_and_predicts(tmp_path: Path) -> None:
    remote_memory_or_skip()
    code = "block = bytearray(3 << 20)\nfor _ in range(3):\n  for at in range(0, len(block), 4096): block[at] += 1"
    out = tmp_path / "out"
    asked = [
        "farmem",
        "grid",
        "--local",
        "1MB,2MB",
        "--latency",
        "1us,20us",
        "--bandwidth",
        "10Gbps",
        "-n",
        "1",
    ]
    asked += ["--out", str(out), "--json", "--", sys.executable, "-c", code]
    result = CliRunner().invoke(app, asked)
    # Most of so small a program is Python itself.
    assert result.exit_code == exits.Exit.UNCOVERED, result.output
    said = json.loads(result.stdout)
    assert said["covers"] is False
    assert 0.1 < said["not_governed"] < 1
    assert len(said["cells"]) == said["errors"]["cells"] == 4
    for cell in said["cells"]:
        assert cell["faults_measured"] == pytest.approx(cell["faults"], rel=0.1, abs=50)
        assert cell["injected_over_nominal"] >= 1
    shares = [cell["error_share"] for cell in said["cells"]]
    low, high = said["errors"]["interval_90_share"]
    assert min(shares) <= low <= high <= max(shares)
    assert said["errors"]["largest_share"] == max(map(abs, shares))
    assert (out / "grid.svg").read_text().startswith("<svg")
    assert (out / "cells.parquet").exists()
    again = CliRunner().invoke(app, asked)
    assert json.loads(again.stdout)["cells"] == said["cells"]


def test_a_grid_may_be_of_a_server_and_compressed(tmp_path: Path) -> None:
    remote_memory_or_skip()
    code = "block = bytearray(b'ab') * (1 << 20)\nfor at in range(0, len(block), 4096): block[at] += 1"
    out, key_file = tmp_path / "out", written_key(tmp_path)
    with serving(key_file, "--memory", "64MiB") as server:
        there = ["--server", f"127.0.0.1:{server.port}", "--key-file", str(key_file)]
        far = ["--local", "2MB", "--latency", "20us", "--bandwidth", "10Gbps", "--compress", "lz4"]
        asked = ["farmem", "grid", *there, *far, "-n", "1", "--out", str(out), "--json"]
        result = CliRunner().invoke(app, [*asked, "--", sys.executable, "-c", code])
    assert result.exit_code == exits.Exit.UNCOVERED, result.output
    (cell,) = json.loads(result.stdout)["cells"]
    assert cell["faults_measured"] > 0
    runs = [run for run in csv.DictReader((out / "runs.csv").read_text().splitlines()) if run["kind"] == CELL]
    assert all(int(run["bytes_out"]) < 4096 * int(run["pages_out"]) / 2 for run in runs)
    waits = (int(runs[0]["faults"]) + int(runs[0]["pages_out"])) * 20e-6
    assert float(runs[0]["nominal_s"]) == pytest.approx(waits, rel=0.2), "the server's own time is not in it"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_keeps_what_has_ended(number: signal.Signals, tmp_path: Path) -> None:
    remote_memory_or_skip()
    code = (
        "import os, time\nb = bytearray(2 << 20)\nfor i in range(0, len(b), 4096): b[i] += 1\n"
        "print(os.getpid(), flush=True)\ntime.sleep(0.4)"
    )
    asked = ["grid", "--local", "2MB", "--out", str(tmp_path / "out"), "--", sys.executable, "-c", code]
    command = [sys.executable, "-m", "incast", "farmem", *asked]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        runs = tmp_path / "out" / "runs.csv"
        log = tmp_path / "out" / "program.log"
        until(lambda: runs.exists() and len(runs.read_text().splitlines()) >= 5, process)
        until(lambda: (said := log.read_text()) != "" and Path("/proc", said.strip()).exists(), process)
        process.send_signal(number)
        assert process.stderr
        said = process.stderr.read().decode()
        assert process.wait(30) == 130, said
    assert "goes on" in said
    assert (tmp_path / "out" / "cells.parquet").exists()
    assert Traced.read(tmp_path / "out" / "program.trace").footprint() > 2 << 20


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--local", "60KB"], "at least 16 pages"),
        (["--local", "60"], "60"),
        (["--clock", "sun"], "wall, processor"),
        (["--policy", "mru"], "mru"),
        (["--policy", "lru,fifo"], "one policy"),
        (["--server", "localhost:1"], "--key-file"),
        (["--page", "4KiB,8KiB"], "one page size"),
        (["--latency", "5"], "--latency"),
    ],
)
def test_what_cant_be_is_refused(option: list[str], said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["farmem", "grid", *option, "--out", str(tmp_path / "o"), "--", "true"])
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "o").exists()


@pytest.mark.usefixtures("machine")
def test_what_fits_costs_nothing(tmp_path: Path) -> None:
    request = replace(REQUEST, local=(Size("100%", share=1.0), Size("9MB", bytes=9_000_000)), runs=0)
    grid = MeasuredGrid.open(request, tmp_path)
    grid.measure()
    found = cells(request, grid.rows, Traced.read(grid.trace), "processor").cells
    assert found.filter(local_bytes=9_000_000 // 4096 * 4096)["degradation"].to_list() == [0.0, 0.0]
    assert Overhead().total(Ran(0, 5, 0, 0), 0, 0) == 0
