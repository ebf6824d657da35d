"""The report's figures: which runs, ports and jobs are drawn, and the words under the pictures."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from incast.report import charts, points, text
from incast.report.charts import Chart
from incast.report.load import Run
from incast.report.measures import switch_waits, timed_flows, wait_quantile, waiting_by_port
from incast.report.tables import Cell, Table

DRAWN_MAX = 6
"""Runs that are drawn together; the table of choices has all."""
_PORTS_MAX = 3
_WAIT_PORTS_MAX = 5
_JOBS_MAX = 4
_OWN_SCALE = 10  # peaks further apart than this do not share an axis
_OWN_TIME = 4  # nor do runs whose lengths differ more than this
# What curves are of, by how their titles begin: the axis, and what is counted.
_AXES = {"Flow": ("time to complete", "flows"), "Page": ("latency", "faults"), "Wait": ("wait", "packets")}
_PARTS = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "100 %"))


@dataclass(frozen=True)
class Drawn:
    """A run with the position that decides its colour everywhere."""

    run: Run
    color: int
    seeds: tuple[Run, ...] = ()
    """The choice's other runs, one a seed."""


@dataclass(frozen=True)
class Key:
    """An entry of a legend."""

    name: str
    color: int
    block: bool = False
    """Drawn as an area, not as a line."""


@dataclass(frozen=True)
class Figure:
    """A chart with its title, legend and the figures behind it."""

    title: str
    charts: tuple[tuple[str, Chart], ...]
    """(heading of a panel, chart)"""
    keys: tuple[Key, ...] = ()
    note: str = ""
    table: Table | None = None
    columns: int = 1
    """So many charts stand side by side where there is room."""


@dataclass(frozen=True)
class Section:
    """A part of the page that a kind of job has for itself."""

    id: str
    title: str
    figures: list[Figure]
    folded: bool = False
    """Only the first figure is open."""


@dataclass(frozen=True)
class _Curve:
    name: str
    color: int
    points: pl.DataFrame
    total: int
    percentiles: tuple[float | None, ...]
    """The times at `_PARTS`; none where so many did not finish."""
    others: tuple["_Curve", ...] = ()
    """The same of the other seeds."""


def queues(drawn: list[Drawn]) -> list[Figure]:
    """Queue length over time at the ports where data waited longest, a panel a run."""
    series = {d.run.name: all_classes(d.run) for d in drawn}
    return [_queue(port, drawn, series) for port in watched(drawn, series)]


def completions(drawn: list[Drawn]) -> list[Figure]:
    """Flow completion: one run by job; several runs for all flows, then job by job."""
    flows = {run.folder: timed_flows(run) for d in drawn for run in (d.run, *d.seeds)}
    first = [flows[d.run.folder] for d in drawn]
    names = list(dict.fromkeys(n for f in first for n in f["job"].unique(maintain_order=True)))
    title = "Flow completion time"

    def curve(d: Drawn, name: str, color: int, kept: pl.Expr) -> _Curve:
        return _over_seeds(d, lambda run: _times(name, color, flows[run.folder].filter(kept)))

    def of_job(job: str | None) -> pl.Expr:
        return pl.col("job").eq_missing(pl.lit(job))

    if len(drawn) == 1:
        shown = names[: charts.SHAPES_MAX]
        return _cdfs(title, [curve(drawn[0], str(job), i, of_job(job)) for i, job in enumerate(shown)], "job")
    figures = _cdfs(title, [curve(d, d.run.name, d.color, pl.lit(True)) for d in drawn], "choice")
    for job in names[:_JOBS_MAX] if len(names) > 1 else ():
        curves = [curve(d, d.run.name, d.color, of_job(job)) for d in drawn]
        figures += _cdfs(f"{title}, job {job}", curves, "choice")
    return figures


