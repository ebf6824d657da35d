"""Pictures of a result in one call, for notebooks and scripts: `Result.plot`.

Not here: the report, whose pictures share the page's data and style (`incast.report`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import polars as pl

from incast import metrics
from incast.contrast import means
from incast.errors import ResultError
from incast.extras import extra
from incast.frames import readable
from incast.hints import unknown
from incast.kinds import traits
from incast.metric import Metric
from incast.report import points
from incast.samples import Summarised, Way, by_choice, samples

if TYPE_CHECKING:
    import altair as alt

_COMPLETION, _QUEUE = "fct", "queue"
_UNITS = {"_ms": "ms", "_gbps": "Gb/s", "_bytes": "bytes", "_percent": "%"}
"""Units of axes, by the ends of columns' names."""
_SPANS = 120
"""Spans of time of a queue's line, of each of which its extremes are drawn."""


class Run(Summarised, Protocol):
    """What is drawn of a run: its figures and its tables."""

    def scan(self, table: str) -> pl.LazyFrame:
        """A table of it."""


def draw(runs: Sequence[Run], what: str, port: str | None) -> alt.Chart | alt.LayerChart:
    """The picture that `Result.plot` describes; raises `ResultError` where there is nothing to draw."""
    with extra("report"):
        import altair  # noqa: F401 - refused before any table is read
    if what == _COMPLETION:
        return _completion(runs)
    if what == _QUEUE:
        return _queue(runs, port)
    found = metrics.find(what)
    jobs = list(dict.fromkeys(job for run in runs for job in run.summary.get("jobs", {})))
    if found is None or (found[0][0] == "jobs" and found[0][1] not in jobs):
        known = [metrics.DONE.name, _COMPLETION, _QUEUE, *metrics.names(jobs)]
        raise ResultError(unknown("a picture", what, dict.fromkeys(known)))
    return _figure(runs, *found)


def _figure(runs: Sequence[Run], way: Way, metric: Metric) -> alt.LayerChart:
    """A bar for each choice, the mean that `incast run` shows, and a dot for each of its runs."""
    import altair as alt

    found = {name: samples(of, way) for name, of in _by_choice(runs).items()}
    seeds = [
        {"choice": name, "seed": seed, metric.key: value}
        for name, each in found.items()
        for seed, value in each.items()
    ]
    if not seeds:
        raise ResultError(f"no run has the figure {'.'.join(way)}: nothing to draw")
    bars_of = [{"choice": name, metric.key: mean} for name, mean in means(found).items()]
    dots, bars = (readable(pl.DataFrame(rows, infer_schema_length=None)) for rows in (seeds, bars_of))
    column = dots.columns[-1]
    unit = _UNITS.get(column.removeprefix(metric.name), "")
    title = f"{metric.label} ({unit})" if unit else metric.label
    x, y = alt.X(f"{column}:Q", title=title), alt.Y("choice:N", sort=None, title=None)
    drawn = alt.Chart(bars).mark_bar(opacity=0.5).encode(x=x, y=y)
    layered: alt.LayerChart = drawn + alt.Chart(dots).mark_circle(color="black").encode(
        x=x, y=y, tooltip=["choice", "seed", column]
    )
    return layered


def _completion(runs: Sequence[Run]) -> alt.Chart:
    """What part of the flows ended within which time; flows that did not end keep the curve below one."""
    import altair as alt

    curves = []
    for name, of in _by_choice(runs).items():
        flows = pl.concat([_timed(run) for run in of], how="vertical_relaxed")
        if flows.height:
            took = points.cdf(flows["fct_ps"], flows.height).select(fct_ps="x", part_of_flows="part")
            curves.append(readable(took).with_columns(choice=pl.lit(name)))
    if not curves or not sum(curve.height for curve in curves):
        raise ResultError("no flow ended: nothing to draw")
    chart: alt.Chart = (
        alt.Chart(pl.concat(curves))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("fct_ms:Q", title="flow completion time (ms)", scale=alt.Scale(type="log")),
            y=alt.Y("part_of_flows:Q", title="part of the flows"),
            color=alt.Color("choice:N", sort=None, title=None),
        )
    )
    return chart


def _timed(run: Run) -> pl.DataFrame:
    """The flows whose time says something, with `fct_ps`: null where one did not end."""
    jobs = run.summary.get("jobs", {})
    kinds = {job: traits(found["kind"]) for job, found in jobs.items()}
    timed = [job for job, kind in kinds.items() if kind.awaited and kind.flows == "timed"]
    took = pl.when(pl.col("outcome") == "finished").then(pl.col("end_ps") - pl.col("start_ps"))
    flows = run.scan("flows").filter(pl.col("job").cast(pl.String).is_in(timed))
    return flows.select(fct_ps=took).collect()


def _queue(runs: Sequence[Run], port: str | None) -> alt.Chart:
    """The first run of each choice: the queue of one port over time."""
    import altair as alt

    firsts = {name: of[0] for name, of in _by_choice(runs).items()}
    series = {
        name: run.scan("ports_series")
        .filter(pl.col("class").is_null())
        .select("time_ps", pl.col("port").cast(pl.String), "queue_bytes")
        .collect()
        for name, run in firsts.items()
    }
    sampled = pl.concat(list(series.values()), how="vertical_relaxed")
    if sampled.is_empty():
        raise ResultError("no queue was sampled: measure.interval and measure.ports say how often and which")
    if port is None:
        port = str(sampled.sort("queue_bytes", "port", descending=[True, False])["port"][0])
    elif port not in (known := sampled["port"].unique().sort().to_list()):
        raise ResultError(unknown("a sampled port", port, known))
    lines = [
        readable(
            points.extremes(each.filter(pl.col("port") == port), "time_ps", "queue_bytes", _SPANS)
        ).with_columns(choice=pl.lit(name))
        for name, each in series.items()
    ]
    chart: alt.Chart = (
        alt.Chart(pl.concat(lines), title=f"{port}, seed {runs[0].summary['seed']}")
        .mark_line(strokeWidth=1)
        .encode(
            x=alt.X("time_ms:Q", title="time (ms)"),
            y=alt.Y("queue_bytes:Q", title="queue (bytes)", axis=alt.Axis(format="~s")),
            color=alt.Color("choice:N", sort=None, title=None),
        )
    )
    return chart


def _by_choice(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each choice; those of a scenario without choices by its name."""
    name = str(runs[0].summary.get("name") or "")
    return {choice or name: of for choice, of in by_choice(runs).items()}
