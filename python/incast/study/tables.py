"""A study's results: a row a run, a row a cell, what the runs took.

`runs` and `results` hold nothing that differs from time to time: the same study gives the same bytes. What it
took is in `costs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from incast import folder
from incast.samples import Samples, change, half_interval, mean
from incast.study.axes import Cell
from incast.study.ran import FINISHED, Ran
from incast.study.study import Study

_UNITS = {"_ps": ("_s", 1e12)}
"""What text has instead of a unit of ours, and how many of ours that is."""


@dataclass(frozen=True)
class Row:
    """What was found of a cell."""

    cell: Cell
    figures: Mapping[str, Samples]
    """Every figure of the study by name, and its values by seed."""
    packet_hops: Samples
    unfinished: int
    """How many of its runs ended before their jobs did."""
    published: float | None
    difference: float | None
    """(ours − published) / published."""
    fitted: bool
    """Whether the calibration was fitted to it; every other row is a prediction."""
    cpu_s: float
    """Mean of its runs."""
    memory_max_bytes: int
    """Greatest of its runs."""

    @property
    def seeds(self) -> int:
        """How many runs it has."""
        return len(self.packet_hops)


def rows(study: Study, ran: Sequence[Ran]) -> list[Row]:
    """A row for each cell that was run, in the order of the runs."""
    by_cell: dict[Cell, list[Ran]] = {}
    for each in ran:
        by_cell.setdefault(each.cell, []).append(each)
    return [_row(study, cell, runs) for cell, runs in by_cell.items()]


def _row(study: Study, cell: Cell, runs: Sequence[Ran]) -> Row:
    figures = {name: _samples(runs, name) for name in study.figures}
    published = study.published.get(cell.name)
    judged = study.judged_by
    ours = mean(figures[judged.name]) if judged else None
    return Row(
        cell=cell,
        figures=figures,
        packet_hops={each.seed: each.packet_hops for each in runs},
        unfinished=sum(each.end != FINISHED for each in runs),
        published=published,
        difference=change(published, ours) if published is not None else None,
        fitted=cell in study.fitted_cells,
        cpu_s=sum(each.cost.cpu_s for each in runs) / len(runs),
        memory_max_bytes=max(each.cost.memory_max_bytes for each in runs),
    )


def _samples(runs: Sequence[Ran], name: str) -> Samples:
    """The figure by seed; nothing where an unfinished run lacks it: the others alone would look fast."""
    found = {each.seed: each.figures[name] for each in runs}
    if any(each.end != FINISHED and found[each.seed] is None for each in runs):
        return {}
    return {seed: value for seed, value in found.items() if value is not None}


def as_json(study: Study, found: Sequence[Row], costs: bool = True) -> list[dict[str, Any]]:
    """The rows as plain data."""
    return [_plain(study, row, costs) for row in found]


def _plain(study: Study, row: Row, costs: bool) -> dict[str, Any]:
    figures = {}
    for name, figure in study.figures.items():
        values = row.figures[name]
        middle, half = mean(values), half_interval(values)
        low = high = None
        if middle is not None and half is not None:
            low, high = middle - half, middle + half
        figures[figure.metric.key] = {"mean": middle, "low": low, "high": high}
    plain = {
        "cell": row.cell.name,
        **dict(zip(study.axes, row.cell.values, strict=True)),
        "seeds": row.seeds,
        "unfinished": row.unfinished,
        "figures": figures,
        "published": row.published,
        "difference": row.difference,
        "fitted": row.fitted,
        "packet_hops": mean(row.packet_hops),
    }
    return plain | ({"cpu_s": row.cpu_s, "memory_max_bytes": row.memory_max_bytes} if costs else {})


def write(study: Study, found: Sequence[Row], ran: Sequence[Ran], out: Path) -> None:
    """The tables as Parquet, the cells' also as JSON."""
    folder.write_json(out / "results.json", as_json(study, found, costs=False))
    _parquet(out / "results.parquet", [_flat(study, row) for row in found])
    _parquet(out / "runs.parquet", [_of_run(study, each) for each in ran])
    costs = [{**_key(study, each.cell), "seed": each.seed, **asdict(each.cost)} for each in ran]
    _parquet(out / "costs.parquet", costs)


def csv(study: Study, found: Sequence[Row]) -> str:
    """The rows as text, to keep next to the published figures: times in seconds, five digits."""
    names = [
        (figure, *_UNITS.get(figure.metric.unit, (figure.metric.unit, 1)))
        for figure in study.figures.values()
    ]
    listed = []
    for row in found:
        plain = _flat(study, row)
        line: dict[str, Any] = {"cell": row.cell.name}
        line |= {key: plain[key] for key in ("seeds", "unfinished", "fitted")}
        for figure, unit, scale in names:
            judged = figure is study.judged_by
            if judged:
                line[f"published{unit}"] = _digits(row.published, scale)
            for part in ("mean", "low", "high") if judged else ("mean",):
                value = plain[f"{figure.name}_{part}{figure.metric.unit}"]
                line[f"{figure.name}{'' if part == 'mean' else f'_{part}'}{unit}"] = _digits(value, scale)
        costs = {
            "packet_hops": plain["packet_hops"],
            "cpu_s": row.cpu_s,
            "memory_mb": row.memory_max_bytes / 1e6,
        }
        listed.append(line | {key: _digits(value, 1) for key, value in costs.items()})
    return pl.DataFrame(listed, infer_schema_length=None).write_csv()


def _digits(value: float | None, scale: float) -> str | None:
    """With five digits and without an exponent."""
    if value is None:
        return None
    return f"{float(f'{value / scale:.5g}'):.12f}".rstrip("0").rstrip(".")


def _key(study: Study, cell: Cell) -> dict[str, Any]:
    return {"cell": cell.name, **dict(zip(study.axes, cell.values, strict=True))}


def _flat(study: Study, row: Row) -> dict[str, Any]:
    plain = _plain(study, row, costs=False)
    figures = plain.pop("figures")
    columns = {
        f"{figure.name}_{part}{figure.metric.unit}": figures[figure.metric.key][part]
        for figure in study.figures.values()
        for part in ("mean", "low", "high")
    }
    return plain | columns


def _of_run(study: Study, ran: Ran) -> dict[str, Any]:
    figures = {figure.metric.key: ran.figures[name] for name, figure in study.figures.items()}
    return {**_key(study, ran.cell), "seed": ran.seed, **figures, "packet_hops": ran.packet_hops}


def _parquet(file: Path, listed: Sequence[dict[str, Any]]) -> None:
    """Written whole or not at all."""
    with folder.whole(file) as part:
        folder.write_table(part, pl.DataFrame(listed, infer_schema_length=None))
