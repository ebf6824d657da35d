"""A figure as SVG in the light theme, for manuals: its panels side by side."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import vl_convert

from incast.report import html
from incast.report.charts import Chart
from incast.report.parts import Figure

_WIDTH = 330
_VARIABLE = re.compile(r"var\((--[a-z0-9-]+)\)")


def svg(figure: Figure) -> str:
    """The figure's charts in its columns."""
    panels = [_panel(heading, chart, bool(figure.keys)) for heading, chart in figure.charts]
    columns = figure.columns
    # Each panel has its own scales; where they are equal, their domains say so.
    own = {"scale": {"color": "independent", "strokeDash": "independent"}}
    rows = [{"hconcat": panels[at : at + columns], "resolve": own} for at in range(0, len(panels), columns)]
    config = figure.charts[0][1].spec["config"] | {"background": "white"}
    whole = {"vconcat": rows, "resolve": own, "config": config}
    return vl_convert.vegalite_to_svg(_coloured(whole)) + "\n"


def _panel(heading: str, chart: Chart, keyed: bool) -> dict[str, Any]:
    """A chart with its heading, and with a legend where the page has one next to it."""
    spec = {key: value for key, value in deepcopy(chart.spec).items() if key not in ("$schema", "config")}
    for encoding in (layer["encoding"] for layer in spec["layer"][:2] if keyed):
        # A panel of one curve says in its heading what it is.
        if len(encoding.get("color", {}).get("scale", {}).get("domain", ())) > 1:
            for channel in encoding.keys() & {"color", "strokeDash"}:
                encoding[channel]["legend"] = {"orient": "top", "title": None}
    title = {"text": heading, "fontSize": 12, "fontWeight": "normal", "anchor": "start"}
    return {**_with_data(spec, chart), "width": _WIDTH, "title": title}


def _with_data(part: Any, chart: Chart) -> Any:
    """The specification with its data sets' rows in place of their names."""
    if isinstance(part, list):
        return [_with_data(each, chart) for each in part]
    if not isinstance(part, dict):
        return part
    if set(part) == {"name"} and part["name"] in chart.columns:
        columns = chart.columns[part["name"]]
        return {
            "values": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        }
    # Without the names of views: several panels have the same.
    return {key: _with_data(value, chart) for key, value in part.items() if key != "name"}


def _coloured(spec: dict[str, Any]) -> dict[str, Any]:
    """Colours in place of the style's variables."""
    first = html.resource("style.css").split("}", 1)[0]
    values = dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]+)", first))
    coloured: dict[str, Any] = json.loads(_VARIABLE.sub(lambda found: values[found[1]], json.dumps(spec)))
    return coloured