def waits(drawn: list[Drawn]) -> list[Figure]:
    """Time in queues: one run by port; several runs over all switch ports, then at the hottest."""
    histograms = {run.folder: switch_waits(run) for d in drawn for run in (d.run, *d.seeds)}
    title = "Wait in switch queues"

    def curve(d: Drawn, name: str, color: int, port: str | None = None) -> _Curve:
        kept = pl.lit(True) if port is None else pl.col("port") == port
        return _over_seeds(d, lambda run: _binned(name, color, histograms[run.folder].filter(kept)))

    if len(drawn) == 1:
        ports = waiting_by_port(drawn[0].run)["port"].head(_WAIT_PORTS_MAX).to_list()
        curves = [curve(drawn[0], "all switch ports", 0)]
        if len(ports) > 1:
            curves += [curve(drawn[0], p, i, p) for i, p in enumerate(ports, start=1)]
        return _cdfs(title, curves, "port")
    whole = [curve(d, d.run.name, d.color) for d in drawn]
    figures = _cdfs(f"{title}, all switch ports", whole, "choice")
    for port in _hottest([d.run for d in drawn])[:1]:
        curves = [curve(d, d.run.name, d.color, port) for d in drawn]
        figures += _cdfs(f"{title}, port {port}", curves, "choice")
    return figures


def latencies(drawn: list[Drawn]) -> list[Figure]:
    """How long faults wait that fetch pages: one run by program, several over all of each."""
    found = {
        run.folder: run.table("faults").filter(pl.col("fetched") > 0).rename({"latency_ps": "fct_ps"})
        for d in drawn
        for run in (d.run, *d.seeds)
    }

    def curve(d: Drawn, name: str, color: int, kept: pl.Expr) -> _Curve:
        return _over_seeds(d, lambda run: _times(name, color, found[run.folder].filter(kept)))

    title = "Page fault latency"
    if len(drawn) > 1:
        return _cdfs(title, [curve(d, d.run.name, d.color, pl.lit(True)) for d in drawn], "choice")
    programs = found[drawn[0].run.folder].select("job", "host").unique(maintain_order=True).rows()
    shown = programs[: charts.SHAPES_MAX]
    curves = [
        curve(drawn[0], f"{job} on {host}", i, (pl.col("job") == job) & (pl.col("host") == host))
        for i, (job, host) in enumerate(shown)
    ]
    return _cdfs(title, curves, "program")


def _over_seeds(d: Drawn, curve: Callable[[Run], _Curve]) -> _Curve:
    """The curve of the drawn run, with those of the other seeds."""
    return replace(curve(d.run), others=tuple(curve(run) for run in d.seeds))


def _hottest(runs: list[Run]) -> list[str]:
    """Ports by their greatest share of all waiting in any run."""
    shares = pl.concat([waiting_by_port(run).select("port", "share") for run in runs])
    return (
        shares.group_by("port")
        .agg(pl.col("share").max())
        .sort("share", "port", descending=[True, False])["port"]
        .to_list()
    )


def watched(drawn: list[Drawn], series: dict[str, pl.DataFrame]) -> list[str]:
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


def all_classes(run: Run) -> pl.DataFrame:
    """The series over all classes together; summed where only single classes were sampled."""
    series = run.table("ports_series").drop_nulls(["port", "time_ps"])
    whole = series.filter(pl.col("class").is_null())
    if whole.height or not series.height:
        return whole
    counted = pl.exclude("port", "time_ps", "class")
    return series.group_by("port", "time_ps", maintain_order=True).agg(counted.sum())


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


def _percentiles(title: str, curves: list[_Curve], head: tuple[str, ...]) -> Table:
    rows = []
    for curve in curves:
        times = [_reached(curve, position) for position in range(len(_PARTS))]
        rows.append((Cell(curve.name), Cell(text.count(curve.total)), *times))
    return Table(f"{title}: percentiles", head, tuple(rows))


def _reached(curve: _Curve, position: int) -> Cell:
    """The time of a percentile, and its range over the seeds."""
    time = curve.percentiles[position]
    shown = "not reached" if time is None else text.time(time)
    seeds = [each.percentiles[position] for each in (curve, *curve.others)]
    known = [each for each in seeds if each is not None]
    if len(seeds) == 1 or not known:
        return Cell(shown)
    short = f"{len(seeds) - len(known)} not" if len(known) < len(seeds) else ""
    return Cell(shown, ", ".join(filter(None, (text.span(min(known), max(known), text.time), short))))


def _last(frame: pl.DataFrame, column: str) -> int:
    value = frame[column].max() if frame.height else 0
    assert value is None or isinstance(value, int)
    return value or 0


def _first_upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
