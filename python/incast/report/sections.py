"""The report's figures: which runs, ports and jobs are drawn, and the words under the pictures."""

from dataclasses import dataclass

import polars as pl

from incast.report import charts, points, text
from incast.report.charts import Chart
from incast.report.load import Run
from incast.report.measures import foreground_flows, switch_waits, wait_quantile, waiting_by_port
from incast.report.tables import Cell, Table

DRAWN_MAX = 6
"""Runs that are drawn together; the table of choices has all."""
_PORTS_MAX = 3
_WAIT_PORTS_MAX = 5
_JOBS_MAX = 4
_OWN_SCALE = 10  # peaks further apart than this do not share an axis
_OWN_TIME = 4  # nor do runs whose lengths differ more than this
_PARTS = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "100 %"))


@dataclass(frozen=True)
class Drawn:
    """A run with the position that decides its colour everywhere."""

    run: Run
    color: int


@dataclass(frozen=True)
class Key:
    """An entry of a legend."""

    name: str
    color: int


@dataclass(frozen=True)
class Figure:
    """A chart with its title, legend and the figures behind it."""

    title: str
    charts: tuple[tuple[str, Chart], ...]
    """(heading of a panel, chart)"""
    keys: tuple[Key, ...] = ()
    note: str = ""
    table: Table | None = None


@dataclass(frozen=True)
class _Curve:
    name: str
    color: int
    points: pl.DataFrame
    total: int
    percentiles: tuple[float | None, ...]
    """The times at `_PARTS`; none where so many did not finish."""


def queues(drawn: list[Drawn]) -> list[Figure]:
    """Queue length over time at the ports where data waited longest, a panel a run."""
    series = {d.run.name: _all_classes(d.run) for d in drawn}
    return [_queue(port, drawn, series) for port in _watched(drawn, series)]


def completions(drawn: list[Drawn]) -> list[Figure]:
    """Flow completion: one run by job; several runs for all flows, then job by job."""
    flows = {d.run.name: foreground_flows(d.run) for d in drawn}
    names = list(dict.fromkeys(n for f in flows.values() for n in f["job"].unique(maintain_order=True)))
    title = "Flow completion time"
    if len(drawn) == 1:
        only = flows[drawn[0].run.name]
        curves = [
            _times(str(job), i, only.filter(pl.col("job").eq_missing(job)))
            for i, job in enumerate(names[: charts.SHAPES_MAX])
        ]
        return _cdfs(title, curves, "job")
    figures = _cdfs(title, [_times(d.run.name, d.color, flows[d.run.name]) for d in drawn], "choice")
    for job in names[:_JOBS_MAX] if len(names) > 1 else ():
        of_job = [
            _times(d.run.name, d.color, flows[d.run.name].filter(pl.col("job").eq_missing(job)))
            for d in drawn
        ]
        figures += _cdfs(f"{title}, job {job}", of_job, "choice")
    return figures


def waits(drawn: list[Drawn]) -> list[Figure]:
    """Time in queues: one run by port; several runs over all switch ports, then at the hottest."""
    histograms = {d.run.name: switch_waits(d.run) for d in drawn}
    title = "Wait in switch queues"
    if len(drawn) == 1:
        only = histograms[drawn[0].run.name]
        ports = waiting_by_port(drawn[0].run)["port"].head(_WAIT_PORTS_MAX).to_list()
        curves = [_binned("all switch ports", 0, only)]
        if len(ports) > 1:
            curves += [_binned(p, i, only.filter(pl.col("port") == p)) for i, p in enumerate(ports, start=1)]
        return _cdfs(title, curves, "port")
    figures = _cdfs(
        f"{title}, all switch ports",
        [_binned(d.run.name, d.color, histograms[d.run.name]) for d in drawn],
        "choice",
    )
    for port in _hottest([d.run for d in drawn])[:1]:
        curves = [
            _binned(d.run.name, d.color, histograms[d.run.name].filter(pl.col("port") == port)) for d in drawn
        ]
        figures += _cdfs(f"{title}, port {port}", curves, "choice")
    return figures


def _hottest(runs: list[Run]) -> list[str]:
    """Ports by their greatest share of all waiting in any run."""
    shares = pl.concat([waiting_by_port(run).select("port", "share") for run in runs])
    return (
        shares.group_by("port")
        .agg(pl.col("share").max())
        .sort("share", "port", descending=[True, False])["port"]
        .to_list()
    )


def _watched(drawn: list[Drawn], series: dict[str, pl.DataFrame]) -> list[str]:
    """Sampled ports, the hottest first; without wait figures, those with the longest queue."""
    peaks = pl.concat(
        [s.group_by("port").agg(pl.col("queue_bytes").max(), pl.col("drops").sum()) for s in series.values()]
    )
    if not peaks.height:
        return []
    ranks = {port: rank for rank, port in enumerate(_hottest([d.run for d in drawn]))}
    ordered = (
        peaks.group_by("port")
        .agg(pl.col("queue_bytes").max(), pl.col("drops").sum())
        .filter((pl.col("queue_bytes") > 0) | (pl.col("drops") > 0))
        .sort("queue_bytes", "port", descending=[True, False])["port"]
        .to_list()
    )
    return sorted(ordered, key=lambda p: ranks.get(p, len(ranks)))[:_PORTS_MAX]


