"""What was traced and measured, as frames: the whole grid by prediction, and the cells that were measured."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import median

import polars as pl
from programs import FEW, MORE

from incast._core import farmem_waits
from incast.farmem.predict import GRID_LATENCIES, GRID_RATES
from incast.farmem.traced import Cache, Counts, Traced

LOCALS: dict[str, int | float] = {"200 MB": 200_000_000, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75}
"""Local memory: bytes, or a share of what a program has in use."""
IMAGES = 100


@dataclass(frozen=True)
class Program:
    """A program's result folder."""

    folder: Path

    @cached_property
    def traced(self) -> Traced:
        """Its trace."""
        return Traced.read(self.folder / "program.trace")

    @cached_property
    def all_local_s(self) -> float:
        """Of the processor, with all memory local."""
        with (self.folder / "runs.csv").open(newline="") as lines:
            runs = [
                float(line["processor_s"]) for line in csv.DictReader(lines) if line["kind"] == "all-local"
            ]
        return median(runs)

    @property
    def footprint(self) -> int:
        """The most bytes in use."""
        return self.traced.footprint()

    def counts(self, local: float) -> Counts:
        """What a cache of so many bytes counts."""
        return self.traced.counts(4096, Cache(max(1, int(local) // 4096), "fifo"))


@dataclass(frozen=True)
class Run:
    """A run as it counts: of one program, or of 100 images as two runs of few and more images say it."""

    name: str
    footprint: int
    all_local_s: float
    counts: dict[str, Counts]
    """By local memory."""

    def rows(self) -> list[dict[str, object]]:
        """The grid; the network alone, without what injecting costs here."""
        found = []
        for local, latency, rate in product(self.counts, GRID_LATENCIES, GRID_RATES):
            counts = self.counts[local]
            waits = sum(farmem_waits(counts, 4096, latency, rate, True, 0)) / 1e12
            found.append(
                {
                    "program": self.name,
                    "local": local,
                    "latency_us": latency // 10**6,
                    "bandwidth_gbps": rate // 10**9,
                    "degradation_percent": round(waits / self.all_local_s * 100, 4),
                    "faults": counts.faults,
                    "written_back": counts.written_back,
                    "footprint_mb": round(self.footprint / 1e6, 1),
                    "all_local_s": round(self.all_local_s, 4),
                }
            )
        return found


def single(out: Path, name: str) -> Run:
    """A program that was run as it is."""
    program = Program(out / name)
    sizes = {said: _bytes(local, program.footprint) for said, local in LOCALS.items()}
    counts = {said: program.counts(size) for said, size in sizes.items()}
    return Run(name, program.footprint, program.all_local_s, counts)


def images(out: Path, name: str) -> Run:
    """100 images: those of the longer run, and for each that is missing what one more took."""
    few, more = (Program(out / f"{name}-{count}") for count in (FEW, MORE))
    sizes = {said: _bytes(local, more.footprint) for said, local in LOCALS.items()}
    return Run(
        name,
        more.footprint,
        _of_100(few.all_local_s, more.all_local_s),
        {
            said: Counts(
                *(round(_of_100(*both)) for both in zip(few.counts(size), more.counts(size), strict=True))
            )
            for said, size in sizes.items()
        },
    )


def _of_100(few: float, more: float) -> float:
    return more + max(0.0, more - few) / (MORE - FEW) * (IMAGES - MORE)


def _bytes(local: float, footprint: int) -> float:
    return local if local > 1 else local * footprint


def measured(out: Path) -> pl.DataFrame:
    """All cells that were run, with what was predicted of them."""
    frames = [
        pl.read_parquet(file).with_columns(program=pl.lit(file.parent.name))
        for file in sorted(out.glob("*/cells.parquet"))
    ]
    return pl.concat(frames).filter(pl.col("measured").is_not_null())
