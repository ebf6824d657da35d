"""Runs a program over a grid of remote memories: once traced, then rounds of all that is compared.

A round is four runs for the overhead of faults on this machine (`incast.farmem.overhead`), and one of each
cell. Before each there is a run with all memory local. The speed of a machine drifts within seconds, and so
it drifts for all alike. Three of the four have no network: with little memory local, a half and three
quarters. The last has little local and the longest wait of the grid. Little is the least of the grid, or less
where that has few faults. So none of the four takes longer than the grid's longest cell, unless it is short.

Each run is a line of `runs.csv`, written when it ends. A grid that is stopped keeps them, and the same
command goes on. Not here: the evaluation (`incast.farmem.measured`).
"""

from __future__ import annotations

import csv
import os
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from incast import folder
from incast.bounded import read_end, read_json, read_text
from incast.errors import OutputExistsError, ResultError, RunError, why
from incast.farmem.run import Memory, Outcome, run
from incast.farmem.size import Size
from incast.farmem.traced import Cache, Handled, Traced

__all__ = ["CELL", "FAR", "LOCAL", "NEAR", "TRACE", "MeasuredGrid", "Request", "Row", "Sized"]

RUNS = "runs.csv"
TRACE_FILE = "program.trace"
LOG = "program.log"
LOCAL, TRACE, NEAR, FAR, CELL = "all-local", "traced", "near", "far", "cell"
"""Kinds of runs; a near one waits for no network."""
_NO_NETWORK_BPS = 10**14
_LITTLE = 4
"""The least local memory of the grid has so many times as much, where faults are few."""
_FEW = 20_000
"""Faults that take no long time, wherever they are."""
_TRACED = 16 * _LITTLE
"""And so many times as much as the traced run has, as long as that is not much slower for it. The trace sees
no access to a page that is there: sizes that nobody asked about, and policies but FIFO, want few of them."""
_FAULT_S = 10e-6
"""About what a fault takes beyond its wait, until runs tell."""
_LEAST_TRACE_PAGES = 64
_RUNS_BYTES_MAX = 256_000_000
_TAIL = 2000
"""Bytes of the program's output that are shown when it fails."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked."""

    command: tuple[str, ...]
    local: tuple[Size, ...]
    latencies: tuple[int, ...]
    rates: tuple[int, ...]
    memory: Memory
    """How pages are exchanged; all of it local."""
    runs: int = 3

    @property
    def page(self) -> int:
        """Bytes that are exchanged at a time."""
        return self.memory.page

    @property
    def near(self) -> Memory:
        """All of it local, and what is not, without a network; a server takes its time all the same."""
        return replace(self.memory, latency_ps=0, rate_bps=0 if self.memory.server else _NO_NETWORK_BPS)

    def identity(self) -> dict[str, Any]:
        """What runs have in common that may be compared."""
        names = ("page", "read_ahead", "pages_a_request", "policy", "compress")
        said = {name: getattr(self.memory, name) for name in names}
        server = self.memory.server
        return {
            "command": list(self.command),
            **said,
            "server": f"{server.ip}:{server.port}" if server else None,
        }


@dataclass(frozen=True, slots=True)
class Sized:
    """One cell: local memory in bytes, and how far away the rest is."""

    local_bytes: int
    latency_ps: int
    bandwidth_bps: int


@dataclass(frozen=True, slots=True)
class Row:
    """A run, as `runs.csv` has it."""

    kind: str
    invocation: int
    """Counts from 1: which invocation of the command it is from."""
    local_bytes: int
    latency_ps: int
    bandwidth_bps: int
    wall_s: float
    processor_s: float
    """Of the program and what handled its faults, waits too: these spin."""
    load: float
    """Processes that wanted a processor, mean of a minute, when it ended."""
    faults: int
    first_touches: int
    pages_in: int
    pages_out: int
    bytes_in: int
    """As they travelled; compressed, that is less than the pages have."""
    bytes_out: int
    asked_bytes: int
    touched_bytes: int
    not_governed: float
    """The share of the program's memory that could not be remote; 1 where nobody saw it in time."""
    nominal_s: float
    injected_s: float
    own_s: float
    hides_ns: str
    """What waits of so many ns would hide of that, as `Outcome` has it: `WAIT:HIDDEN`, and spaces between."""

    @property
    def cell(self) -> Sized:
        """Which cell it is of."""
        return Sized(self.local_bytes, self.latency_ps, self.bandwidth_bps)


