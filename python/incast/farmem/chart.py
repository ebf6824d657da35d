"""A grid as a picture: a heat map for each size of local memory, measured where it was, else predicted."""

from __future__ import annotations

from typing import Any

import polars as pl

from incast import text
from incast.extras import extra
from incast.report.vega import SCHEMA, Spec, channel

__all__ = ["FILE", "heat"]

FILE = "grid.svg"
_WIDTH, _HEIGHT = 92, 56
"""Pixels of a cell."""


def heat(cells: pl.DataFrame, name: str) -> str:
    """The picture as SVG; `cells` as `incast.farmem.measured` has them."""
    with extra("farmem"):
        import vl_convert
    rows = [_row(cell) for cell in cells.to_dicts()]
    latencies, rates, sizes = (
        list(dict.fromkeys(str(row[key]) for row in rows)) for key in ("latency", "rate", "local")
    )
    base = {
        "x": channel("rate:O", sort=rates, title="bandwidth", axis={"labelAngle": 0}),
        "y": channel("latency:O", sort=latencies, title="latency"),
    }
    shade = channel("percent:Q", title="slower by (%)", scale={"scheme": "oranges", "domainMin": 0})
    # A light ground bears dark figures: the darkest third has light ones.
    dark = (max(float(row["percent"]) for row in rows) or 1) * 0.6

    def words(shown: str, color: str, **mark: Any) -> Spec:
        light = {"condition": {"test": f"datum.percent > {dark}", "value": "white"}, "value": color}
        return {
            "mark": {"type": "text", **mark},
            "encoding": {**base, "text": channel(shown), "color": light},
        }

    layers = [
        {"mark": "rect", "encoding": {**base, "color": shade}},
        words("said:N", "#222", fontSize=13),
        words("beside:N", "#555", fontSize=9, dy=16),
    ]
    title = f"{name}: time more than with all memory local, by local memory"
    heat_map = {
        "$schema": SCHEMA,
        "data": {"values": rows},
        "title": {"text": title, "anchor": "start"},
        "facet": {"column": channel("local:O", sort=sizes, title=None)},
        "spec": {"width": _WIDTH * len(rates), "height": _HEIGHT * len(latencies), "layer": layers},
    }
    return vl_convert.vegalite_to_svg(heat_map) + "\n"


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
