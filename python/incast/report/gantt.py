"""The chart of a timeline: a row a lane, rows grouped by host; kinds of tasks as a strip and as shades."""

import json

import polars as pl

from incast import text
from incast.report.charts import Chart, as_columns, color, time_axis
from incast.report.vega import Spec, channel, layer, layered

_HEIGHT_MAX = 620
_ROW_MAX, _ROW_MIN = 13, 3.5
_STRIP = 0.9  # a phase's row on top, by a lane's
_GAP = 0.6  # between hosts, in rows
_INSET = 0.27  # a task within another leaves so much of it free, in rows
_THINNEST = 700  # the least width, as a part of the time shown
_ALWAYS = 0.85  # a kind that covers more of the time than this is no phase


def gantt(
    bars: pl.DataFrame, places: pl.DataFrame, phases: pl.DataFrame, kinds: list[str], span: tuple[int, int]
) -> Chart:
    """`bars` (place, lane, host, kind, number, tasks, start_ps, stop_ps, end_ps, …) over `span` in ps."""
    scale, unit = text.time_unit(span[1])
    tops, middles, bottom = _tops(places)
    head = phases.height * _STRIP + _GAP
    height = round(min(_ROW_MAX, max(_ROW_MIN, _HEIGHT_MAX / (bottom + head))) * (bottom + head))
    y = channel(
        "top:Q",
        title=None,
        scale={"domain": [-head, bottom], "reverse": True, "nice": False},
        axis={
            "values": list(middles.values()),
            "labelExpr": _named(middles),
            "labelLimit": 92,
            "labelOverlap": True,
            "ticks": False,
            "domain": False,
            "grid": False,
        },
    )
    colors = {"domain": kinds, "range": [color(i) for i in range(len(kinds))]}
    placed = {
        "x": time_axis("a:Q", span, grid=True),
        "x2": {"field": "b"},
        "y": y,
        "y2": {"field": "low"},
        "color": channel("kind:N", scale=colors, legend=None),
    }
    strip = _phase_rows(phases, scale, head)
    return Chart(
        layered([_shades(placed), _strip(placed, unit), *_tasks(placed, unit)], height),
        {
            "phases": as_columns(strip),
            "shades": as_columns(
                strip.filter(pl.col("b") - pl.col("a") < _ALWAYS * (span[1] - span[0]) / scale).with_columns(
                    top=pl.lit(0.0), low=pl.lit(bottom)
                )
            ),
            "bars": as_columns(_bar_rows(bars, tops, scale, span)),
        },
    )


def _tops(places: pl.DataFrame) -> tuple[dict[int, float], dict[str, float], float]:
    """Where each host's first row begins, each host's middle, and where the last row ends."""
    tops: dict[int, float] = {}
    middles: dict[str, float] = {}
    at = 0.0
    for place, host, rows in places.select("place", "host", "rows").iter_rows():
        tops[place] = at
        middles[host] = round(at + rows / 2, 3)
        at = round(at + rows + _GAP, 3)
    return tops, middles, at


def _named(middles: dict[str, float]) -> str:
    """A Vega expression: the host whose middle this is."""
    names = {f"{middle:.3f}": host for host, middle in middles.items()}
    return f"({json.dumps(names)})[format(datum.value, '.3f')] || ''"


def _phase_rows(phases: pl.DataFrame, scale: float, head: float) -> pl.DataFrame:
    strip = pl.int_range(pl.len()) * _STRIP - head
    return phases.select(
        "kind",
        "tasks",
        (pl.col("start_ps") / scale).round_sig_figs(6).alias("a"),
        (pl.col("stop_ps") / scale).round_sig_figs(6).alias("b"),
        strip.round(3).alias("top"),
        (strip + _STRIP * 0.8).round(3).alias("low"),
    )


