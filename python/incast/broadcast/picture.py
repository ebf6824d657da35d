"""Draws a plan: the topology, and each tree's hops along its links in a colour of its own.

What goes one way is drawn on the right of the link's middle, trees side by side, each as wide as its rate.
The largest trees have colours; the others share one. As SVG, or as a page that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from incast import text
from incast.broadcast.plans import Plan
from incast.broadcast.topology import Topology
from incast.report import html
from incast.report.graph import Graph, Port
from incast.report.scheme import scheme
from incast.report.topology import Spot, layout
from incast.text import natural_key

_COLOURS = 7
"""So many trees have a colour of their own; what others carry is grey."""
_WIDEST = 7.0
_THINNEST = 1.4
_GAP = 1.0
_HOST = 22
"""Room of a host."""
_ROW = 18

Step = tuple[str, str]


def draw(topology: Topology, plan: Plan, page: bool = False) -> str:
    """The picture as SVG text, or as an HTML page."""
    svg = _svg(topology, plan)
    if not page:
        return f"{svg}\n"
    title = f"{plan.algorithm}: {plan.data['source']} to {text.plural(len(plan.rates), 'host')}"
    head = Markup(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>{}</title><style>{}</style>'
    ).format(title, Markup(html.resource("style.css")))
    about = f"{text.rate(plan.aggregate)} in all, {text.rate(plan.minimum)} at least, {_trees(plan)}"
    body = Markup('<h1>{}</h1><p>{}.</p><div class="scroll">{}</div></html>').format(title, about, svg)
    return f"{head}{body}\n"


def _trees(plan: Plan) -> str:
    return text.plural(len(plan.trees), "tree")


def _svg(topology: Topology, plan: Plan) -> Markup:
    graph = _graph(topology)
    hosts = len(topology.hosts)
    place = layout(scheme(graph, len(graph.tiers)), max(620.0, hosts * _HOST + 2 * _ROW))
    links = Markup("").join(_link(place.spots[link.a], place.spots[link.b]) for link in topology.links)
    trees = Markup("").join(_hops(plan, place.spots))
    nodes = Markup("").join(_node(name, place.spots[name], plan, graph.tiers[name]) for name in graph.tiers)
    legend, height = _legend(plan, place.height)
    label = f"{plan.algorithm}: {_trees(plan)} on {text.plural(len(graph.tiers), 'node')}"
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" role="img" '
        'aria-label="{}"><style>{}</style>{}{}{}{}</svg>'
    ).format(place.width, height, place.width, label, _style(), links, trees, nodes, legend)


def _style() -> Markup:
    """The colours of pages, in the light and in the dark."""
    light, dark = (
        html.resource("style.css").split(start, 1)[1].split("}", 1)[0]
        for start in (":root {", ":root {\n    --paper: #14")
    )
    rules = (
        "text{font:11px system-ui,sans-serif;fill:var(--ink)}.s{fill:var(--soft)}"
        ".l{stroke:var(--line);stroke-width:2;fill:none}.n{fill:var(--node);stroke:var(--node-line)}"
        ".o{stroke:var(--ink);stroke-width:2.5}.t{fill:none;stroke-linecap:butt}"
    )
    colours = "".join(f".c{n}{{stroke:var(--c{n});color:var(--c{n})}}" for n in range(_COLOURS + 1))
    return Markup(
        f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{--paper: #14{dark}}}}}{rules}{colours}"
    )


def _graph(topology: Topology) -> Graph:
    """As the report's pictures have it: hosts at the bottom, switches by their distance from them."""
    near: dict[str, set[str]] = {node.id: set() for node in topology.nodes}
    for link in topology.links:
        near[link.a].add(link.b)
        near[link.b].add(link.a)
    names = sorted(near, key=natural_key)
    neighbours = {name: tuple(sorted(near[name], key=natural_key)) for name in names}
    ports = tuple(Port(f"{a}:{b}", a, b, rate) for (a, b), rate in topology.arcs.items())
    return Graph(_tiers(neighbours, topology.hosts), ports, neighbours)


def _tiers(neighbours: Mapping[str, tuple[str, ...]], hosts: list[str]) -> dict[str, int]:
    found = dict.fromkeys(hosts, 0)
    wave = list(found)
    while wave:
        wave = list(dict.fromkeys(n for node in wave for n in neighbours[node] if n not in found))
        tier = max(found.values()) + 1
        found |= dict.fromkeys(wave, tier)
    return {name: found.get(name, 1) for name in neighbours}


def _colour(number: int) -> int:
    return min(number, _COLOURS)