@dataclass
class MeasuredGrid:
    """A call of the command, in a folder that former calls may have been in."""

    request: Request
    out: Path
    rows: list[Row]
    number: int
    tell: Callable[[str, MeasuredGrid], None] = lambda _, __: None
    """Is told what runs next."""
    _round: list[tuple[str, Sized]] | None = None
    _traced: Traced | None = None
    _handled: dict[int, Handled] = field(default_factory=dict)

    @staticmethod
    def open(request: Request, out: Path) -> MeasuredGrid:
        """Goes on with what the folder has; refuses one of something else."""
        said = request.identity()
        folder.check_format(out)
        marker = out / folder.FARMEM_MARKER
        if marker.is_file():
            if _of(marker) != said:
                raise OutputExistsError(out, other="cells of something else")
        elif out.exists() and (not out.is_dir() or not folder.is_empty(out)):
            raise folder.taken(out, folder.FARMEM_MARKER)
        out.mkdir(parents=True, exist_ok=True)
        folder.mark(out, folder.FARMEM_MARKER, of=said)
        rows = _read(out / RUNS)
        return MeasuredGrid(request, out, rows, max((row.invocation for row in rows), default=0) + 1)

    @property
    def trace(self) -> Path:
        """Of the program's page faults."""
        return self.out / TRACE_FILE

    def a_round(self) -> list[tuple[str, Sized]]:
        """What is run apart from all memory local, in order; there has to be a trace."""
        if self._round is None:
            self._round = self._whole_round()
        return self._round

    def _whole_round(self) -> list[tuple[str, Sized]]:
        traced = self.traced()
        footprint = traced.footprint()
        little = self._little(traced)
        half, most = (self._whole(footprint * share // 4) for share in (2, 3))
        nearest = self.request.near.latency_ps, self.request.near.rate_bps
        longest = max(self.request.latencies), min(self.request.rates)
        sizes = [self._whole(size.of(footprint), least=1) for size in self.request.local]
        cells = product(sizes, self.request.latencies, self.request.rates)
        return [
            *((NEAR, Sized(size, *nearest)) for size in dict.fromkeys((little, half, most))),
            (FAR, Sized(little, *longest)),
            *((CELL, Sized(*cell)) for cell in cells if self.request.runs),
        ]

    def measure(self) -> None:
        """Runs what is missing.

        Raises `KeyboardInterrupt` after Ctrl-C or another request to end, and `RunError` when the program
        fails.
        """
        if not self.done(TRACE):
            self._trace(self._run(LOCAL, self.request.near).touched_bytes)
        what = self.a_round()
        for number in range(max(1, self.request.runs)):
            for kind, at in (each for each in what if len(self.done(*each)) <= number):
                self._run(LOCAL, self.request.near)
                memory = replace(
                    self.request.memory,
                    local=at.local_bytes,
                    latency_ps=at.latency_ps,
                    rate_bps=at.bandwidth_bps,
                )
                self._run(kind, memory)

    def missing(self) -> int:
        """How many runs are still to come; 0 where nobody knows yet."""
        if not self.done(TRACE):
            return 0
        runs = max(1, self.request.runs)
        return 2 * sum(max(0, runs - len(self.done(*each))) for each in self.a_round())

    def left_s(self) -> float:
        """About how many seconds the missing runs take: as others of their kind did, or as the trace says."""
        if not self.done(TRACE):
            return 0.0
        runs = max(1, self.request.runs)
        local_s = fmean(row.wall_s for row in self.done(LOCAL))
        left = 0.0
        for kind, at in self.a_round():
            done = [row.wall_s for row in self.done(kind, at)]
            each = fmean(done) if done else local_s + self._faults_s(at)
            left += max(0, runs - len(done)) * (local_s + each)
        return left

    def _faults_s(self, at: Sized) -> float:
        """What faults and their waits take in a run."""
        if at.local_bytes not in self._handled:
            memory = self.request.memory
            pages = at.local_bytes // self.request.page
            cache = Cache(pages, memory.policy, memory.read_ahead, memory.pages_a_request)
            self._handled[at.local_bytes] = self.traced().handled(self.request.page, cache)
        handled = self._handled[at.local_bytes]
        counts = handled.counts
        page_s = self.request.page * 8 / at.bandwidth_bps if at.bandwidth_bps else 0.0
        latencies = (counts.requests + counts.sends) * at.latency_ps / 1e12
        waits = latencies + (counts.fetched + counts.written_back) * page_s
        return waits + (counts.faults + counts.cold - handled.unseen) * _FAULT_S

    def traced(self) -> Traced:
        """The trace, once there is one."""
        if self._traced is None:
            self._traced = Traced.read(self.trace)
        return self._traced

    def done(self, kind: str, cell: Sized | None = None) -> list[Row]:
        """Runs of this kind that have ended, of all calls."""
        return [row for row in self.rows if row.kind == kind and cell in (None, row.cell)]

    def _trace(self, touched: int) -> None:
        # What is fetched ahead would not be seen.
        local = self._part(touched, _TRACED)
        sizes = tuple(sorted({self._whole(size.of(touched), least=1) for size in self.request.local}))
        memory = replace(self.request.near, local=local, read_ahead=0, trace=self.trace, asked=sizes)
        self._run(TRACE, memory)

    def _part(self, touched: int, part: int) -> int:
        """Bytes, in whole pages, of a part of the least local memory of a program with so much in use."""
        return self._whole(min(touched, *(size.of(touched) for size in self.request.local)) // part)

    def _little(self, traced: Traced) -> int:
        """Bytes of a quarter of the least local memory, or of more where faults would not be few."""
        touched = self.done(TRACE)[0].touched_bytes
        *less, least = (self._part(touched, part) for part in (_LITTLE, _LITTLE // 2, 1))
        memory = self.request.memory

        def faults(size: int) -> int:
            cache = Cache(size // self.request.page, memory.policy, memory.read_ahead, memory.pages_a_request)
            return traced.handled(self.request.page, cache).counts.faults

        most = max(faults(least), _FEW)
        return next((size for size in less if faults(size) <= most), least)

    def _whole(self, size: int, least: int = _LEAST_TRACE_PAGES) -> int:
        """So many bytes in whole pages."""
        return max(least, size // self.request.page) * self.request.page

    def _run(self, kind: str, memory: Memory) -> Row:
        self.tell(kind, self)
        with (self.out / LOG).open("wb") as log:
            before = _processor_s()
            outcome = run(self.request.command, memory, log=log)
            processor = _processor_s() - before
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.exit_code:
            said = read_end(self.out / LOG, _TAIL).decode(errors="replace").strip()
            raise RunError(
                f"{self.request.command[0]} ended with exit code {outcome.exit_code}: "
                f"{said or 'without a word'}"
            )
        if outcome.untraced:
            raise RunError(outcome.untraced)
        row = _row(kind, self.number, memory, outcome, processor)
        self.rows.append(row)
        _append(self.out / RUNS, row)
        return row


def _row(kind: str, invocation: int, memory: Memory, outcome: Outcome, processor_s: float) -> Row:
    ours = {field.name for field in fields(Row)}
    same = {key: value for key, value in asdict(outcome).items() if key in ours}
    same["hides_ns"] = " ".join(f"{wait}:{hidden}" for wait, hidden in outcome.hides_ns.items())
    return Row(
        kind=kind,
        invocation=invocation,
        local_bytes=memory.local,
        latency_ps=memory.latency_ps,
        bandwidth_bps=memory.rate_bps,
        processor_s=round(processor_s, 6),
        not_governed=round(_not_governed(outcome), 4),
        load=round(os.getloadavg()[0], 2),
        **same,
    )


def _not_governed(outcome: Outcome) -> float:
    share = outcome.coverage.worst_share if outcome.coverage else 0.0
    return 1.0 if share is None else share


def _processor_s() -> float:
    """Of all that was waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of(marker: Path) -> Any:
    """What runs in the folder have in common; nothing where it does not say so."""
    try:
        content = read_json(marker)
    except (OSError, ValueError):
        return None
    return content.get("of") if isinstance(content, dict) else None


def _append(file: Path, row: Row) -> None:
    """A line more."""
    new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Row)])
        if new:
            writer.writeheader()
        writer.writerow(asdict(row))


def _read(file: Path) -> list[Row]:
    """The lines that are whole; what a crash left of one is cut off. Another version's file is left alone."""
    if not file.exists():
        return []
    try:
        said = read_text(file, _RUNS_BYTES_MAX)
    except (OSError, ValueError) as error:
        raise ResultError(f"{file}: not readable: {why(error)}") from None
    whole = said[: said.rfind("\n") + 1]
    if whole != said:
        folder.write_text(file, whole)
    kinds = {"str": str, "int": int, "float": float}
    lines = csv.DictReader(whole.splitlines())
    if lines.fieldnames and list(lines.fieldnames) != [field.name for field in fields(Row)]:
        raise OutputExistsError(file.parent, other="cells of another version")
    try:
        return [
            Row(**{field.name: kinds[str(field.type)](line[field.name]) for field in fields(Row)})
            for line in lines
        ]
    except (TypeError, ValueError):
        raise ResultError(f"{file}:{lines.line_num}: not a run: numbers are expected") from None
