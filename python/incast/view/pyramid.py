"""The samples of a run's ports over time, in levels of which each has four times longer steps.

A level has, for each port and step, the least and the longest queue and the sums of what is counted. The
page draws the level whose steps are about a pixel or a frame long. The finest level that is kept in memory,
and for long runs in the result folder, has at most `CELLS_MAX` cells; finer ones are read from the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incast.bounded import read_bytes
from incast.damage import DAMAGED
from incast.folder import PYRAMID
from incast.view import tables

CELLS_MAX = 1_000_000
"""Ports times steps of the finest level that is kept."""
MEASURES = ("queue_min", "queue", "sent", "drops", "marks", "paused")
"""What a cell has: queues in bytes, bytes sent, packets dropped and marked, picoseconds of pauses."""
COUNTED = MEASURES[2:]
FACTOR = 4
_STEPS_FEW = 128  # the coarsest level has no more steps than that
_KEPT_BYTES_MAX = 4 * len(MEASURES) * CELLS_MAX + 64_000_000  # the cells, and names of ports and files
_VERSION = 1

Cells = npt.NDArray[np.float32]
"""An array of measures by steps by ports."""


@dataclass(frozen=True)
class Level:
    """One resolution: the length of its steps, and how many there are from time 0 on."""

    step_ps: int
    steps: int


class Pyramid:
    """All levels of a run, the finest first."""

    def __init__(self, files: Sequence[Path], ports: tuple[str, ...], step_ps: int, end_ps: int) -> None:
        self._files = files
        self.ports = ports
        """The sampled ports, in the order of the cells."""
        self.levels = _levels(step_ps, end_ps, len(ports))
        fits = (n for n, each in enumerate(self.levels) if each.steps * len(ports) <= CELLS_MAX)
        self._base = next(fits, len(self.levels) - 1)
        self._kept: list[Cells] = []
        self.notes: list[str] = []

    @staticmethod
    def of(folder: Path) -> Pyramid:
        """The pyramid of a run folder; without ports where nothing was sampled."""
        files = tables.parts(folder, "ports_series")
        first, last = _times(files[:1]), _times(files[-1:])
        notes: list[str] = []
        frame = tables.collect(files[:1], {"port": pl.String()}, notes)
        ports = tuple(frame["port"].drop_nulls().unique(maintain_order=True))
        if not ports or not last.len():
            return Pyramid((), (), 1, 1)
        gaps = first.diff().drop_nulls()
        step = int(gaps.median() or 0) if gaps.len() else 0  # type: ignore[arg-type]
        pyramid = Pyramid(files, ports, max(step, 1) if gaps.len() else max(int(last[-1]), 1), int(last[-1]))
        pyramid._build(folder)
        return pyramid

    @staticmethod
    def of_cells(names: tuple[str, ...], step_ps: int, cells: Cells) -> Pyramid:
        """The pyramid of cells that are there already, at most `CELLS_MAX` subjects times steps."""
        pyramid = Pyramid((), names, step_ps, step_ps * cells.shape[1])
        pyramid._keep(cells)
        return pyramid

    def cells(self, level: int, first: int, count: int) -> Cells:
        """The cells of a range of steps, as far as the level has them."""
        count = max(0, min(count, self.levels[level].steps - first))
        if level >= self._base:
            return self._kept[level - self._base][:, first : first + count]
        step = self.levels[level].step_ps
        return self._read(step, first, count)

    def of_port(self, port: str, first_ps: int, last_ps: int, steps_max: int) -> tuple[int, int, Cells]:
        """A port's cells within a time: (first step, length of a step, measures by steps)."""
        level = self.level_for(last_ps - first_ps, steps_max)
        step = self.levels[level].step_ps
        first = max(0, first_ps // step)
        count = max(0, min(last_ps // step + 1, self.levels[level].steps) - first)
        if level >= self._base:
            found = self.cells(level, first, count)[:, :, self.ports.index(port)]
        else:
            found = self._read(step, first, count, (port,))[:, :, 0]
        return first, step, found

    def level_for(self, span_ps: int, steps_max: int) -> int:
        """The finest level that has at most so many steps in such a time."""
        fits = (n for n, each in enumerate(self.levels) if span_ps <= each.step_ps * steps_max)
        return next(fits, len(self.levels) - 1)

    @cached_property
    def _spans(self) -> dict[Path, tuple[int, int]]:
        """When each file's first and last sample were taken."""
        found = ((file, _times([file])) for file in self._files)
        return {file: (int(times[0]), int(times[-1])) for file, times in found if times.len()}

    def _build(self, folder: Path) -> None:
        """Fills the levels that are kept."""
        base = self.levels[self._base]
        key = self._key(base)
        cells = _load(folder / PYRAMID, key, (len(MEASURES), base.steps, len(self.ports)))
        if cells is None:
            cells = self._read(base.step_ps, 0, base.steps)
            if self._base and not self.notes:
                _save(folder / PYRAMID, key, cells)
        self._keep(cells)

    def _keep(self, cells: Cells) -> None:
        self._kept = [cells]
        for level in self.levels[self._base + 1 :]:
            self._kept.append(_coarser(self._kept[-1], level.steps))

    def _key(self, base: Level) -> dict[str, Any]:
        """What the kept cells were computed from."""
        stats = [(file.name, file.stat()) for file in self._files]
        parts = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
        return {"version": _VERSION, "step_ps": base.step_ps, "ports": list(self.ports), "parts": parts}

    def _read(self, step: int, first: int, count: int, ports: tuple[str, ...] = ()) -> Cells:
        """Cells computed from the tables; `ports` are all unless some are named."""
        ports = ports or self.ports
        cells = np.zeros((len(MEASURES), count, len(ports)), np.float32)
        cells[:2] = np.nan
        flat = cells.reshape(len(MEASURES), -1)
        place = {port: n for n, port in enumerate(ports)}
        for part in self._grouped(step, first, count, ports):
            column = part["port"].replace_strict(place, default=None, return_dtype=pl.Int64)
            known = part.with_columns(at=(pl.col("step") - first) * len(ports) + column).drop_nulls("at")
            at = known["at"].to_numpy()
            for measure, name in enumerate(MEASURES):
                values = known[name].to_numpy()
                join = (np.fmin, np.fmax)[measure] if measure < 2 else np.add
                flat[measure, at] = join(flat[measure, at], values)
        return cells

    def _grouped(self, step: int, first: int, count: int, ports: tuple[str, ...]) -> Iterator[pl.DataFrame]:
        """Each part of the table, its rows joined where they share a port and a step."""
        time = pl.col("time_ps")
        begin, end = first * step - (first == 0), (first + count) * step
        where = [pl.col("class").is_null(), time > begin, time <= end]
        if ports != self.ports:
            where.append(pl.col("port").is_in(ports))
        for file in (each for each, of in self._spans.items() if of[1] > begin and of[0] <= end):
            for part in tables.each_part([file], tables.PORTS_SERIES, self.notes):
                grouped = (
                    part.filter(*where)
                    .group_by("port", step=pl.max_horizontal(time - 1, 0) // step)
                    .agg(
                        queue_min=pl.col("queue_bytes").min(),
                        queue=pl.col("queue_bytes").max(),
                        sent=pl.col("sent_bytes").sum(),
                        drops=pl.col("drops").sum(),
                        marks=pl.col("marks").sum(),
                        paused=pl.col("paused_ps").sum(),
                    )
                )
                try:
                    yield grouped.with_columns(pl.col(MEASURES).cast(pl.Float32)).collect()
                except (*DAMAGED, OSError):
                    self.notes.append(f"ports_series/{file.name} could not be read; its samples are missing.")


def _levels(step_ps: int, end_ps: int, ports: int) -> tuple[Level, ...]:
    levels = []
    while True:
        steps = max(1, -(-end_ps // step_ps))
        levels.append(Level(step_ps, steps))
        if steps == 1 or (steps <= _STEPS_FEW and steps * ports <= CELLS_MAX):
            return tuple(levels)
        step_ps *= FACTOR


def _times(files: Sequence[Path]) -> pl.Series:
    """When the samples of these files were taken."""
    notes: list[str] = []
    return tables.collect(files, {"time_ps": pl.Int64()}, notes)["time_ps"].drop_nulls().unique().sort()


def _coarser(cells: Cells, steps: int) -> Cells:
    """The next level: least, longest and sums of each four steps."""
    _, before, ports = cells.shape
    wide = np.zeros((len(MEASURES), steps * FACTOR, ports), np.float32)
    wide[:2] = np.nan
    wide[:, :before] = cells
    grouped = wide.reshape(len(MEASURES), steps, FACTOR, ports)
    least = np.fmin.reduce(grouped[0], axis=1)
    longest = np.fmax.reduce(grouped[1], axis=1)
    return np.concatenate([least[None], longest[None], grouped[2:].sum(axis=2)])


def _load(file: Path, key: dict[str, Any], shape: tuple[int, ...]) -> Cells | None:
    """Cells that were kept for the same tables; none where there are none, or others."""
    with suppress(OSError, ValueError):
        head, _, body = read_bytes(file, _KEPT_BYTES_MAX).partition(b"\n")
        if json.loads(head) == key and len(body) == 4 * int(np.prod(shape)):
            return np.frombuffer(body, "<f4").reshape(shape)
    return None


def _save(file: Path, key: dict[str, Any], cells: Cells) -> None:
    """Keeps cells for the next time, where the folder can be written."""
    part = file.with_name(f".{file.name}.tmp")
    with suppress(OSError):
        part.write_bytes(json.dumps(key).encode() + b"\n" + cells.astype("<f4").tobytes())
        part.replace(file)
