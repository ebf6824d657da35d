"""Ports or walk servers over time, cells side by side on shared scales, as monitoring would show them.

Counts are sums over what the picture is of; of lengths the longest queue is drawn, with a band from the
median to the length below which 90 % are. What is peculiar to ports is here, to walk servers in `walkers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from incast import text
from incast.errors import ResultError
from incast.folder import scan
from incast.report import charts, points
from incast.report.charts import Chart
from incast.report.parts import Figure, numbered
from incast.study.axes import Cell
from incast.study.drawings import cells_of
from incast.study.figures import matches
from incast.study.model import Picture
from incast.study.outcome import Outcome
from incast.study.page import walkers
from incast.study.page.drawing import Drawing, command, short
from incast.study.run import Done

_BUCKETS = 300  # a chart has at most so many points a curve
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
    """(`time_ps`, `part`, counters, lengths) of the picture's subject; `part` is a port or a server."""

    @property
    def end(self) -> int:
        """The last sample's time."""
        return int(self.samples["time_ps"].max() or 1)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Lengths:
    """What has a length: a line for the longest, a band for what the others are like."""

    title: str
    kind: str
    """As `charts.lines` has it: a kind, or a unit."""
    of: str
    longest: str


@dataclass(frozen=True)
class _Counts:
    """What is counted: a curve a column, each with its name."""

    title: str
    unit: str
    columns: dict[str, str]


def pictures(outcome: Outcome, out: Path) -> list[Drawing]:
    """All pictures of the study."""
    return [_picture(each, outcome, out) for each in outcome.study.model.pictures]


def _picture(picture: Picture, outcome: Outcome, out: Path) -> Drawing:
    study = outcome.study
    cells = cells_of(picture, study.model, study.cells)
    first = {each.run.cell: each for each in reversed(outcome.done)}
    missing = [cell for cell in cells if cell not in first]
    sampled = [s for cell in cells if cell in first and (s := _read(first[cell], picture)).samples.height]
    silent = [c.name for c in cells if c in first and c not in [s.cell for s in sampled]]
    said = []
    if missing:
        said.append(f"Not run here: {text.listed([cell.name for cell in missing])}.")
    if silent:
        source = "measure.interval" if picture.servers else "measure.interval and measure.ports"
        said.append(
            f"No samples of {text.listed(picture.of)} in {text.listed(silent)}: they come from {source}."
        )
    run = command(study, out, cells, seeds=1) if missing else ""
    title = f"{picture.place[:1].upper()}{picture.place[1:]}: {picture.text}".removesuffix(": ")
    figure = _figure(title, picture, sampled) if sampled else Figure(title, ())
    return Drawing(picture, figure, " ".join(said), run)


def _read(done: Done, picture: Picture) -> _Samples:
    """The samples of what the picture is of."""
    try:
        read = walkers.samples if picture.servers else _ports
        return _Samples(done.run.cell, done.run.seed, read(done.folder, picture.of))
    except ResultError:
        return _Samples(done.run.cell, done.run.seed, pl.DataFrame())


def _ports(folder: Path, ports: Sequence[str]) -> pl.DataFrame:
    """The samples of these ports, all classes together."""
    rates = scan(folder, "ports").select(pl.col("port", "rate_bps"))
    series = scan(folder, "ports_series").filter(pl.col("class").is_null() & matches("port", list(ports)))
    latency = pl.col("queue_bytes") * 8e12 / pl.col("rate_bps")
    return (
        series.join(rates, on="port", how="left").with_columns(latency=latency, part=pl.col("port")).collect()
    )


def _figure(title: str, picture: Picture, sampled: Sequence[_Samples]) -> Figure:
    ends = [each.end for each in sampled]
    end = min(max(ends), _LONGEST * min(ends))
    common, names = short([each.cell for each in sampled])
    panels: list[tuple[str, Chart]] = []
    zero = []
    shown = [_shown(picture, show, sampled) for show in picture.show]
    for each in shown:
        draw = (
            _lengths(each, sampled, names, end)
            if isinstance(each, _Lengths)
            else _counts(each, sampled, names, end)
        )
        panels += draw
        if not draw:
            zero.append(each.title)
    notes = [_of(picture, shown, sampled, common)]
    if "latency" in picture.show:
        notes.append(
            "Transmit latency is the queue by the link's rate: the wait of a packet that comes then."
        )
    if zero:
        notes.append(f"Zero all the time: {text.listed(zero)}.")
    if late := [name for name, last in zip(names, ends, strict=True) if last > end]:
        notes.append(f"Not shown: what comes later in {text.listed(late)}.")
    columns = len(sampled) if len(sampled) <= 3 else 2 if len(sampled) == 4 else 3
    legends = [
        numbered(each.columns.values())
        for each in shown
        if isinstance(each, _Counts) and len(each.columns) > 1
    ]
    return Figure(title, tuple(panels), legends[0] if legends else (), " ".join(notes), columns=columns)


