"""Draws a topology as SVG: tiers from top to bottom, links coloured by load.

Each port is the half of its link that starts at its node. Colours and hover figures are set by the page
from `data-p`.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from incast.report.scheme import Edge, Node, Scheme

_ROW = 120
_BOX = 26
_MARGIN = 12
_SPACING = 20  # least room of a host that is drawn with its link
_TILE = 16
_TALL = 1.5  # a tile's height by its width, gap included
_LETTER = 6.8


@dataclass(frozen=True)
class Spot:
    """Where a node is drawn: the box's centre and size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Positions of all nodes in a picture of this size."""

    spots: dict[str, Spot]
    width: float
    height: float
    tiled: bool
    """Hosts are tiles that show their link's two directions themselves."""


def layout(scheme: Scheme, width: float) -> Layout:
    """Places hosts under their switch, switches over what they connect."""
    tiers: dict[int, list[Node]] = {}
    for node in scheme.nodes:
        tiers.setdefault(node.tier, []).append(node)
    top = max(tiers, default=0)
    near, tier_of = _neighbours(scheme), _tier_of(scheme)
    arcs = any(tier_of[e.source] == tier_of[e.target] for e in scheme.edges)
    head = _MARGIN + _BOX / 2 + (56 if arcs else 0)
    height_of = {tier: head + (top - tier) * _ROW for tier in range(top + 1)}
    children = _children(tiers, near)
    hosts = sum(len(c) for c in children.values())
    tiled = hosts * _SPACING > width - 2 * _MARGIN
    spots, bottom = _place_leaves(children, width, height_of, tiled)
    for tier in range(2 if 1 in tiers else 1, top + 1):
        _place_tier(tiers.get(tier, []), near, spots, width, height_of[tier])
    return Layout(spots, width, bottom, tiled)


def draw(scheme: Scheme, width: float, classes: list[str], label: str) -> Markup:
    """The picture; `classes` are the load classes that the edges have at first."""
    place = layout(scheme, width)
    tiers, near = _tier_of(scheme), _neighbours(scheme)
    widest = max((e.rate_bps for e in scheme.edges), default=0) or 1
    thin = 0.6 if len(scheme.edges) > 300 else 1.0
    marks = []
    for index, edge in enumerate(scheme.edges):
        stroke = (2 + 4 * (edge.rate_bps / widest) ** 0.5) * thin
        if place.tiled and 0 in (tiers[edge.source], tiers[edge.target]):
            marks.append(_tile_half(edge, place, tiers, near, index, classes[index]))
        else:
            marks.append(_line(edge, place, tiers, index, stroke, classes[index]))
    nodes = [_node(n, place) for n in scheme.nodes if not (place.tiled and n.tier == 0)]
    return Markup(
        '<svg class="net" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}{}</svg>'
    ).format(place.width, place.height, label, Markup("").join(marks), Markup("").join(nodes))


def _neighbours(scheme: Scheme) -> dict[str, list[str]]:
    near: dict[str, dict[str, None]] = {n.key: {} for n in scheme.nodes}
    for edge in scheme.edges:
        near[edge.source][edge.target] = None
        near[edge.target][edge.source] = None
    return {key: list(keys) for key, keys in near.items()}


def _tier_of(scheme: Scheme) -> dict[str, int]:
    return {n.key: n.tier for n in scheme.nodes}


def _children(tiers: dict[int, list[Node]], near: dict[str, list[str]]) -> dict[str, list[Node]]:
    """Hosts of each switch of tier 1; hosts without one stand under no name."""
    leaves = {n.key for n in tiers.get(1, [])}
    children: dict[str, list[Node]] = {key.key: [] for key in tiers.get(1, [])}
    for host in tiers.get(0, []):
        parent = next((key for key in near[host.key] if key in leaves), "")
        children.setdefault(parent, []).append(host)
    return children