def _all_classes(run: Run) -> pl.DataFrame:
    """The series over all classes together; summed where only single classes were sampled."""
    series = run.table("ports_series").drop_nulls(["port", "time_ps"])
    whole = series.filter(pl.col("class").is_null())
    if whole.height or not series.height:
        return whole.select("port", "time_ps", "queue_bytes", "drops", "marks")
    return series.group_by("port", "time_ps").agg(pl.col("queue_bytes", "drops", "marks").sum())


def _queue(port: str, drawn: list[Drawn], series: dict[str, pl.DataFrame]) -> Figure:
    samples = {n: s.filter(pl.col("port") == port) for n, s in series.items()}
    peaks = {n: _last(s.sort("queue_bytes"), "queue_bytes") for n, s in samples.items()}
    high = max(peaks.values())
    low = min((p for p in peaks.values() if p), default=0)
    ends = {n: _last(s, "time_ps") for n, s in series.items()}
    late = max(ends.values())
    own = high > _OWN_SCALE * low
    own_time = late > _OWN_TIME * min((e for e in ends.values() if e), default=0)
    panels, absent = [], []
    for d in drawn:
        name, sampled = d.run.name, samples[d.run.name]
        if not sampled.height:
            absent.append(name)
            continue
        line = points.extremes(sampled, "time_ps", "queue_bytes")
        counts = points.sums(sampled, "time_ps", ["drops", "marks"])
        top = float(peaks[name] if own else high) or 1.0
        end = float(ends[name] if own_time else late)
        chart = charts.queue(line, counts, d.color, (0.0, end), top)
        said = (
            f"peak {text.size(peaks[name])}, {text.plural(int(sampled['drops'].sum()), 'drop')}, "
            f"{text.plural(int(sampled['marks'].sum()), 'mark')}"
        )
        panels.append((f"{name}: {said}" if len(drawn) > 1 else _first_upper(said), chart))
    differ = text.listed(["queue"] * own + ["time"] * own_time)
    notes = [f"The panels differ in their scale of {differ}."] if differ and len(panels) > 1 else []
    notes += [f"Not sampled in {text.listed(absent)}."] if absent else []
    return Figure(f"Queue at {port}", tuple(panels), note=" ".join(notes))


def _times(name: str, color: int, flows: pl.DataFrame) -> _Curve:
    ended, total = flows["fct_ps"].drop_nulls(), flows.height
    whole = ended.len() == total
    reached = (
        ended.quantile(part if whole else min(1.0, part * total / ended.len()), "linear")
        if ended.len() >= part * total and total
        else None
        for part, _ in _PARTS
    )
    return _Curve(name, color, points.cdf(ended, max(total, 1)), total, tuple(reached))


def _binned(name: str, color: int, histogram: pl.DataFrame) -> _Curve:
    total = int(histogram["packets"].sum()) if histogram.height else 0
    curve = points.weighted_cdf(histogram["to_ps"], histogram["packets"])
    reached = tuple(wait_quantile(histogram, part) for part, _ in _PARTS)
    return _Curve(name, color, curve, total, reached)


def _cdfs(title: str, curves: list[_Curve], legend: str) -> list[Figure]:
    known = [c for c in curves if c.points.height]
    if not known:
        return []
    axis, counted = ("time to complete", "flows") if title.startswith("Flow") else ("wait", "packets")
    chart = charts.cdf([(c.name, c.color, c.points) for c in known], axis, legend, counted)
    keys = tuple(Key(c.name, c.color) for c in known) if len(known) > 1 else ()
    short = [c.name for c in known if c.points["part"][-1] < 1]
    note = f"A curve that ends below 100 %: not all flows finished ({text.listed(short)})." if short else ""
    head = (legend.capitalize(), counted.capitalize(), *(label for _, label in _PARTS))
    return [Figure(title, (("", chart),), keys, note, _percentiles(title, known, head))]


def _percentiles(title: str, curves: list[_Curve], head: tuple[str, ...]) -> Table:
    rows = []
    for curve in curves:
        times = (Cell("not reached" if t is None else text.time(t)) for t in curve.percentiles)
        rows.append((Cell(curve.name), Cell(text.count(curve.total)), *times))
    return Table(f"{title}: percentiles", head, tuple(rows))


def _last(frame: pl.DataFrame, column: str) -> int:
    value = frame[column].max() if frame.height else 0
    assert value is None or isinstance(value, int)
    return value or 0


def _first_upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