def _shown(picture: Picture, show: str, sampled: Sequence[_Samples]) -> _Lengths | _Counts:
    """What one of the words means, of ports or of servers."""
    if not picture.servers:
        if show in _LENGTHS:
            column, title, kind = _LENGTHS[show]
            return _Lengths(title, kind, column, column)
        column, title = _COUNTED[show]
        return _Counts(title, "packets", {column: title})
    if show == "queue":
        title, unit = walkers.QUEUE
        return _Lengths(title, unit, "queue", "longest")
    if show == "drops":
        return _Counts(*walkers.DROPS, walkers.reasons([each.samples for each in sampled]))
    return _Counts(*walkers.SLEEPS, {"sleeps": "sleeps"})


def _of(
    picture: Picture, shown: Sequence[_Lengths | _Counts], sampled: Sequence[_Samples], common: str
) -> str:
    """What the picture is of, and how to read it."""
    parts = max(each.samples["part"].n_unique() for each in sampled)
    kind = "server" if picture.servers else "port"
    seeds = dict.fromkeys(f"seed {each.seed}" for each in sampled)
    of = ", ".join([*([common] if common else []), *seeds, text.plural(parts, kind)])
    said = [f"Of {of} ({', '.join(picture.of)})."]
    if counted := [each.title for each in shown if isinstance(each, _Counts)]:
        said.append(f"All {kind}s together: {text.listed(counted)}.")
    if lengths := [each.title for each in shown if isinstance(each, _Lengths)]:
        said.append(
            f"By {kind}: {text.listed(lengths)}; the line is the longest of any, the band reaches from the "
            "median to 90 %."
        )
    return " ".join(said)


def _counts(
    shown: _Counts, sampled: Sequence[_Samples], names: Sequence[str], end: int
) -> list[tuple[str, Chart]]:
    """One panel per cell: the total count per second; nothing if all is zero."""
    columns = list(shown.columns)
    rates = [
        points.rates(
            each.samples.group_by("time_ps").agg(pl.col(columns).sum()), "time_ps", columns, end, _BUCKETS
        )
        for each in sampled
        if columns
    ]
    top = max((_top(rates, column) for column in columns), default=0.0)
    panels = []
    for name, rate in zip(names, rates, strict=bool(rates)):
        said = shown.columns if len(columns) > 1 else {columns[0]: name}
        curves = [(said[column], i, rate.select("time_ps", y=column)) for i, column in enumerate(columns)]
        legend = "reason" if len(columns) > 1 else "cell"
        panels.append(
            (name, charts.lines(curves, (shown.title, shown.unit), legend, end, steps=True, top=top))
        )
    return panels if top else []


def _lengths(
    shown: _Lengths, sampled: Sequence[_Samples], names: Sequence[str], end: int
) -> list[tuple[str, Chart]]:
    """One panel per cell: the maximum and the band; nothing if all is zero."""
    found = [_spread(each.samples, shown, end) for each in sampled]
    top = _top(found, "y")
    return [
        (name, charts.lines([(name, 0, each)], (shown.title, shown.kind), "cell", end, top=top, band=each))
        for name, each in zip(names, found, strict=True)
        if top
    ]


def _spread(samples: pl.DataFrame, shown: _Lengths, end: int) -> pl.DataFrame:
    """(`time_ps`, `y`, `low`, `high`): maximum, median, 90 % over all samples of each span of time."""
    width = max(1, -(-(end + 1) // _BUCKETS))
    return (
        samples.filter(pl.col("time_ps") <= end)
        .group_by(pl.col("time_ps") // width)
        .agg(
            pl.col("time_ps").last().alias("last"),
            pl.col(shown.longest).max().alias("y"),
            pl.col(shown.of).quantile(0.5, "linear").alias("low"),
            pl.col(shown.of).quantile(0.9, "linear").alias("high"),
        )
        .select(pl.col("last").alias("time_ps"), "y", "low", "high")
        .sort("time_ps")
    )


def _top(frames: Sequence[pl.DataFrame], column: str) -> float:
    return max((float(each[column].max() or 0) for each in frames), default=0.0)  # type: ignore[arg-type]
