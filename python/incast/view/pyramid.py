"""The samples of a run over time, in levels of which each has four times longer steps.

A level has, for each port and step, the least and the longest queue and the sums of what is counted. The page
draws the level whose steps are about a pixel or a frame long. For simulated networks the core computes all
levels but the two finest (`crates/record/src/levels.rs`); here the rows that are asked for, of a level or the
samples, become an array. Samples of programs on real hosts are few, and their levels stay in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from incast.view import sampled
from incast.view.sampled import Part

CELLS_MAX = 1_000_000
"""Ports times steps that one answer carries, unless a single step has more."""
MEASURES = ("queue_min", "queue", "sent", "drops", "marks", "paused")
"""What a cell has: queues in bytes, bytes sent, packets dropped and marked, picoseconds of pauses."""
_JOINED = (np.fmin, np.fmax, np.add, np.add, np.add, np.add)
_FACTOR = 4
_STEPS_FEW = 128  # the coarsest level has no more steps than that

Cells = npt.NDArray[np.float32]
"""An array of measures by steps by ports."""


@dataclass(frozen=True)
class Level:
    """One resolution: the length of its steps, and how many there are from time 0 on."""

    step_ps: int
    steps: int


class Pyramid(ABC):
    """All levels of a run, the finest first."""

    def __init__(self, ports: tuple[str, ...], step_ps: int, end_ps: int, notes: list[str]) -> None:
        self.ports = ports
        """The sampled ports, in the order of the cells."""
        self.levels = _levels(step_ps, end_ps, len(ports))
        self.notes = notes

    def cells(self, level: int, first: int, count: int) -> Cells:
        """The cells of a range of steps, as far as the level has them."""
        return self._read(level, first, self._within(level, first, count), self.ports)

    def of_port(self, port: str, first_ps: int, last_ps: int, steps_max: int) -> tuple[int, int, Cells]:
        """A port's cells within a time: (first step, length of a step, measures by steps)."""
        level = self.level_for(last_ps - first_ps, steps_max)
        step = self.levels[level].step_ps
        first = max(0, first_ps // step)
        count = self._within(level, first, last_ps // step + 1 - first)
        return first, step, self._read(level, first, count, (port,))[:, :, 0]

    def level_for(self, span_ps: int, steps_max: int) -> int:
        """The finest level that has at most so many steps in such a time."""
        fits = (n for n, each in enumerate(self.levels) if span_ps <= each.step_ps * steps_max)
        return next(fits, len(self.levels) - 1)

    def _within(self, level: int, first: int, count: int) -> int:
        return max(0, min(count, self.levels[level].steps - first))

    @abstractmethod
    def _read(self, level: int, first: int, count: int, ports: tuple[str, ...]) -> Cells:
        """Cells of these ports; NaN as queues of steps that have none."""


class Kept(Pyramid):
    """The levels of cells that are in memory: those of the finest level."""

    def __init__(self, names: tuple[str, ...], step_ps: int, cells: Cells) -> None:
        super().__init__(names, step_ps, step_ps * cells.shape[1], [])
        self._cells = [cells]
        for level in self.levels[1:]:
            self._cells.append(_coarser(self._cells[-1], level.steps))

    def _read(self, level: int, first: int, count: int, ports: tuple[str, ...]) -> Cells:
        found = self._cells[level][:, first : first + count]
        return found if ports == self.ports else found[:, :, [self.ports.index(each) for each in ports]]


class Stored(Pyramid):
    """The levels of a run's tables, read when they are asked for."""

    def __init__(self, parts: Sequence[Part], interval_ps: int, notes: list[str]) -> None:
        end = max((part.end_ps for part in parts), default=1)
        super().__init__(sampled.names(parts, notes), interval_ps, end, notes)
        self._parts = parts

    @staticmethod
    def of(folder: Path) -> Stored:
        """The pyramid of a run folder; without ports where nothing was sampled."""
        notes: list[str] = []
        return Stored(*sampled.parts(folder, notes), notes)

    def _read(self, level: int, first: int, count: int, ports: tuple[str, ...]) -> Cells:
        step = self.levels[level].step_ps
        cells = np.zeros((len(MEASURES), count, len(ports)), np.float32)
        cells[:2] = np.nan
        flat = cells.reshape(len(MEASURES), -1)
        begin, end = first * step, (first + count) * step
        time = pl.col("time_ps").cast(pl.Int64)
        # Time 0 belongs to the first step.
        where = [time > begin - (first == 0), time <= end]
        if ports != self.ports:
            where.append(pl.col("port").is_in(ports))
        within = [part for part in self._parts if part.end_ps >= begin and part.begin_ps <= end]
        for rows in sampled.readable(within, step, self.notes, *where):
            placed = rows.select(
                pl.col(sampled.MEASURED).cast(pl.Float32),
                at=(pl.max_horizontal(time - 1, 0) // step - first) * len(ports) + _number(ports),
            ).drop_nulls("at")
            at = placed["at"].to_numpy()
            for measure, (name, join) in enumerate(zip(sampled.MEASURED, _JOINED, strict=True)):
                join.at(flat[measure], at, placed[name].to_numpy())
        return cells


def _number(ports: tuple[str, ...]) -> pl.Expr:
    """The position of a row's port among these; null for others."""
    place = {port: number for number, port in enumerate(ports)}
    return pl.col("port").cast(pl.String).replace_strict(place, default=None, return_dtype=pl.Int64)


def _levels(step_ps: int, end_ps: int, ports: int) -> tuple[Level, ...]:
    levels = []
    while True:
        steps = max(1, -(-end_ps // step_ps))
        levels.append(Level(step_ps, steps))
        if steps == 1 or (steps <= _STEPS_FEW and steps * ports <= CELLS_MAX):
            return tuple(levels)
        step_ps *= _FACTOR


def _coarser(cells: Cells, steps: int) -> Cells:
    """The next level: least, longest and sums of each four steps."""
    _, before, ports = cells.shape
    wide = np.zeros((len(MEASURES), steps * _FACTOR, ports), np.float32)
    wide[:2] = np.nan
    wide[:, :before] = cells
    grouped = wide.reshape(len(MEASURES), steps, _FACTOR, ports)
    least = np.fmin.reduce(grouped[0], axis=1)
    longest = np.fmax.reduce(grouped[1], axis=1)
    return np.concatenate([least[None], longest[None], grouped[2:].sum(axis=2)])
