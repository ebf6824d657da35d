"""The study's pictures: matrices by latency, networks by layers and size, predictions compared with cells."""

from __future__ import annotations

import math

import altair as alt
import polars as pl
import vl_convert
from programs import ALGORITHMS, HERE, LIBRARIES, MODELS, SIZES
from verdicts import at

_LEAST = 0.1
"""Percent: where a logarithmic axis begins; what is less stands there."""


def draw(grid: pl.DataFrame, cells: pl.DataFrame) -> None:
    """Writes all of them next to this file."""
    for name, chart in (
        ("matrix", _matrix(grid)),
        ("networks", _networks(grid)),
        ("predicted", _predicted(cells)),
    ):
        (HERE / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()) + "\n")


def _percent(title: str, **more: object) -> alt.Y:
    return alt.Y(
        "percent:Q",
        title=title,
        scale=alt.Scale(type="log", domainMin=_LEAST),
        axis=alt.Axis(format="~r"),
        **more,
    )


def _matrix(grid: pl.DataFrame) -> alt.Chart:
    rows = [
        {
            "latency": us,
            "percent": max(_LEAST, at(grid, f"{algorithm}-{size}-1", latency_us=us)),
            "algorithm": algorithm,
            "size": f"{size} × {size}",
        }
        for algorithm in ALGORITHMS
        for size in SIZES
        for us in (1, 10, 20)
    ]
    return (
        alt.Chart(pl.DataFrame(rows), title="200 MB local, 40 Gb/s, once; 0 stands at the foot")
        .mark_line(point=True)
        .encode(
            x=alt.X("latency:Q", title="latency (µs)"),
            y=_percent("slower by (%)"),
            color=alt.Color("algorithm:N", title="algorithm"),
            strokeDash=alt.StrokeDash("size:N", title="matrix", sort=["4096 × 4096", "2048 × 2048"]),
        )
        .properties(width=380, height=220)
    )


def _networks(grid: pl.DataFrame) -> alt.Chart:
    rows = [
        {
            "library": library,
            "model": model,
            "percent": max(_LEAST, at(grid, f"{library}-{model}", local=local)),
            "of": of,
            "figure": getattr(figures, field),
            "local": local,
        }
        for library, local in ((LIBRARIES[1], "200 MB"), (LIBRARIES[0], "50 %"))
        for model, figures in MODELS.items()
        for of, field in (("convolution layers", "layers"), ("model size (MB)", "size_mb"))
    ]
    columns = []
    for library, local in ((LIBRARIES[1], "200 MB"), (LIBRARIES[0], "50 %")):
        for of, kind in (("convolution layers", "linear"), ("model size (MB)", "log")):
            chosen = [row for row in rows if row["library"] == library and row["of"] == of]
            labelled = pl.DataFrame(_labelled(chosen, kind))
            base = alt.Chart(labelled, title=f"{library}, {local} local").encode(
                x=alt.X(
                    "figure:Q",
                    title=of,
                    scale=alt.Scale(type=kind, domain=_reach(chosen, "figure", kind), nice=False),
                    axis=alt.Axis(format="~r"),
                ),
                y=alt.Y(
                    "percent:Q",
                    title="slower by (%), 10 µs, 40 Gb/s",
                    scale=alt.Scale(type="log", domain=_reach(chosen, "percent", "log"), nice=False),
                    axis=alt.Axis(format="~r"),
                ),
            )
            points = base.mark_point(filled=True, size=50)
            texts = [
                base.transform_filter(alt.datum.side == side)
                .mark_text(dx=dx, dy=dy, align=align, fontSize=_FONT)
                .encode(text="model:N")
                for side, (dx, dy, align) in _SIDES.items()
            ]
            columns.append(alt.layer(points, *texts).properties(width=_WIDTH, height=_HEIGHT))
    return alt.vconcat(alt.hconcat(*columns[:2]), alt.hconcat(*columns[2:]))


_WIDTH, _HEIGHT, _FONT = 300, 200, 9
_SIDES = {
    "above": (0, -9, "center"),
    "below": (0, 11, "center"),
    "right": (7, 0, "left"),
    "left": (-7, 0, "right"),
    "high": (0, -19, "center"),
    "low": (0, 21, "center"),
}
"""Where a label stands: its distance from the point in pixels, and which part of it that is of."""


def _reach(rows: list[dict[str, object]], name: str, kind: str) -> list[float]:
    """An axis from the least to the most, with room for labels."""
    values = [float(row[name]) for row in rows]  # type: ignore[arg-type]
    if kind == "log":
        return [min(values) / 2, max(values) * 2]
    return [0.0, max(values) * 1.2]


def _labelled(rows: list[dict[str, object]], kind: str) -> list[dict[str, object]]:
    """Each with the first side of its point where its label lies on no point and no label before."""

    def at(row: dict[str, object], name: str, kind: str, pixels: int) -> float:
        low, high = _reach(rows, name, kind)
        value = float(row[name])  # type: ignore[arg-type]
        part = math.log(value / low) / math.log(high / low) if kind == "log" else (value - low) / (high - low)
        return part * pixels

    places = [(at(row, "figure", kind, _WIDTH), -at(row, "percent", "log", _HEIGHT)) for row in rows]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    found = []
    for row, (x, y) in zip(rows, places, strict=True):
        wide = 0.62 * _FONT * len(str(row["model"]))
        boxes = {side: _box(side, x, y, wide) for side in _SIDES}
        free = [side for side, box in boxes.items() if not any(_meet(box, other) for other in taken)]
        side = (free or ["above"])[0]
        taken.append(boxes[side])
        found.append({**row, "side": side})
    return found


_Box = tuple[float, float, float, float]


def _box(side: str, x: float, y: float, wide: float) -> _Box:
    dx, dy, align = _SIDES[side]
    left = x + dx - {"center": wide / 2, "left": 0.0, "right": wide}[align]
    return left, y + dy - _FONT / 2, left + wide, y + dy + _FONT / 2


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _predicted(cells: pl.DataFrame) -> alt.Chart:
    rows = cells.select(
        pl.col("program").str.replace(r"-\d+$", ""),
        (pl.col("measured") * 100).clip(_LEAST).alias("measured"),
        (pl.col("degradation") * 100).clip(_LEAST).alias("percent"),
        pl.col("program").str.extract(r"^(litert|tensorflow)").fill_null("convolution").alias("kind"),
    )
    most = float(max(rows["measured"].max(), rows["percent"].max()))  # type: ignore[arg-type,type-var]
    line = alt.Chart(pl.DataFrame({"measured": [_LEAST, most], "percent": [_LEAST, most]})).mark_line(
        color="#bbb"
    )
    points = alt.Chart(rows).mark_point(size=24).encode(color=alt.Color("kind:N", title=None))
    return (
        alt.layer(line, points)
        .encode(
            x=alt.X(
                "measured:Q", title="measured (%)", scale=alt.Scale(type="log"), axis=alt.Axis(format="~r")
            ),
            y=_percent("predicted (%)"),
        )
        .properties(width=380, height=280, title="Slower by: predicted from one traced run, and measured")
    )
