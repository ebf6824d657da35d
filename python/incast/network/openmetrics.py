"""A run's series as OpenMetrics text with timestamps, for Prometheus to take in as its past.

`promtool tsdb create-blocks-from openmetrics` makes blocks of it. Prometheus keeps milliseconds, and its
queries look at seconds. So the run's time is stretched: samples lie at least a second apart. A rate of the
run is a rate on that axis times `incast_time_scale_ratio`.

Source: OpenMetrics 1.0.0 (`prometheus_client` writes it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars import selectors

from incast.errors import ResultError
from incast.extras import extra
from incast.folder import SUMMARY, exported
from incast.network import ways
from incast.network.families import CAUSES, FAMILIES, SCALE, Family
from incast.result import Result

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

STEP_S = 1.0
"""Seconds between samples, unless more lie between them in the run."""
_EOF = b"# EOF\n"


def write(result: Result, target: Path, end_s: float | None = None) -> Path:
    """Writes the series of a run that ends at the Unix time `end_s`, by default when its summary was written.

    Raises `ResultError` where the result holds several runs, or one without samples.
    """
    with extra("metrics"):
        from prometheus_client.openmetrics.exposition import generate_latest

    run = result.single()
    series = _Series(run, (run.path / SUMMARY).stat().st_mtime if end_s is None else end_s)
    with exported(target) as file:
        for metric in series.collect():
            text: bytes = generate_latest(_One(metric))  # type: ignore[no-untyped-call]
            file.write(text.removesuffix(_EOF))
        file.write(_EOF)
    return target


def dashboard() -> str:
    """A Grafana dashboard of these metrics, as JSON."""
    return files("incast.network").joinpath("grafana.json").read_text("utf-8")


@dataclass(frozen=True)
class _One:
    """A registry of one metric: there are too many samples to hold all in memory."""

    metric: Metric

    def collect(self) -> Iterator[Metric]:
        yield self.metric


class _Series:
    """The series of a run on the axis of Prometheus."""

    def __init__(self, run: Result, end_s: float) -> None:
        self._run = run
        times = run.ports_series["time_ps"]
        first, last = times.min(), times.max()
        if not isinstance(first, int) or not isinstance(last, int):
            raise ResultError(f"{run.path} has no samples: set measure.interval, and run it again")
        self._interval = first
        self._scale = max(STEP_S * 1e12 / first, 1.0)
        self._times = pl.concat([pl.Series("time_ps", [0], dtype=times.dtype), times.unique().sort()])
        self._begin_s = end_s - last / 1e12 * self._scale
        parts = (run.summary.get("name"), run.summary.get("choice"), f"seed {run.summary['seed']}")
        self._name = ", ".join(str(part) for part in parts if part)
        self._table = cache(self._read)

    def collect(self) -> Iterator[Metric]:
        """All metrics, those of one name together."""
        from prometheus_client.core import GaugeMetricFamily

        scale = GaugeMetricFamily(SCALE, "Seconds on this axis for one of the run.", labels=["run"])
        for time in self._times:
            scale.add_metric([self._name], self._scale, timestamp=self._at(time))
        yield scale
        made: Metric | None = None
        for family in (*FAMILIES, *CAUSES):
            if made is None or made.name != family.name:
                if made is not None and made.samples:
                    yield made
                made = self._empty(family)
            self._fill(made, family)
        if made is not None and made.samples:
            yield made

    def _empty(self, family: Family) -> Metric:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        labels = ["run", *family.labels, *(name for name, _ in family.fixed)]
        kind = CounterMetricFamily if family.counter else GaugeMetricFamily
        return kind(family.name, family.help, labels=labels)

    def _fill(self, metric: Metric, family: Family) -> None:
        """Adds the samples of each set of labels in order of time."""
        table = self._table(family.table)
        if family.column not in table.columns:
            place = self._run.path / family.table
            raise ResultError(f"{place} has no column {family.column!r}: run it again with this version")
        table = table.drop_nulls([family.column])
        values = pl.col(family.column).cast(pl.Float64) / family.per_unit
        if family.counter:
            values = values.cum_sum().over(family.labels)
        columns = (*family.labels, "time_ps")
        rows = table.sort(columns).select(*columns, value=values)
        fixed = dict(family.fixed)
        for *labels, time, value in rows.iter_rows():
            named = dict(zip(family.labels, map(_text, labels), strict=True))
            metric.add_sample(
                family.metric, {"run": self._name} | named | fixed, value, timestamp=self._at(time)
            )

    def _read(self, name: str) -> pl.DataFrame:
        """A table with `time_ps` and all labels; counters begin with zero."""
        if name == "evenness":
            return ways.over_time(self._get)
        if name == "ways":
            samples = self._get("ports_series").select("time_ps", "port", "sent_bytes")
            return self._from_zero(self._get("ways").join(samples, on="port"), "node", "group", "port")
        if name == "pause_causes":
            last = pl.lit(self._times[-1], dtype=self._times.dtype)
            return self._with_node(self._get(name).with_columns(time_ps=last))
        if name == "pools_series":
            sizes = self._get("pools").select("switch", "size_bytes", "headroom_size_bytes")
            return self._get(name).join(sizes, on="switch", how="left").rename({"switch": "node"})
        return self._from_zero(self._with_node(self._get(name)), "port", "class")

    def _from_zero(self, table: pl.DataFrame, *keys: str) -> pl.DataFrame:
        """The table with a sample of nothing before the first of each of `keys`: a rate needs a beginning."""
        counted = selectors.unsigned_integer() - selectors.by_name("time_ps", *keys)
        before = table.sort("time_ps").unique(keys, keep="first", maintain_order=True)
        return pl.concat([before.with_columns(counted * 0, pl.col("time_ps") - self._interval), table])

    def _get(self, name: str) -> pl.DataFrame:
        table: pl.DataFrame = getattr(self._run, name)
        return table

    def _with_node(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.join(self._get("ports").select("port", "node"), on="port", how="left")

    def _at(self, time_ps: int) -> float:
        """Unix time in whole milliseconds, as Prometheus keeps it."""
        return round(self._begin_s + time_ps / 1e12 * self._scale, 3)


def _text(value: object) -> str:
    return "" if value is None else str(value)
