"""A run's series as OpenMetrics text with timestamps, for Prometheus to take in as its past.

`promtool tsdb create-blocks-from openmetrics` makes blocks of it. Prometheus keeps milliseconds, and its
queries look at seconds. So the run's time is stretched: samples lie at least a second apart. A rate of the
run is a rate on that axis times `incast_time_scale_ratio`.

Source: OpenMetrics 1.0.0, text format.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
from polars import selectors

from incast.errors import ResultError
from incast.folder import SUMMARY, exported
from incast.network import ways
from incast.network.families import CAUSES, FAMILIES, SCALE, Family
from incast.result import Result

_STEP_S = 1.0
"""Seconds between samples, unless more lie between them in the run."""


def write(result: Result, target: Path, end_s: float | None = None) -> Path:
    """Writes the series of a run that ends at the Unix time `end_s`, by default when its summary was written.

    Raises `ResultError` where the result holds several runs, or one without samples.
    """
    run = result.single()
    series = _Series(run, (run.path / SUMMARY).stat().st_mtime if end_s is None else end_s)
    with exported(target) as file:
        for part in series.texts():
            file.write(part.encode())
        file.write(b"# EOF\n")
    return target


def dashboard() -> str:
    """A Grafana dashboard of these metrics, as JSON."""
    return files("incast.network").joinpath("grafana.json").read_text("utf-8")


class _Series:
    """The series of a run on the axis of Prometheus."""

    def __init__(self, run: Result, end_s: float) -> None:
        self._run = run
        times = run.ports_series["time_ps"]
        times = times.filter(times > 0)
        first, last = times.min(), times.max()
        if not isinstance(first, int) or not isinstance(last, int):
            raise ResultError(f"{run.path} has no samples: set measure.interval, and run it again")
        self._interval, self._last = first, last
        self._scale = max(_STEP_S * 1e12 / first, 1.0)
        self._begin_s = end_s - last / 1e12 * self._scale
        parts = (run.summary.get("name"), run.summary.get("choice"), f"seed {run.summary['seed']}")
        self._name = ", ".join(str(part) for part in parts if part)
        self._table = cache(self._read)

    def texts(self) -> Iterator[str]:
        """The lines of all metrics that have samples, those of one name together."""
        yield _head(SCALE, "gauge", "Seconds on this axis for one of the run.")
        times = self._run.ports_series.select("time_ps").unique().sort("time_ps")
        yield self._lines(times.with_columns(value=self._scale), SCALE, (), {})
        described = ""
        for family in (*FAMILIES, *CAUSES):
            if lines := self._samples(family):
                if family.name != described:
                    yield _head(family.name, "counter" if family.counter else "gauge", family.help)
                described = family.name
                yield lines

    def _samples(self, family: Family) -> str:
        """The samples of each set of labels in order of time."""
        table = self._table(family.table)
        if family.column not in table.columns:
            place = self._run.path / family.table
            raise ResultError(f"{place} has no column {family.column!r}: run it again with this version")
        value = pl.col(family.column)
        if family.counter:
            value = value.cum_sum().over(family.labels)
        if family.per_unit != 1:
            value = value / family.per_unit
        columns = (*family.labels, "time_ps")
        rows = table.drop_nulls([family.column]).sort(columns).select(*columns, value=value)
        return self._lines(rows, family.metric, family.labels, dict(family.fixed))

    def _lines(self, rows: pl.DataFrame, metric: str, labels: tuple[str, ...], fixed: dict[str, str]) -> str:
        """A line for each row of `time_ps`, `value` and labels.

        Text is made here, column by column: `prometheus_client` takes 20 µs a sample, and there are millions.
        """
        known = {"run": pl.lit(self._name)} | {name: pl.lit(value) for name, value in fixed.items()}
        known |= {name: pl.col(name).cast(pl.String).fill_null("") for name in labels}
        named = [
            part for name, of in known.items() for part in (pl.lit(f',{name}="'), _escaped(of), pl.lit('"'))
        ]
        named[0] = pl.lit('run="')
        at = (self._begin_s * 1e3 + pl.col("time_ps") * (self._scale / 1e9)).round().cast(pl.Int64)
        line = pl.concat_str(
            pl.lit(metric + "{"),
            *named,
            pl.lit("} "),
            pl.col("value").cast(pl.String),
            pl.lit(" "),
            (at // 1000).cast(pl.String),
            pl.lit("."),
            (at % 1000).cast(pl.String).str.zfill(3),
            pl.lit("\n"),
        )
        return "".join(rows.select(line).to_series().to_list())

    def _read(self, name: str) -> pl.DataFrame:
        """A table with `time_ps` and all labels; counters begin with zero."""
        if name == "evenness":
            return ways.over_time(self._get)
        if name == "ways":
            samples = self._get("ports_series").select("time_ps", "port", "sent_bytes")
            return self._from_zero(self._get("ways").join(samples, on="port"), "node", "group", "port")
        if name == "pause_causes":
            return self._with_node(self._get(name).with_columns(time_ps=pl.lit(self._last, pl.UInt64)))
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


def _head(name: str, kind: str, about: str) -> str:
    return f"# HELP {name} {about}\n# TYPE {name} {kind}\n"


def _escaped(text: pl.Expr) -> pl.Expr:
    """A label's value as it stands between quotes."""
    for character, written in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n")):
        text = text.str.replace_all(character, written, literal=True)
    return text
