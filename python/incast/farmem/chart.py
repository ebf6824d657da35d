"""A grid as a picture: a heat map for each size of local memory, measured where it was, else predicted."""

from __future__ import annotations

from typing import Any

import polars as pl

from incast import text
from incast.extras import extra

__all__ = ["FILE", "heat"]

FILE = "grid.svg"
_WIDTH, _HEIGHT = 92, 56
"""Pixels of a cell."""


def heat(cells: pl.DataFrame, name: str) -> str:
    """The picture as SVG; `cells` as `incast.farmem.measured` has them."""
    with extra("farmem"):
        import altair as alt
        import vl_convert
    rows = [_row(cell) for cell in cells.to_dicts()]
    latencies, rates, sizes = (
        list(dict.fromkeys(str(row[key]) for row in rows)) for key in ("latency", "rate", "local")
    )
    base = alt.Chart().encode(
        x=alt.X("rate:O", sort=rates, title="bandwidth", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("latency:O", sort=latencies, title="latency"),
    )
    shade = alt.Color("percent:Q", title="slower by (%)", scale=alt.Scale(scheme="oranges", domainMin=0))
    # A light ground bears dark figures: the darkest third has light ones.
    dark = (max(float(row["percent"]) for row in rows) or 1) * 0.6
    said = base.mark_text(fontSize=13).encode(
        text="said:N", color=alt.condition(alt.datum.percent > dark, alt.value("white"), alt.value("#222"))
    )
    beside = base.mark_text(fontSize=9, dy=16).encode(
        text="beside:N", color=alt.condition(alt.datum.percent > dark, alt.value("white"), alt.value("#555"))
    )
    chart = (
        alt.layer(base.mark_rect().encode(color=shade), said, beside, data=pl.DataFrame(rows))
        .properties(width=_WIDTH * len(rates), height=_HEIGHT * len(latencies))
        .facet(column=alt.Column("local:O", sort=sizes, title=None))
        .properties(
            title=alt.TitleParams(
                f"{name}: time more than with all memory local, by local memory", anchor="start"
            )
        )
    )
    return vl_convert.vegalite_to_svg(chart.to_dict()) + "\n"


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    predicted, measured = cell["degradation"], cell["measured"]
    shown = predicted if measured is None else measured
    return {
        "latency": text.time(cell["latency_ps"]),
        "rate": text.rate(cell["bandwidth_bps"]),
        "local": f"{text.size(cell['local_bytes'])} local",
        "percent": round(shown * 100, 3),
        "said": text.percent(shown) if shown >= 0 else f"−{text.percent(-shown)}",
        "beside": "predicted" if measured is None else f"predicted {text.percent(max(0.0, predicted))}",
    }
