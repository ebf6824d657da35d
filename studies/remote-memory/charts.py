"""The study's pictures: matrices by latency, networks by layers and size, predictions beside cells."""

from __future__ import annotations

import altair as alt
import polars as pl
import vl_convert
from programs import ALGORITHMS, HERE, LIBRARIES, MODELS, SIZES
from verdicts import at

_LEAST = 0.1
"""Percent: where a logarithmic axis begins; what is less stands there."""


def draw(grid: pl.DataFrame, cells: pl.DataFrame) -> None:
    """Writes all of them beside this file."""
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
        for of in ("convolution layers", "model size (MB)"):
            chosen = pl.DataFrame(rows).filter(library=library, of=of)
            kind = "log" if of.startswith("model") else "linear"
            base = alt.Chart(chosen, title=f"{library}, {local} local").encode(
                x=alt.X("figure:Q", title=of, scale=alt.Scale(type=kind), axis=alt.Axis(format="~r")),
                y=_percent("slower by (%), 10 µs, 40 Gb/s"),
            )
            points = base.mark_point(filled=True, size=50)
            columns.append(
                alt.layer(points, base.mark_text(dy=-9, fontSize=9).encode(text="model:N")).properties(
                    width=300, height=200
                )
            )
    return alt.vconcat(alt.hconcat(*columns[:2]), alt.hconcat(*columns[2:]))


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
