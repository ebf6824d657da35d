"""Ports over time, cells side by side on shared scales, as an operator's monitoring would show them.

Counts are sums over the picture's ports; of lengths the longest queue is drawn, with a band from the median
port to the one below which 90 % are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from incast.errors import ResultError
from incast.report import charts, points, text
from incast.report.charts import Chart
from incast.report.sections import Figure
from incast.study.axes import Cell
from incast.study.drawings import cells_of
from incast.study.figures import matches
from incast.study.model import Picture
from incast.study.outcome import Outcome
from incast.study.page.drawing import Drawing, command, short
from incast.study.run import Done
from incast.summary import scan

_BUCKETS = 300  # a chart has at most two curves and a band of so many points
_LONGEST = 2  # the axis ends so many times after the shortest run's end
_COUNTED = {
    "drops": ("out_discards", "queue drops"),
    "out_discards": ("out_discards", "out discards"),
    "in_discards": ("in_discards", "in discards"),
    "marks": ("marks", "ECN marks"),
    "pause": ("pause_sent", "PAUSE sent"),
}
_LENGTHS = {
    "queue": ("queue_bytes", "queue length", "size"),
    "latency": ("latency", "transmit latency", "time"),
}


@dataclass(frozen=True)
class _Samples:
    """The samples of a cell's first seed."""

    cell: Cell
    seed: int
    samples: pl.DataFrame
    """(`time_ps`, `port`, counters, `queue_bytes`, `latency`) of the picture's ports."""

    @property
    def end(self) -> int:
        """The last sample's time."""
        return int(self.samples["time_ps"].max() or 1)  # type: ignore[arg-type]


def pictures(outcome: Outcome, out: Path) -> list[Drawing]:
    """All pictures of the study."""
    return [_picture(each, outcome, out) for each in outcome.study.model.pictures]


def _picture(picture: Picture, outcome: Outcome, out: Path) -> Drawing:
    study = outcome.study
    cells = cells_of(picture, study.model, study.cells)
    first = {each.run.cell: each for each in reversed(outcome.done)}
    missing = [cell for cell in cells if cell not in first]
    sampled = [
        s for cell in cells if cell in first and (s := _read(first[cell], picture.ports)).samples.height
    ]
    silent = [c.name for c in cells if c in first and c not in [s.cell for s in sampled]]
    said = []
    if missing:
        said.append(f"Not run: {text.listed([cell.name for cell in missing])}.")
    if silent:
        said.append(
            f"No samples of {text.listed(picture.ports)} in {text.listed(silent)}: "
            "they come from measure.interval and measure.ports."
        )
    run = command(study, out, cells, seeds=1) if missing else ""
    title = f"{picture.place[:1].upper()}{picture.place[1:]}: {picture.text}".removesuffix(": ")
    figure = _figure(title, picture, sampled) if sampled else Figure(title, ())
    return Drawing(picture, figure, " ".join(said), run)


def _read(done: Done, ports: Sequence[str]) -> _Samples:
    """The samples of these ports, all classes together."""
    try:
        rates = scan(done.folder, "ports").select(pl.col("port", "rate_bps"))
        series = scan(done.folder, "ports_series").filter(
            pl.col("class").is_null() & matches("port", list(ports))
        )
        samples = series.join(rates, on="port", how="left").with_columns(
            latency=pl.col("queue_bytes") * 8e12 / pl.col("rate_bps")
        )
        return _Samples(done.run.cell, done.run.seed, samples.collect())
    except ResultError:
        return _Samples(done.run.cell, done.run.seed, pl.DataFrame())


