"""The charts of pages, as Vega-Lite.

Their data is apart (`Chart.columns`), so that a page holds each number once and compactly; colours are CSS
variables, so that they follow the theme.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from incast import text
from incast.report.vega import Spec, channel, layer, layered

SHAPES_MAX = 8
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
UNITS = {
    "size": text.size_unit,
    "rate": text.rate_unit,
    "time": text.time_unit,
    "packets": text.packets_unit,
}
_QUEUE_HEIGHT = 120
_HEADROOM = 1.3  # drops and marks stand above the queue
_CDF_HEIGHT = 260
_LINES_HEIGHT = 150
_SPAN_MAX = 1e5  # a logarithmic axis shows at most so much; below, times stand at its left edge


@dataclass(frozen=True)
class Chart:
    """A specification and the columns of its named data sets."""

    spec: Spec
    columns: dict[str, dict[str, list[Any]]]


def color(index: int) -> str:
    """The colour of the choice, job or port of this position."""
    return f"var(--c{index % SHAPES_MAX})"


def cdf(
    curves: list[tuple[str, int, pl.DataFrame]],
    title: str,
    legend: str,
    counted: str,
    bands: list[tuple[str, int, pl.DataFrame]],
) -> Chart:
    """Cumulative distributions of times: (name, colour's position, points `x` in ps and `part`).

    `counted` says what the parts are of: flows or packets. `bands` are the ranges over several seeds, with
    `part`, `low` and `high`.
    """
    known = [c for c in curves if c[2].height]
    high = max((float(points["x"][-1]) for _, _, points in known), default=1.0)
    high = max([high, *(float(points["high"].max() or 0) for _, _, points in bands)])  # type: ignore[arg-type]
    low = max(min((_least(points) for _, _, points in known), default=1.0), high / _SPAN_MAX)
    log = high > 20 * low
    scale, unit = (1e6, "") if log else text.time_unit(high)
    points = pl.concat(
        [
            frame.select(
                pl.lit(name).alias("name"),
                (pl.max_horizontal(pl.col("x"), low if log else 0) / scale).round_sig_figs(4).alias("x"),
                (pl.col("part") * 100).round(4).alias("part"),
            )
            for name, _, frame in known
        ]
    )
    shades, dashes = _scales(known)
    time = _TIME_LABEL.format("datum.x") if log else f"format(datum.x, '~g') + ' {unit}'"
    chart = layer(
        "points",
        {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        {
            "x": _log_x(title, low / scale, high / scale) if log else _linear_x(f"{title} ({unit})"),
            "y": channel("part:Q", title=f"part of {counted} (%)", scale={"domain": [0, 100]}),
            "color": shades,
            "strokeDash": dashes,
            "tooltip": [
                channel("name:N", title=legend),
                channel("time:N", title=title),
                channel("part:Q", title=f"{counted} up to here (%)", format="~g"),
            ],
        },
        name="cdf",
        transform=[{"calculate": time, "as": "time"}],
    )
    ranges = _ranges(bands, low if log else 0, scale)
    return Chart(
        layered([_band(shades), chart] if ranges.height else [chart], _CDF_HEIGHT),
        {"points": as_columns(points)} | ({"band": as_columns(ranges)} if ranges.height else {}),
    )


def _scales(curves: list[tuple[str, int, pl.DataFrame]]) -> tuple[Spec, Spec]:
    """The channels that tell lines apart: colour and dashes by the name."""
    names = [name for name, _, _ in curves]
    ranges = [color(i) for _, i, _ in curves], [DASHES[i % SHAPES_MAX] for _, i, _ in curves]
    shades, dashes = (
        channel("name:N", scale={"domain": names, "range": each}, legend=None) for each in ranges
    )
    return shades, dashes


def _ranges(bands: list[tuple[str, int, pl.DataFrame]], low: float, scale: float) -> pl.DataFrame:
    at = [
        (pl.max_horizontal(pl.col(side), low) / scale).round_sig_figs(4).alias(side)
        for side in ("low", "high")
    ]
    frames = [
        points.select(pl.lit(name).alias("name"), (pl.col("part") * 100).round(4).alias("part"), *at)
        for name, _, points in bands
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _band(shades: Spec) -> Spec:
    """The range over seeds, behind the lines."""
    return layer(
        "band",
        {"type": "area", "orient": "horizontal", "opacity": 0.18, "interpolate": "step-after"},
        {"x": channel("low:Q"), "x2": {"field": "high"}, "y": channel("part:Q"), "color": shades},
        name="band",
    )


def lines(
    curves: list[tuple[str, int, pl.DataFrame]],
    figure: tuple[str, str],
    legend: str,
    end: float,
    steps: bool = False,
    moments: pl.DataFrame | None = None,
    top: float | None = None,
    band: pl.DataFrame | None = None,
    levels: Sequence[tuple[str, float]] = (),
) -> Chart:
    """Several lines over time: (name, colour's position, points `time_ps` and `y`) up to `end` ps.

    `figure` is what y is, and its kind: `size` in bytes, `rate` in bit/s, `time` in ps, or else a unit as it
    is. With `steps` a figure holds from the point before to its own. `moments` (`time_ps`, `what`) are
    upright lines, `band` (`time_ps`, `low`, `high`) an area behind the first line, `levels` (name, figure)
    lines across. `top` is where the y axis ends, so that charts compare.
    """
    scale, unit = text.time_unit(end)
    most = top or max(float(frame["y"].max() or 0) for _, _, frame in curves)  # type: ignore[arg-type]
    high, of = UNITS[figure[1]](most) if figure[1] in UNITS else (1.0, figure[1])
    title = f"{figure[0]} ({of})" if of else figure[0]
    points = pl.concat(
        [
            frame.select(
                pl.lit(name).alias("name"),
                (pl.col("time_ps") / scale).round_sig_figs(6).alias("t"),
                (pl.col("y").cast(pl.Float64) / high).round_sig_figs(4),
            )
            for name, _, frame in curves
        ]
    )
    shades, dashes = _scales(curves)
    chart = layer(
        "points",
        {
            "type": "line",
            "clip": True,
            "strokeWidth": 1.4,
            "interpolate": "step-before" if steps else "linear",
        },
        {
            "x": time_axis("t:Q", (0, end)),
            "y": channel(
                "y:Q",
                title=title,
                axis={"tickCount": 4, "minExtent": 40},
                **({"scale": {"domain": [0, top / high]}} if top else {}),
            ),
            "color": shades,
            "strokeDash": dashes,
            "tooltip": [
                channel("name:N", title=legend),
                channel("t:Q", title=f"time ({unit})"),
                channel("y:Q", title=title),
            ],
        },
        name="lines",
    )
    data = {"points": as_columns(points)}
    layers = [chart]
    if band is not None and band.height:
        sides = ((pl.col(side) / high).round_sig_figs(4) for side in ("low", "high"))
        data["band"] = as_columns(
            band.select((pl.col("time_ps") / scale).round_sig_figs(6).alias("t"), *sides)
        )
        layers.insert(0, _area(color(curves[0][1])))
    if moments is not None and moments.height:
        data["moments"] = as_columns(
            moments.select((pl.col("time_ps") / scale).round_sig_figs(6).alias("t"), "what")
        )
        layers.append(_moments(unit))
    if levels:
        data["levels"] = {
            "what": [name for name, _ in levels],
            "y": [level / high for _, level in levels],
        }
        layers += _levels()
    return Chart(layered(layers, _LINES_HEIGHT), data)


def time_axis(shown: str, span: tuple[float, float], **axis: Any) -> Spec:
    """Time from left to right; `span` in ps."""
    scale, unit = text.time_unit(span[1])
    return channel(
        shown,
        title=f"time ({unit})",
        scale={"domain": [span[0] / scale, span[1] / scale], "nice": False},
        axis={"tickCount": 6, "labelOverlap": True, **axis},
    )


def _area(shade: str) -> Spec:
    return layer(
        "band",
        {"type": "area", "clip": True, "opacity": 0.25, "color": shade},
        {"x": channel("t:Q"), "y": channel("low:Q"), "y2": {"field": "high"}},
        name="band",
    )


def _levels() -> list[Spec]:
    """Lines across with their names at the right."""
    y = channel("y:Q")
    line = {"type": "rule", "color": "var(--soft)", "strokeWidth": 1, "strokeDash": [4, 3]}
    beside = {"align": "right", "baseline": "bottom", "dx": -2, "dy": -2}
    name = {"type": "text", **beside, "fontSize": 11, "color": "var(--soft)"}
    return [
        layer("levels", line, {"y": y}),
        layer("levels", name, {"y": y, "x": {"value": "width"}, "text": channel("what:N")}),
    ]


def _moments(unit: str) -> Spec:
    return layer(
        "moments",
        {"type": "rule", "color": "var(--drop)", "strokeWidth": 1.4},
        {
            "x": channel("t:Q"),
            "tooltip": [channel("what:N", title="event"), channel("t:Q", title=f"time ({unit})")],
        },
        name="moments",
    )


# A time in µs as text, with its unit: a Vega expression.
_TIME_LABEL = (
    "{0} < 1 ? format({0} * 1e3, '.3~g') + ' ns' : {0} < 1e3 ? format({0}, '.3~g') + ' µs' "
    ": {0} < 1e6 ? format({0} / 1e3, '.3~g') + ' ms' : format({0} / 1e6, '.3~g') + ' s'"
)


def _log_x(title: str, low: float, high: float) -> Spec:
    """Times in µs on a logarithmic axis, labelled with their units."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 2.0, 5.0) if len(decades) <= 6 else (1.0,)
    ticks = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high * 1.15]
    return channel(
        "x:Q",
        title=f"{title} (logarithmic)",
        scale={"type": "log", "nice": False, "domain": [low, high * 1.15]},
        axis={"values": ticks, "labelExpr": _TIME_LABEL.format("datum.value"), "labelOverlap": True},
    )


def _linear_x(title: str) -> Spec:
    axis = {"tickCount": 6, "format": "~g", "labelOverlap": True}
    return channel("x:Q", title=title, scale={"zero": False}, axis=axis)


def queue(
    samples: pl.DataFrame, events: pl.DataFrame, index: int, span: tuple[float, float], top: float
) -> Chart:
    """Queue length over time: `samples` (time_ps, queue_bytes), `events` (time_ps, drops, marks).

    `span` is the axis in picoseconds and `top` its height in bytes, so that pictures compare.
    """
    scale, unit = text.time_unit(span[1])
    size, size_unit = text.size_unit(top)
    moment = (pl.col("time_ps") / scale).round_sig_figs(6).alias("t")
    line = samples.select(moment, (pl.col("queue_bytes") / size).round_sig_figs(4).alias("q"))
    counted = [
        events.filter(pl.col(column) > 0).select(moment, pl.col(column).alias("n"))
        for column in ("drops", "marks")
    ]
    x = time_axis("t:Q", span)
    y = channel(
        "q:Q",
        title=f"queue ({size_unit})",
        scale={"domain": [0, top / size * _HEADROOM], "nice": False},
        axis={"tickCount": 4, "minExtent": 40},
    )
    line_mark = {"color": color(index), "strokeWidth": 1.2}
    area = layer(
        "queue",
        {"type": "area", "line": line_mark, "color": color(index), "fillOpacity": 0.18},
        {
            "x": x,
            "y": y,
            "tooltip": [
                channel("t:Q", title=f"time ({unit})"),
                channel("q:Q", title=f"queue ({size_unit})"),
            ],
        },
        name="queue",
    )
    return Chart(
        layered([area, _ticks("marks", x, unit), _ticks("drops", x, unit)], _QUEUE_HEIGHT),
        {"queue": as_columns(line), "drops": as_columns(counted[0]), "marks": as_columns(counted[1])},
    )


_TICKS: dict[str, tuple[int, Spec]] = {
    "drops": (
        6,
        {
            "type": "point",
            "shape": "triangle-down",
            "filled": True,
            "size": 42,
            "color": "var(--drop)",
            "opacity": 1,
        },
    ),
    "marks": (
        19,
        {
            "type": "tick",
            "orient": "vertical",
            "thickness": 1.2,
            "size": 9,
            "color": "var(--mark)",
            "opacity": 0.9,
        },
    ),
}


def _ticks(kind: str, x: Spec, unit: str) -> Spec:
    """Drops as triangles along the top, marks as strokes under them."""
    place, mark = _TICKS[kind]
    tooltip = [channel("t:Q", title=f"time ({unit})"), channel("n:Q", title=f"{kind} around then")]
    return layer(kind, mark, {"x": x, "y": {"value": place}, "tooltip": tooltip}, name=kind)


def _least(points: pl.DataFrame) -> float:
    """The least time above zero: a logarithmic axis has no zero."""
    above = points.filter(pl.col("x") > 0)["x"]
    return float(above[0]) if above.len() else 1.0


def as_columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """A data set as the page holds it."""
    return {name: frame[name].to_list() for name in frame.columns}
