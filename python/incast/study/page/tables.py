"""The page's tables: our figures next to the published ones, all figures, and the cost of each row."""

from __future__ import annotations

from collections.abc import Sequence

from incast import text
from incast.report.parts import Cell, Table, cells
from incast.samples import half_interval, mean, spread
from incast.study import words
from incast.study.study import Study
from incast.study.tables import Row


def published(study: Study, rows: Sequence[Row]) -> Table:
    """A row for each cell that was run: ours, the interval, the published figure, the difference."""
    judged = study.judged_by
    assert judged
    listed = []
    for row in rows:
        values = row.figures[judged.name]
        middle, half = mean(values), half_interval(values)
        known = middle is not None and half is not None
        ends = (judged.metric.text(middle - half), judged.metric.text(middle + half)) if known else ()  # type: ignore[operator]
        left = f"{row.unfinished} unfinished" if row.unfinished else ""
        listed.append(
            (
                Cell(row.cell.name),
                Cell(judged.metric.text(row.published)),
                Cell(judged.metric.text(middle), left, "bad" if left else ""),
                Cell(" to ".join(ends) or text.NONE),
                Cell(words.difference(row)),
                Cell(text.count(row.seeds)),
            )
        )
    columns = ("Cell", "Published", f"Ours ({judged.name})", "95 % interval", "Difference", "Seeds")
    return Table("Published and ours, cell by cell", columns, tuple(listed))


def figures(study: Study, rows: Sequence[Row]) -> Table:
    """Every figure of every cell that was run: the mean and half its interval."""
    listed = []
    for row in rows:
        found = []
        for name, figure in study.figures.items():
            part = spread(row.figures[name])
            note = f"±{part * 100:.1f} %" if part else ""
            found.append(Cell(figure.metric.text(mean(row.figures[name])), note))
        listed.append((Cell(row.cell.name), *found))
    return Table("All figures, cell by cell", ("Cell", *study.figures), tuple(listed))


def costs(rows: Sequence[Row]) -> Table:
    """What a run of each cell takes."""
    listed = []
    for row in rows:
        hops = mean(row.packet_hops) or 0
        listed.append(
            cells(
                row.cell.name,
                text.count(hops),
                text.time(row.cpu_s * 1e12),
                text.time(row.cpu_s * 1e12 / hops) if hops else text.NONE,
                text.size(row.memory_max_bytes),
            )
        )
    columns = ("Cell", "Packet-hops", "CPU time", "CPU time a hop", "Memory")
    return Table("What a run takes", columns, tuple(listed))
