"""The figures of a run that a study names: from its summary, or computed from a table of its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from incast import metrics
from incast.errors import ResultError
from incast.folder import scan
from incast.hints import unknown
from incast.metric import Metric
from incast.result import Result
from incast.samples import Way, lookup
from incast.study.model import TableFigure


@dataclass(frozen=True)
class Figure:
    """A figure under the study's name for it."""

    name: str
    metric: Metric
    """Its unit; its key is the name with the unit's suffix."""
    found_in: Way | TableFigure

    def of(self, folder: Path) -> float | None:
        """What it is in a run; nothing where it was not measured."""
        if isinstance(self.found_in, TableFigure):
            return _computed(folder, self.found_in)
        return lookup(Result.open(folder).summary, self.found_in)


def named(listed: Mapping[str, str | TableFigure]) -> dict[str, Figure]:
    """The figures by name; `ValueError` names the one that no summary has."""
    found = {}
    for name, found_in in listed.items():
        if isinstance(found_in, TableFigure):
            unit = "" if found_in.of == "count" or found_in.per else Metric(found_in.column, "").unit
            found[name] = Figure(name, Metric(f"{name}{unit}", name), found_in)
            continue
        known = metrics.find(found_in, metrics.OF_STUDIES)
        if not known:
            raise ValueError(
                f"{name}: {unknown('a figure', found_in, metrics.names(['<job>'], metrics.OF_STUDIES))}"
            )
        way, metric = known
        found[name] = Figure(name, Metric(f"{name}{metric.unit}", name, metric.better), way)
    return found


def _computed(folder: Path, figure: TableFigure) -> float | None:
    table = scan(folder, figure.table)
    columns = table.collect_schema().names()
    others = [column for column in (figure.per, figure.since) if column]
    for column in (figure.column, *others, *figure.where):
        if column not in columns:
            raise ResultError(f"{folder}: {unknown(f'a column of {figure.table}', column, columns)}")
    rows = table
    for column, said in figure.where.items():
        rows = rows.filter(matches(column, said))
    value = rows.select(_aggregate(pl.col(figure.column), figure.of)).collect().item()
    if value is not None and figure.since:
        value = value - rows.select(pl.col(figure.since).min()).collect().item()
    if value is None or not figure.per:
        return None if value is None else float(value)
    base = rows.select(pl.col(figure.per).sum()).collect().item()
    return float(value) / base if base else None


def matches(column: str, said: str | list[str]) -> pl.Expr:
    """Whether the text column holds one of these: a name, or a pattern with `*`."""
    patterns = [said] if isinstance(said, str) else said
    rule = "|".join(".*".join(map(re.escape, each.split("*"))) for each in patterns)
    return pl.col(column).cast(pl.String).str.contains(f"^(?:{rule})$")


def _aggregate(column: pl.Expr, how: str) -> pl.Expr:
    match how:
        case "sum":
            return column.sum()
        case "max":
            return column.max()
        case "min":
            return column.min()
        case "mean":
            return column.mean()
        case _:
            return (column != 0).sum()
