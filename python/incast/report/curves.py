"""Distributions as curves: how many flows, faults or packets took how long, over the seeds of a choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.parts import Cell, Drawn, Figure, Key, Table
from incast.report.points import wait_quantile
from incast.report.run import Run

# What curves are of, by how their titles begin: the axis, and what is counted.
_AXES = {"Flow": ("time to complete", "flows"), "Page": ("latency", "faults"), "Wait": ("wait", "packets")}
_PARTS = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "100 %"))

Part: TypeAlias = tuple[str, int, pl.Expr]
"""A curve's name and colour, and which rows it is of."""


@dataclass(frozen=True)
class Curve:
    """The curve of a drawn run, or of a part of it."""

    name: str
    color: int
    points: pl.DataFrame
    total: int
    percentiles: tuple[float | None, ...]
    """The times at `_PARTS`; none where so many did not finish."""
    others: tuple[Curve, ...] = ()
    """The same of the other seeds."""


def over_seeds(
    d: Drawn,
    read: Callable[[Run], pl.DataFrame],
    curve: Callable[[str, int, pl.DataFrame], Curve],
    parts: list[Part],
) -> list[Curve]:
    """The curve of each part of what is read of the drawn run, with those of the other seeds.

    One seed at a time is in memory: there may be hundreds, each with millions of flows.
    """

    def curves(run: Run) -> list[Curve]:
        rows = read(run)
        return [curve(name, color, rows.filter(kept)) for name, color, kept in parts]

    found = zip(*map(curves, (d.run, *d.seeds)), strict=True)
    return [replace(first, others=tuple(others)) for first, *others in found]


def by_choice(
    drawn: list[Drawn],
    read: Callable[[Run], pl.DataFrame],
    curve: Callable[[str, int, pl.DataFrame], Curve],
    parts: dict[str, pl.Expr],
) -> list[Figure]:
    """A figure for each part, by its title, with a curve of each choice."""
    curves = (
        over_seeds(d, read, curve, [(d.run.name, d.color, kept) for kept in parts.values()]) for d in drawn
    )
    by_part = zip(parts, zip(*curves, strict=True), strict=True)
    return [figure for title, each in by_part for figure in cdfs(title, list(each), "choice")]


def times(name: str, color: int, flows: pl.DataFrame) -> Curve:
    """How long flows took (`fct_ps`); one that did not finish took longer than any other."""
    ended, total = flows["fct_ps"].drop_nulls(), flows.height
    whole = ended.len() == total
    reached = (
        ended.quantile(part if whole else min(1.0, part * total / ended.len()), "linear")
        if ended.len() >= part * total and total
        else None
        for part, _ in _PARTS
    )
    return Curve(name, color, points.cdf(ended, max(total, 1)), total, tuple(reached))


def binned(name: str, color: int, histogram: pl.DataFrame) -> Curve:
    """How long packets waited, from bins (`to_ps`, `packets`)."""
    total = int(histogram["packets"].sum()) if histogram.height else 0
    curve = points.weighted_cdf(histogram["to_ps"], histogram["packets"])
    reached = tuple(wait_quantile(histogram, part) for part, _ in _PARTS)
    return Curve(name, color, curve, total, reached)


def cdfs(title: str, curves: list[Curve], legend: str) -> list[Figure]:
    """One figure of all curves that have points, with their percentiles; none without such a curve."""
    known = [c for c in curves if c.points.height]
    if not known:
        return []
    axis, counted = next(words for begin, words in _AXES.items() if title.startswith(begin))
    bands = [
        (c.name, c.color, points.band([c.points, *(o.points for o in c.others)])) for c in known if c.others
    ]
    shown = [(c.name, c.color, c.points) for c in known]
    chart = charts.cdf(shown, axis, legend, counted, [each for each in bands if each[2].height])
    keys = tuple(Key(c.name, c.color) for c in known) if len(known) > 1 else ()
    short = [c.name for c in known if c.points["part"][-1] < 1]
    notes = (
        [f"A curve that ends below 100 %: not all flows finished ({text.listed(short)})."] if short else []
    )
    seeds = 1 + max(len(c.others) for c in known)
    notes += [f"Lines are the first seed, bands the range over {seeds} seeds."] if bands else []
    head = (legend.capitalize(), counted.capitalize(), *(label for _, label in _PARTS))
    return [Figure(title, (("", chart),), keys, " ".join(notes), _percentiles(title, known, head))]


def _percentiles(title: str, curves: list[Curve], head: tuple[str, ...]) -> Table:
    rows = []
    for curve in curves:
        times = [_reached(curve, position) for position in range(len(_PARTS))]
        rows.append((Cell(curve.name), Cell(text.count(curve.total)), *times))
    return Table(f"{title}: percentiles", head, tuple(rows))


def _reached(curve: Curve, position: int) -> Cell:
    """The time of a percentile, and its range over the seeds."""
    time = curve.percentiles[position]
    shown = "not reached" if time is None else text.time(time)
    seeds = [each.percentiles[position] for each in (curve, *curve.others)]
    known = [each for each in seeds if each is not None]
    if len(seeds) == 1 or not known:
        return Cell(shown)
    short = f"{len(seeds) - len(known)} not" if len(known) < len(seeds) else ""
    return Cell(shown, ", ".join(filter(None, (text.span(min(known), max(known), text.time), short))))
