"""Traces of `incast farmem run`: what faulted, what is said of a trace that is cut, and what it replaces."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from farmem_programs import SWEEP, compiled, memory, python, remote_memory_or_skip
from incast.cli.app import app
from incast.farmem import run as runs
from incast.farmem.predict import Grid, predict
from incast.farmem.run import Memory, run
from incast.farmem.size import Size
from incast.farmem.traced import Cache, Traced

INCAST = [sys.executable, "-m", "incast", "farmem", "run"]
FAR = ["--latency", "1us", "--bandwidth", "100Gbps"]


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


def test_a_trace_has_what_faulted(tmp_path: Path) -> None:
    code = SWEEP.format(sweeps=3, change=" += 1")
    outcome = run([sys.executable, "-c", code], replace(memory(1000), trace=tmp_path / "sweep.trace"))
    traced = Traced.read(tmp_path / "sweep.trace")
    assert traced.page == 4096
    assert 3000 < traced.footprint() / 4096 < 5000
    grid = Grid(local=(Size("4096000", bytes=4_096_000),), latencies=[1_000_000], rates=[100 * 10**9])
    (cell,) = predict(traced, grid, None).to_dicts()
    assert outcome.faults * 0.98 <= cell["faults"] <= outcome.faults * 1.02
    whole = (tmp_path / "sweep.trace").read_bytes()
    (tmp_path / "cut.trace").write_bytes(whole[: len(whole) // 2])
    for name, is_cut in (("sweep", False), ("cut", True)):
        said = CliRunner().invoke(app, ["farmem", "predict", str(tmp_path / f"{name}.trace")])
        assert (f"{name} has no end: it was cut short" in said.stderr) == is_cut


def test_what_was_measured_is_kept_without_a_trace(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "sweep.trace"
    outcome = run(
        [sys.executable, "-c", SWEEP.format(sweeps=1, change="")], replace(memory(1000), trace=nowhere)
    )
    assert outcome.faults > 1000
    assert outcome.untraced == f"{nowhere}: no such file or directory"
    fits = replace(memory(1 << 20), trace=tmp_path / "fits.trace")
    assert run([sys.executable, "-c", "print(1)"], fits).untraced.startswith("nothing to trace in ")


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")
@pytest.mark.parametrize(("room", "sweeps"), [("512k", 1), ("1500k", 16), ("4k", 1)])
def test_a_full_disk_costs_the_trace_and_not_the_program(
    room: str, sweeps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write to a mapping of it would be a SIGBUS: nothing at first, no more of a trace, no numbers at all."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)], check=True)
    try:
        monkeypatch.setenv("TMPDIR", str(disk))
        monkeypatch.setattr("tempfile.tempdir", None)
        kept = tmp_path / "sweep.trace"
        wanted = replace(memory(1000), trace=kept)
        outcome = run([sys.executable, "-c", SWEEP.format(sweeps=sweeps, change=" += 1")], wanted)
        assert outcome.exit_code == 0
        assert outcome.untraced
        assert not kept.exists()
        if room == "4k":
            assert any(
                f"has no numbers: too short a life, or no space in {disk}" in note for note in outcome.notes
            )
        else:
            assert f"no trace: {disk} had no space for it" in outcome.untraced
            assert outcome.faults > 1000 * sweeps
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_trace_that_would_be_too_long_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind its last record it would look like one of a shorter run."""
    names = b"traced_bytes\nuntraced"
    (tmp_path / "7-0").write_bytes(names.ljust(4096, b"\0") + struct.pack("<2Q", 1 << 30, 2))
    (tmp_path / "8-0").write_bytes(names.ljust(4096, b"\0") + struct.pack("<2Q", 16, 0))
    said = runs._keep_trace([tmp_path / "7-0", tmp_path / "8-0"], tmp_path / "kept")
    assert said.startswith(
        f"{tmp_path}/kept: no trace: it would be longer than 1GiB, the most that is traced"
    )
    assert not (tmp_path / "kept").exists()

    monkeypatch.setattr(runs, "_keep_trace", lambda *_: said)
    words = ["--local", "4MB", "--latency", "1us", "--bandwidth", "1Gbps", "--trace", str(tmp_path / "kept")]
    found = CliRunner().invoke(app, ["farmem", "run", *words, "--", sys.executable, "-c", "print(1)"])
    assert found.exit_code == 4
    assert found.stderr.startswith(f"error: {said}")
    assert "wall time" in found.stderr