def _place_leaves(
    children: dict[str, list[Node]], width: float, height_of: dict[int, float], tiled: bool
) -> tuple[dict[str, Spot], float]:
    """Each leaf gets room for its hosts, and at least that of one and a half."""
    spots: dict[str, Spot] = {}
    shares = [max(len(hosts), 1.5) for hosts in children.values()]
    unit = (width - 2 * _MARGIN) / (sum(shares) or 1)
    leaf_y, host_y = height_of.get(1, height_of[0]), height_of[0]
    left = float(_MARGIN)
    tile = _tile_size(children, unit) if tiled else 0.0
    for (leaf, hosts), share in zip(children.items(), shares, strict=True):
        room = share * unit
        gap = min(10.0, room * 0.15)
        if leaf:
            spots[leaf] = Spot(left + room / 2, leaf_y, room - gap, _BOX)
        if tiled:
            columns = _even_columns(len(hosts), int((room - gap) // tile))
            start = left + room / 2 - columns * tile / 2
            for n, host in enumerate(hosts):
                x = start + (n % columns + 0.5) * tile
                y = leaf_y + _BOX + 10 + (n // columns + 0.5) * tile * _TALL
                spots[host.key] = Spot(x, y, tile - 2.5, tile * _TALL - 5)
        else:
            for n, host in enumerate(hosts):
                x = left + room * (n + 0.5) / max(len(hosts), 1)
                spots[host.key] = Spot(x, host_y, 9, 9)
        left += room
    return spots, _bottom(children, spots, tiled)


def _even_columns(count: int, fit: int) -> int:
    """As few columns as give no more rows than `fit` columns would."""
    rows = -(-count // max(fit, 1))
    return -(-count // rows) if rows else 1


def _bottom(children: dict[str, list[Node]], spots: dict[str, Spot], tiled: bool) -> float:
    """Below the hosts, with room for their names as `_host` writes them."""
    lowest = max((s.y + s.height / 2 for s in spots.values()), default=0.0)
    names = [h.label for hosts in children.values() for h in hosts]
    if tiled or not names:
        return lowest + _MARGIN
    upright = max(map(len, names)) * _LETTER <= _host_room(spots)
    return lowest + (26 if upright else 72)


def _tile_size(children: dict[str, list[Node]], unit: float) -> float:
    narrowest = min((max(len(h), 1.5) * unit for h in children.values() if h), default=_TILE)
    return max(5.0, min(float(_TILE), narrowest * 0.8))


def _place_tier(
    nodes: list[Node], near: dict[str, list[str]], spots: dict[str, Spot], width: float, y: float
) -> None:
    """Spreads a tier over the width, in the order of what its nodes connect below."""

    def below(node: Node) -> float:
        placed = [spots[k].x for k in near[node.key] if k in spots]
        return sum(placed) / len(placed) if placed else width / 2

    ordered = sorted(nodes, key=lambda n: round(below(n), 3))
    room = (width - 2 * _MARGIN) / max(len(ordered), 1)
    box = min(room * 0.75, max(40.0, max((len(n.label) for n in ordered), default=0) * 7.5 + 14))
    for index, node in enumerate(ordered):
        spots[node.key] = Spot(_MARGIN + room * (index + 0.5), y, box, _BOX)


def _line(edge: Edge, place: Layout, tiers: dict[str, int], index: int, stroke: float, load: str) -> Markup:
    """The half of the link that starts at its sender."""
    a, b = place.spots[edge.source], place.spots[edge.target]
    shift = (edge.lane - (edge.lanes - 1) / 2) * (stroke + 2)
    if tiers[edge.source] == tiers[edge.target]:
        path = _arc(a, b, shift)
    else:
        upper, lower = (a, b) if tiers[edge.source] > tiers[edge.target] else (b, a)
        x = lower.x if lower.height < _BOX and abs(lower.x - upper.x) < upper.width / 2 else upper.x
        top, end = (x + shift, upper.y + upper.height / 2), (lower.x + shift, lower.y - lower.height / 2)
        middle = ((top[0] + end[0]) / 2, (top[1] + end[1]) / 2)
        path = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*(top if upper is a else end), *middle)
    return Markup('<path class="l {}" data-p="{}" stroke-width="{:.1f}" d="{}"/>').format(
        load, index, stroke, path
    )


def _arc(a: Spot, b: Spot, shift: float) -> str:
    """Half of an arch over the tier; a whole loop for links within a group."""
    if a is b:
        x, y = a.x, a.y - a.height / 2
        return (
            f"M{x - 16:.1f} {y:.1f}C{x - 16:.1f} {y - 44:.1f} {x + 16:.1f} {y - 44:.1f} {x + 16:.1f} {y:.1f}"
        )
    rise = min(64.0, 36 + abs(a.x - b.x) * 0.06) + shift
    start, end = (a.x, a.y - a.height / 2), (b.x, b.y - b.height / 2)
    peak = ((start[0] + end[0]) / 2, min(start[1], end[1]) - rise)
    control = ((start[0] + peak[0]) / 2, peak[1] + rise * 0.1)
    halfway = ((control[0] + (end[0] + peak[0]) / 2) / 2, control[1])
    return "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*start, *control, *halfway)


def _tile_half(
    edge: Edge,
    place: Layout,
    tiers: dict[str, int],
    near: dict[str, list[str]],
    index: int,
    load: str,
) -> Markup:
    """Upper half of a host's tile: what it sends; lower half: what it is sent."""
    sends = tiers[edge.source] == 0
    host, other = (edge.source, edge.target) if sends else (edge.target, edge.source)
    tile = place.spots[host]
    part = tile.width / len(near[host])
    x = tile.x - tile.width / 2 + part * near[host].index(other)
    half = tile.height / 2
    return Markup(
        '<rect class="t {}" data-p="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
    ).format(load, index, x, tile.y - half if sends else tile.y + 0.3, max(part - 0.5, 1), half - 0.3)


def _node(node: Node, place: Layout) -> Markup:
    spot = place.spots[node.key]
    if node.tier == 0:
        return _host(node, spot, _host_room(place.spots))
    shape = Markup('<rect class="n" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4"/>').format(
        spot.x - spot.width / 2, spot.y - spot.height / 2, spot.width, spot.height
    )
    name = _short(node.label, int((spot.width - 4) / _LETTER))
    return Markup('<g>{}<text x="{:.1f}" y="{:.1f}">{}</text><title>{}</title></g>').format(
        shape, spot.x, spot.y + 4, name, node.label
    )


def _short(label: str, letters: int) -> str:
    """The label where it fits, else the number in it, else its beginning."""
    if len(label) <= letters:
        return label
    number = re.match(r"\d+", label) or re.search(r"\d+$", label)
    if number and len(number[0]) <= letters:
        return number[0]
    return f"{label[: letters - 1]}…" if letters >= 3 else ""


def _host(node: Node, spot: Spot, room: float) -> Markup:
    """A dot with its name below, upright or, where room is short, turned."""
    dot = Markup('<circle class="n" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(spot.x, spot.y)
    upright = len(node.label) * _LETTER <= room
    name = node.label if upright else _short(node.label, 9)
    turn = "" if upright else f"rotate(-75 {spot.x:.1f} {spot.y + 14:.1f})"
    return Markup(
        '<g>{}<text class="{}" x="{:.1f}" y="{:.1f}" transform="{}">{}</text><title>{}</title></g>'
    ).format(dot, "" if upright else "e", spot.x, spot.y + (20 if upright else 14), turn, name, node.label)


def _host_room(spots: dict[str, Spot]) -> float:
    xs = sorted(s.x for s in spots.values() if s.height < _BOX)
    return min((b - a for a, b in pairwise(xs)), default=120.0)
