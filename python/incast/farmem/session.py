"""Runs a program over a grid of remote memories: all local, twice without a network, then each cell n times.

Of the two, one is traced; both tell what faults cost on this machine (`incast.farmem.own`).
A round is a run with all memory local and one of each cell, so that what else the machine does falls on all
alike. Each run is a line of `runs.csv`, written when it ends: whoever stops the grid keeps them, and the same
command goes on. Not here: what they come to (`incast.farmem.measured`).
"""

from __future__ import annotations

import csv
import json
import os
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path

from incast import folder
from incast.errors import OutputExistsError, RunError
from incast.farmem.predict import Size
from incast.farmem.run import ALL, Memory, Outcome, run
from incast.farmem.traced import Traced

__all__ = ["CELL", "LOCAL", "MARKER", "NEAR", "TRACE", "Plan", "Row", "Session", "Sized"]

MARKER = "incast-farmem.json"
RUNS = "runs.csv"
TRACE_FILE = "program.trace"
LOG = "program.log"
LOCAL, TRACE, NEAR, CELL = "all-local", "traced", "near", "cell"
"""Kinds of runs; a near one has half of its memory local and waits for no network."""
_NO_NETWORK = Memory(local=ALL, latency_ps=0, rate_bps=10**14)
_LEAST_TRACE_PAGES = 64
_TAIL = 2000
"""Bytes of the program's output that are shown when it fails."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked."""

    command: tuple[str, ...]
    local: tuple[Size, ...]
    latencies: tuple[int, ...]
    rates: tuple[int, ...]
    runs: int = 3
    page: int = 4096


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
    session: int
    """Counts from 1: which call of the command it is from."""
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
    asked_bytes: int
    nominal_s: float
    injected_s: float
    own_s: float

    @property
    def cell(self) -> Sized:
        """Which cell it is of."""
        return Sized(self.local_bytes, self.latency_ps, self.bandwidth_bps)


@dataclass
class Session:
    """A call of the command, in a folder that former calls may have been in."""

    plan: Plan
    out: Path
    rows: list[Row]
    number: int
    tell: Callable[[str, Session], None] = lambda _, __: None
    """Is told what runs next."""

    @staticmethod
    def open(plan: Plan, out: Path) -> Session:
        """Goes on with what the folder has; refuses one of something else."""
        said = {"command": list(plan.command), "page": plan.page}
        marker = out / MARKER
        if marker.is_file():
            if json.loads(marker.read_text("utf-8")).get("of") != said:
                raise OutputExistsError(out, ours=True)
        elif out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise OutputExistsError(out, ours=False)
        out.mkdir(parents=True, exist_ok=True)
        folder.mark(out, MARKER)
        folder.write_json(marker, json.loads(marker.read_text("utf-8")) | {"of": said})
        rows = _read(out / RUNS)
        return Session(plan, out, rows, max((row.session for row in rows), default=0) + 1)

    @property
    def trace(self) -> Path:
        """Of the program's page faults."""
        return self.out / TRACE_FILE

    def cells(self, footprint: int) -> list[Sized]:
        """In the order in which they run."""
        sizes = [size.of(footprint) // self.plan.page * self.plan.page for size in self.plan.local]
        return [Sized(*each) for each in product(sizes, self.plan.latencies, self.plan.rates)]

    def measure(self) -> None:
        """Runs what is missing.

        Raises `KeyboardInterrupt` after Ctrl-C, and `RunError` when the program fails.
        """
        base: Row | None = None
        if not self.done(TRACE):
            base = self._run(LOCAL, self._near())
            self._trace(base.asked_bytes)
        footprint = Traced.read(self.trace).footprint()
        if not self.done(NEAR):
            base = base or self._run(LOCAL, self._near())
            half = max(_LEAST_TRACE_PAGES, footprint // 2 // self.plan.page)
            self._run(NEAR, replace(self._near(), local=half * self.plan.page))
        cells = self.cells(footprint)
        for number in range(self.plan.runs):
            missing = [cell for cell in cells if len(self.done(CELL, cell)) <= number]
            if missing and (base is None or number > 0):
                base = self._run(LOCAL, self._near())
            for cell in missing:
                self._run(
                    CELL, Memory(cell.local_bytes, cell.latency_ps, cell.bandwidth_bps, page=self.plan.page)
                )

    def missing(self) -> int:
        """How many runs are still to come; 0 where nobody knows yet."""
        if not self.done(TRACE):
            return 0
        left = [
            max(0, self.plan.runs - len(self.done(CELL, cell)))
            for cell in self.cells(Traced.read(self.trace).footprint())
        ]
        return sum(left) + max(left, default=0)

    def done(self, kind: str, cell: Sized | None = None) -> list[Row]:
        """Runs of this kind that have ended, of all calls."""
        return [row for row in self.rows if row.kind == kind and cell in (None, row.cell)]

    def _trace(self, asked: int) -> None:
        least = min(size.of(asked) for size in self.plan.local)
        pages = max(_LEAST_TRACE_PAGES, min(least, asked) // 4 // self.plan.page)
        self._run(TRACE, replace(self._near(), local=pages * self.plan.page, trace=self.trace))

    def _near(self) -> Memory:
        """All of it local, and what is not, without a network."""
        return replace(_NO_NETWORK, page=self.plan.page)

    def _run(self, kind: str, memory: Memory) -> Row:
        self.tell(kind, self)
        with (self.out / LOG).open("wb") as log:
            before = _processor_s()
            outcome = run(self.plan.command, memory, log=log)
            processor = _processor_s() - before
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.exit_code:
            said = (self.out / LOG).read_bytes()[-_TAIL:].decode(errors="replace").strip()
            raise RunError(
                f"{self.plan.command[0]} ended with exit code {outcome.exit_code}: {said or 'without a word'}"
            )
        row = _row(kind, self.number, memory, outcome, processor)
        self.rows.append(row)
        _append(self.out / RUNS, row)
        return row


def _row(kind: str, session: int, memory: Memory, outcome: Outcome, processor_s: float) -> Row:
    ours = {field.name for field in fields(Row)}
    same = {key: value for key, value in asdict(outcome).items() if key in ours}
    return Row(
        kind=kind,
        session=session,
        local_bytes=memory.local,
        latency_ps=memory.latency_ps,
        bandwidth_bps=memory.rate_bps,
        processor_s=round(processor_s, 6),
        load=round(os.getloadavg()[0], 2),
        **same,
    )


def _processor_s() -> float:
    """Of all that was waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _append(file: Path, row: Row) -> None:
    """A line more."""
    new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Row)])
        if new:
            writer.writeheader()
        writer.writerow(asdict(row))


def _read(file: Path) -> list[Row]:
    """The lines that are whole; what a crash left of one is cut off."""
    if not file.exists():
        return []
    said = file.read_text("utf-8")
    whole = said[: said.rfind("\n") + 1]
    if whole != said:
        folder.write_text(file, whole)
    kinds = {"str": str, "int": int, "float": float}
    return [
        Row(**{field.name: kinds[str(field.type)](line[field.name]) for field in fields(Row)})
        for line in csv.DictReader(whole.splitlines())
    ]