GROWING = """
blocks = []
for size in (2, 4, 8):
    blocks.append(bytearray(size * 1_000_000))
    for at in range(0, len(blocks[-1]), 4096):
        blocks[-1][at] = 1
"""


def test_a_traces_own_memory_is_none_of_the_programs(tmp_path: Path) -> None:
    code = "x = bytearray(2000 * 4096)\nfor turn in range(30): x[::4096] = bytes([turn]) * 2000"
    outcome = run([sys.executable, "-c", code], replace(memory(300), trace=tmp_path / "trace"))
    assert outcome.coverage is not None
    # Python shares a file with other programs, too.
    assert outcome.coverage.others_bytes.get("shared", 0) < 100_000 < (tmp_path / "trace").stat().st_size


def test_a_trace_says_when_memory_would_be_remote_with_more_of_it_local(tmp_path: Path) -> None:
    run([sys.executable, "-c", GROWING], replace(memory(100), trace=tmp_path / "growing.trace"))
    traced = Traced.read(tmp_path / "growing.trace")
    touched = []
    for local in (5_000_000, 12_000_000):
        outcome = python(GROWING, memory(local // 4096))
        foretold = traced.handled(4096, Cache(local // 4096, "fifo"))
        touched.append(outcome.first_touches or 0)
        assert foretold.counts.cold - foretold.unseen == pytest.approx(touched[-1], rel=0.05)
    assert touched[0] > touched[1] + 900


MOSTLY = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void) {
    unsigned long x = 1;
    long pages = 4000;
    unsigned char *at = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long page = 0; page < pages; page++) at[page * 4096] = 1;
    for (long turn = 0; turn < 200000; turn++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        long of = x % 128 ? pages / 5 : pages;
        unsigned char *page = at + (x >> 20) % of * 4096;
        if (x & 1 << 10) *page += 1;
        else if (!*page) putchar(*page);
    }
    return 0;
}
"""


def test_a_trace_has_all_misses_of_the_memories_it_is_asked_about_and_ends_in_time(tmp_path: Path) -> None:
    program = str(compiled(MOSTLY, tmp_path / "mostly"))
    near = Memory(0, 0, 10**14)
    sizes = tuple(4000 * 4096 * share // 100 for share in (25, 50, 75))
    runs = {size: run([program], replace(near, local=size)) for size in sizes}
    asked = replace(near, local=sizes[0] // 32, trace=tmp_path / "trace", asked=sizes)
    paced = run([program], asked)
    # Nearly each of 200,000 accesses would be a fault otherwise. Faults are what takes time here.
    least = runs[sizes[0]]
    assert least.first_touches is not None
    assert paced.faults < 5 * (least.faults + least.first_touches)
    traced = Traced.read(tmp_path / "trace")
    for size, outcome in runs.items():
        counts = traced.counts(4096, Cache(size // 4096, "fifo"))
        assert (counts.faults, counts.written_back) == (outcome.faults, outcome.pages_out)


def test_a_trace_replaces_no_file_unless_it_may(tmp_path: Path) -> None:
    trace = tmp_path / "mine.trace"
    trace.write_text("mine")
    asked = ["farmem", "run", "--local", "1MB", *FAR, "--trace", str(trace)]
    done = CliRunner().invoke(app, [*asked, "--", "true"])
    assert done.exit_code == 2
    assert "is there already: choose another, or allow it to be overwritten (--force)" in done.stderr
    assert trace.read_text() == "mine"
    code = SWEEP.format(sweeps=1, change="")
    done = CliRunner().invoke(app, [*asked, "--force", "--", sys.executable, "-c", code])
    assert done.exit_code == 0, done.stderr
    assert Traced.read(trace).footprint()


def test_a_trace_without_a_file_is_not_called_empty(tmp_path: Path) -> None:
    names = b"traced_bytes\nuntraced"
    (tmp_path / "7-0").write_bytes(names.ljust(4096, b"\0") + struct.pack("<2Q", 0, 3))
    said = runs._keep_trace([tmp_path / "7-0"], tmp_path / "kept")
    assert said.startswith(f"{tmp_path}/kept: no trace: no file for it could be made in {tmp_path.parent}: ")