def _hops(plan: Plan, spots: Mapping[str, Spot]) -> list[Markup]:
    """A line for each direction of a link and colour that takes it."""
    carried: dict[Step, dict[int, int]] = {}
    for number, tree in enumerate(_largest(plan)):
        for hop in tree["hops"]:
            for step in pairwise(hop):
                by_colour = carried.setdefault(step, {})
                by_colour[_colour(number)] = by_colour.get(_colour(number), 0) + tree["rate"]
    most = max((sum(by_colour.values()) for by_colour in carried.values()), default=1)
    drawn = []
    for (a, b), by_colour in carried.items():
        beside = _GAP
        for colour, rate in sorted(by_colour.items()):
            width = max(_THINNEST, _WIDEST * math.sqrt(rate / most))
            drawn.append(
                _line(spots[a], spots[b], beside + width / 2, width, colour, f"{a} → {b}: {text.rate(rate)}")
            )
            beside += width + _GAP / 2
    return drawn


def _largest(plan: Plan) -> list[dict[str, Any]]:
    """Those that carry most first."""
    return sorted(plan.trees, key=lambda tree: -tree["rate"] * len(tree["hops"]))


def _ends(a: Spot, b: Spot) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a link leaves both boxes: their middles' height where one is next to the other."""
    if abs(a.y - b.y) < 1:
        left, right = (a, b) if a.x < b.x else (b, a)
        inner = (left.x + left.width / 2, left.y), (right.x - right.width / 2, right.y)
        return inner if left is a else inner[::-1]
    down = 1 if b.y > a.y else -1
    return (_near(a, b), a.y + down * a.height / 2), (_near(b, a), b.y - down * b.height / 2)


def _near(box: Spot, other: Spot) -> float:
    """The place on a box that is nearest to the other's middle."""
    reach = max(0.0, box.width / 2 - 8)
    return min(max(other.x, box.x - reach), box.x + reach)


def _link(a: Spot, b: Spot) -> Markup:
    (x1, y1), (x2, y2) = _ends(a, b)
    return Markup('<path class="l" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(x1, y1, x2, y2)


def _line(a: Spot, b: Spot, beside: float, width: float, colour: int, said: str) -> Markup:
    """Beside the link's middle, on the right as one goes, with its head at the end."""
    (x1, y1), (x2, y2) = _ends(a, b)
    long = math.hypot(x2 - x1, y2 - y1) or 1.0
    ahead, across = ((x2 - x1) / long, (y2 - y1) / long), (-(y2 - y1) / long, (x2 - x1) / long)
    x1, y1, x2, y2 = (v + beside * d for v, d in zip((x1, y1, x2, y2), across * 2, strict=True))
    head = 2.5 + width
    bx, by = x2 - ahead[0] * head, y2 - ahead[1] * head
    wings = [(bx + s * across[0] * head * 0.45, by + s * across[1] * head * 0.45) for s in (1, -1)]
    return Markup(
        '<g class="c{}"><title>{}</title>'
        '<path class="t" stroke-width="{:.1f}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>'
        '<path fill="currentColor" stroke="none" d="M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z"/></g>'
    ).format(colour, said, width, x1, y1, bx, by, x2, y2, *wings[0], *wings[1])


def _node(name: str, spot: Spot, plan: Plan, tier: int) -> Markup:
    rate = plan.rates.get(name)
    is_source = name == plan.data["source"]
    said = (
        f"{name}: {'the source' if is_source else text.rate(rate) if rate is not None else 'relays nothing'}"
    )
    title = Markup("<title>{}</title>").format(said)
    if tier:
        return Markup(
            '<g>{}<rect class="n" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4"/>{}</g>'
        ).format(
            title,
            spot.x - spot.width / 2,
            spot.y - spot.height / 2,
            spot.width,
            spot.height,
            _name(name, spot),
        )
    turned = Markup(
        '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="end" dy="4" '
        'transform="rotate(-75 {:.1f} {:.1f})">{}</text>'
    )
    label = turned.format(
        "" if rate is not None or is_source else "s", spot.x, spot.y + 12, spot.x, spot.y + 12, name
    )
    ring = "n o" if is_source else "n"
    return Markup('<g>{}<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="5"/>{}</g>').format(
        title, ring, spot.x, spot.y, label
    )


def _name(name: str, spot: Spot) -> Markup:
    """A switch's name where it fits."""
    if len(name) * 6.4 > spot.width:
        return Markup("")
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(
        spot.x, spot.y + 4, name
    )


def _legend(plan: Plan, top: float) -> tuple[Markup, float]:
    """What each colour is; and how high the whole is."""
    trees = _largest(plan)
    rows = [
        f"{text.rate(tree['rate'])} to {text.plural(len(tree['hops']), 'host')}" for tree in trees[:_COLOURS]
    ]
    if len(trees) > _COLOURS:
        rows.append(f"{text.plural(len(trees) - _COLOURS, 'other tree')}")
    drawn = []
    for number, said in enumerate(rows):
        y = top + _ROW * (number + 1)
        drawn.append(
            Markup(
                '<path class="t c{}" stroke-width="4" d="M12 {:.0f}h22"/><text x="42" y="{:.0f}">{}</text>'
            ).format(number, y, y + 4, said)
        )
    return Markup("").join(drawn), top + _ROW * (len(rows) + 1)
