"""What remote memory makes of a traced program: over latency, bandwidth, local memory and page size.

Degradation is the document's (004, slide 8): time more, of the time with all memory local.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import polars as pl

from incast import _core
from incast.farmem.overhead import Overhead, Ran
from incast.farmem.size import Size
from incast.farmem.traced import Cache, Counts, Traced

__all__ = [
    "GRID_LATENCIES", "GRID_RATES", "Errors", "Grid", "Packing", "error_share", "errors", "predict",
]  # fmt: skip

GRID_LATENCIES = (1_000_000, 10_000_000, 20_000_000)
"""The document's: 1, 10 and 20 µs."""
GRID_RATES = (10_000_000_000, 40_000_000_000, 100_000_000_000)
"""The document's: 10, 40 and 100 Gb/s."""
_FREE = Overhead()
_KEYS = ("policy", "page_bytes", "local_bytes", "latency_ps", "bandwidth_bps")


@dataclass(frozen=True, slots=True)
class Packing:
    """Compression of pages on their way: a trace does not have their contents, so a run has to tell."""

    ratio: float = 1.0
    """Bytes before over bytes after, at least 1."""
    compress_ps: int = 0
    """4 KiB that leave, and are written back."""
    decompress_ps: int = 0
    """4 KiB that are fetched."""

    def travels(self, page: int) -> int:
        """Bytes of a page on its way."""
        return math.ceil(page / self.ratio)

    def takes(self, counts: Counts, page: int) -> int:
        """Picoseconds that the program's processor has to do with it."""
        back, fetched = counts.written_back * self.compress_ps, counts.fetched * self.decompress_ps
        return (back + fetched) * page // _BASE


_BASE = 4096
_PLAIN = Packing()


@dataclass(frozen=True, slots=True)
class Grid:
    """What is predicted: all combinations."""

    local: Sequence[Size] = tuple(Size(f"{share}%", share=share / 100) for share in (25, 50, 75))
    latencies: Sequence[int] = GRID_LATENCIES
    """Of a request, in picoseconds."""
    rates: Sequence[int] = GRID_RATES
    """In bit/s, each direction."""
    pages: Sequence[int] = ()
    """Page sizes in bytes; none: the trace's."""
    policies: Sequence[str] = ()
    """Which page leaves; none: the trace's."""
    read_ahead: int = 0
    """Pages fetched with the one that is needed."""
    pages_a_request: int = 1
    """How many pages share a latency."""
    write_back: bool = True
    """Whether a fault waits for the page that leaves."""
    overhead: Overhead = _FREE
    """What a fault costs without a network."""
    packing: Packing = _PLAIN
    """What compression saves and takes."""

    def caches(self, traced: Traced) -> Iterator[tuple[int, Size, Cache]]:
        """Page size, local memory and cache of each run through the trace."""
        sizes, policies = self.pages or (traced.page,), self.policies or (traced.policy,)
        for page, policy, local in product(sizes, policies, self.local):
            pages = max(1, local.of(traced.footprint()) // page)
            yield page, local, Cache(pages, policy, self.read_ahead, self.pages_a_request)


def predict(traced: Traced, grid: Grid, all_local: int | None = None) -> pl.DataFrame:
    """A row a cell.

    `all_local` is the time with all memory local in picoseconds; without it, what the trace computed. Waits
    of several threads overlap in the time, and each counts in `fetch_ps` and `write_back_ps`.
    """
    base = all_local or traced.computed_ps
    footprint = traced.footprint()
    rows = []
    for page, local, cache in grid.caches(traced):
        counts = traced.counts(page, cache)
        ran = Ran.predicted(traced.handled(page, cache)) if grid.overhead != _FREE else None
        packing = grid.packing.takes(counts, page)
        for latency, rate in product(grid.latencies, grid.rates):
            bytes_ = grid.packing.travels(page)
            fetch, back, _ = _core.farmem_waits(counts, bytes_, latency, rate, grid.write_back, 0)
            handler = grid.overhead.total(ran, fetch + back, local.of(footprint)) if ran else 0
            if traced.threads > 1 and not grid.overhead.is_learned:
                cost = (bytes_, latency, rate, grid.write_back, grid.overhead.fault_ps)
                waits = traced.longer_ps(page, cache, cost) + packing
            else:
                # However many threads wait at the same time, the link sends all pages.
                wire = max(counts.fetched, counts.written_back) * bytes_ * 8 * 10**12 // rate if rate else 0
                waits = max(fetch + back + packing + handler, wire)
            rows.append(
                {
                    "program": traced.name,
                    "policy": cache.policy,
                    "page_bytes": page,
                    "local_bytes": local.of(footprint),
                    "local_share": local.of(footprint) / footprint if footprint else None,
                    "latency_ps": latency,
                    "bandwidth_bps": rate,
                    **counts._asdict(),
                    "fetch_ps": fetch,
                    "write_back_ps": back,
                    "packing_ps": packing,
                    "handler_ps": handler,
                    "all_local_ps": base,
                    "time_ps": base + waits,
                    "degradation": waits / base if base else None,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True, slots=True)
class Errors:
    """How far predictions are from what was measured: as a share of the time, and in percentage points."""

    cells: pl.DataFrame = field(repr=False)
    """A row a cell that was measured: degradation, measured, error_share, error_points."""

    @property
    def median_share(self) -> float:
        """How far predicted times are off, as a share of the measured time: median of sizes."""
        return float(self.cells["error_share"].abs().median() or 0.0)  # type: ignore[arg-type]

    @property
    def largest_share(self) -> float:
        """The largest of these sizes."""
        return float(self.cells["error_share"].abs().max() or 0.0)  # type: ignore[arg-type]

    def interval(self, part: float = 0.9) -> tuple[float, float]:
        """Between which shares of the time this part of the cells' errors lie: as many below as above."""
        tail = (1 - part) / 2
        low, high = (self.cells["error_share"].quantile(at, "linear") for at in (tail, 1 - tail))
        return float(low or 0.0), float(high or 0.0)

    @property
    def median(self) -> float:
        """Of sizes of errors."""
        return float(self._sizes().median() or 0.0)  # type: ignore[arg-type]

    @property
    def largest(self) -> float:
        """Of sizes of errors."""
        return float(self._sizes().max() or 0.0)  # type: ignore[arg-type]

    def within(self, points: float) -> float:
        """The share of cells whose error is at most so large."""
        return float((self._sizes() <= points).mean() or 0.0)  # type: ignore[arg-type]

    def _sizes(self) -> pl.Series:
        return self.cells["error_points"].abs()


def errors(predicted: pl.DataFrame, measured: pl.DataFrame) -> Errors:
    """Beside measured cells: a table with `degradation` and the columns that tell its cells apart."""
    keys = [key for key in _KEYS if key in measured.columns]
    if "program" in measured.columns:
        keys = ["program", *keys]
    beside = measured.select(*keys, pl.col("degradation").alias("measured"))
    cells = predicted.join(beside, on=keys, how="inner")
    apart = (pl.col("degradation") - pl.col("measured")) * 100
    return Errors(cells.with_columns(error_share(), apart.alias("error_points")))


def error_share() -> pl.Expr:
    """The predicted time less the measured one, of the measured one, where both are degradations."""
    off = (pl.col("degradation") - pl.col("measured")) / (1 + pl.col("measured"))
    return off.alias("error_share")