def _bar_rows(
    bars: pl.DataFrame, tops: dict[int, float], scale: float, span: tuple[int, int]
) -> pl.DataFrame:
    bars = bars.sort("depth", maintain_order=True)
    row = pl.col("place").replace_strict(tops, return_dtype=pl.Float64) + pl.col("lane")
    top = row + _INSET * pl.min_horizontal("depth", 2)
    least = (span[1] - span[0]) // _THINNEST
    drawn = bars.select(
        "kind",
        (pl.col("start_ps") / scale).round_sig_figs(6).alias("a"),
        (pl.max_horizontal("stop_ps", pl.col("start_ps") + least) / scale).round_sig_figs(6).alias("b"),
        top.round(3).alias("top"),
        (row + 0.86).round(3).alias("low"),
        pl.when(pl.col("end_ps").is_null())
        .then(2)
        .when(pl.col("outcome") == "lost")
        .then(1)
        .otherwise(0)
        .alias("stuck"),
    )
    rows = [_said(row) for row in bars.iter_rows(named=True)]
    said = pl.DataFrame(rows, schema={"what": pl.String, "took": pl.String, "flows": pl.String}, orient="row")
    return drawn.hstack(said)


def _said(row: dict[str, object]) -> tuple[str, str, str]:
    """What a bar's tooltip says: the task and its host, its time and bytes, its flows."""
    number, count = row["number"], row["tasks"]
    assert isinstance(count, int)
    several = f"{row['kind']}, {text.count(count)} tasks" if count > 1 else f"{row['kind']} {number}"
    start, stop, size = row["start_ps"], row["stop_ps"], row["bytes"]
    assert isinstance(start, int)
    assert isinstance(stop, int)
    took = text.time(stop - start)
    if row["end_ps"] is None:
        took = f"not done after {took}"
    elif row["outcome"] == "lost":
        took = f"lost after {took}: its host crashed"
    if isinstance(size, int) and size:
        took += f", {text.size(size)}"
    return f"{several} on {row['host']}", took, _flows_said(row)


def _flows_said(row: dict[str, object]) -> str:
    flows, slowest, again, left = row["flows"], row["slowest_ps"], row["again"], row["open"]
    if not isinstance(flows, int) or not flows:
        return text.NONE
    parts = [text.count(flows)]
    if isinstance(slowest, int):
        parts.append(f"longest {row['slowest']} {text.time(slowest)}")
    if isinstance(again, int) and again:
        parts.append(f"{text.count(again)} packets sent again")
    if isinstance(left, int) and left:
        parts.append(f"{text.count(left)} not done")
    return ", ".join(parts)


def _shades(placed: Spec) -> Spec:
    return layer("shades", {"type": "rect", "clip": True, "opacity": 0.06}, placed, name="shades")


def _strip(placed: Spec, unit: str) -> Spec:
    tooltip = [
        channel("kind:N", title="phase"),
        channel("tasks:Q", title="tasks"),
        channel("a:Q", title=f"from ({unit})"),
        channel("b:Q", title=f"to ({unit})"),
    ]
    mark = {"type": "rect", "clip": True, "opacity": 0.9}
    return layer("phases", mark, {**placed, "tooltip": tooltip}, name="phases")


def _tasks(placed: Spec, unit: str) -> list[Spec]:
    """The bars; those that did not end are outlined, and paler inside."""
    tooltip = [
        channel("what:N", title="task"),
        channel("took:N", title="took"),
        channel("a:Q", title=f"began ({unit})"),
        channel("flows:N", title="flows"),
    ]
    ended = {"fillOpacity": 0.85, "stroke": "var(--paper)", "strokeWidth": 0.6}
    stuck = {"fillOpacity": 0.45, "stroke": "var(--drop)", "strokeWidth": 1.6}
    return [
        layer(
            "bars",
            {"type": "rect", "clip": True, "strokeOpacity": 1, **mark},
            {**placed, "tooltip": tooltip},
            name=name,
            transform=[{"filter": f"datum.stuck {which}"}],
        )
        for name, which, mark in (("tasks", "== 0", ended), ("stuck", "> 0", stuck))
    ]
