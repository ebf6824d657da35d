"""Specifications of Vega-Lite as dictionaries.

Not made with Altair: a page needs only JSON, and Altair takes longer to load than a small run takes.
"""

from typing import Any

__all__ = ["SCHEMA", "Spec", "channel", "layer", "layered"]

Spec = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

_TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}


def channel(shown: str, **settings: Any) -> Spec:
    """An encoding channel or a line of a tooltip: `t:Q` shows the field `t`, which is quantitative."""
    field, kind = shown.split(":")
    return {"field": field, "type": _TYPES[kind], **settings}


def layer(data: str, mark: Spec, encoding: Spec, **rest: Any) -> Spec:
    """One kind of mark for the rows of a named data set."""
    return {"data": {"name": data}, "mark": mark, "encoding": encoding, **rest}


def layered(layers: list[Spec], height: int) -> Spec:
    """A chart as wide as its place on the page, in the page's style."""
    return {
        "$schema": SCHEMA,
        "config": _CONFIG,
        "width": "container",
        "height": height,
        "layer": layers,
    }


_CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--axis)",
        "tickColor": "var(--axis)",
        "gridColor": "var(--grid)",
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "titlePadding": 8,
    },
    "axisX": {"grid": False},
}