def _figure(title: str, picture: Picture, sampled: Sequence[_Samples]) -> Figure:
    ends = [each.end for each in sampled]
    end = min(max(ends), _LONGEST * min(ends))
    common, names = short([each.cell for each in sampled])
    panels: list[tuple[str, Chart]] = []
    zero = []
    for show in picture.show:
        drawn = (
            _lengths(show, sampled, names, end) if show in _LENGTHS else _counts(show, sampled, names, end)
        )
        panels += drawn
        if not drawn:
            zero.append(_LENGTHS[show][1] if show in _LENGTHS else _COUNTED[show][1])
    notes = [_of(picture, sampled, common)]
    if "latency" in picture.show:
        notes.append(
            "Transmit latency is the queue by the link's rate: the wait of a packet that comes then."
        )
    if zero:
        notes.append(f"Zero all the time: {text.listed(zero)}.")
    if late := [name for name, last in zip(names, ends, strict=True) if last > end]:
        notes.append(f"Not shown: what comes later in {text.listed(late)}.")
    columns = len(sampled) if len(sampled) <= 3 else 2 if len(sampled) == 4 else 3
    return Figure(title, tuple(panels), note=" ".join(notes), columns=columns)


def _of(picture: Picture, sampled: Sequence[_Samples], common: str) -> str:
    """What the picture is of, and how to read it."""
    ports = max(each.samples["port"].n_unique() for each in sampled)
    seeds = dict.fromkeys(f"seed {each.seed}" for each in sampled)
    of = ", ".join([*([common] if common else []), *seeds, text.plural(ports, "port")])
    said = [f"Of {of} ({', '.join(picture.ports)})."]
    if counted := [_COUNTED[show][1] for show in picture.show if show in _COUNTED]:
        said.append(f"All ports together: {text.listed(counted)}.")
    if lengths := [_LENGTHS[show][1] for show in picture.show if show in _LENGTHS]:
        said.append(
            f"By port: {text.listed(lengths)}; the line is the longest of any, the band reaches from the "
            "median to 90 %."
        )
    return " ".join(said)


def _counts(
    show: str, sampled: Sequence[_Samples], names: Sequence[str], end: int
) -> list[tuple[str, Chart]]:
    """A panel a cell: what was counted in all ports, a second; nothing where all is zero."""
    column, title = _COUNTED[show]
    rates = [
        points.rates(
            each.samples.group_by("time_ps").agg(pl.col(column).sum()), "time_ps", [column], end, _BUCKETS
        ).select("time_ps", y=column)
        for each in sampled
    ]
    top = _top(rates, "y")
    return [
        (name, charts.lines([(name, 0, rate)], (title, "packets"), "cell", end, steps=True, top=top))
        for name, rate in zip(names, rates, strict=True)
        if top
    ]


def _lengths(
    show: str, sampled: Sequence[_Samples], names: Sequence[str], end: int
) -> list[tuple[str, Chart]]:
    """A panel a cell: the longest, and the band; nothing where all is zero."""
    column, title, kind = _LENGTHS[show]
    found = [_spread(each.samples, column, end) for each in sampled]
    top = _top(found, "y")
    return [
        (name, charts.lines([(name, 0, each)], (title, kind), "cell", end, top=top, band=each))
        for name, each in zip(names, found, strict=True)
        if top
    ]


def _spread(samples: pl.DataFrame, column: str, end: int) -> pl.DataFrame:
    """(`time_ps`, `y`, `low`, `high`): maximum, median, 90 % over ports and samples of each span of time."""
    width = max(1, -(-(end + 1) // _BUCKETS))
    return (
        samples.filter(pl.col("time_ps") <= end)
        .group_by(pl.col("time_ps") // width)
        .agg(
            pl.col("time_ps").last().alias("last"),
            pl.col(column).max().alias("y"),
            pl.col(column).quantile(0.5, "linear").alias("low"),
            pl.col(column).quantile(0.9, "linear").alias("high"),
        )
        .select(pl.col("last").alias("time_ps"), "y", "low", "high")
        .sort("time_ps")
    )


def _top(frames: Sequence[pl.DataFrame], column: str) -> float:
    return max((float(each[column].max() or 0) for each in frames), default=0.0)  # type: ignore[arg-type]
