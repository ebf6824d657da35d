"""Places a topology's nodes in a picture: tiers from top to bottom, hosts under their switch."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from incast.report.scheme import Node, Scheme

_ROW = 120
_BOX = 26
_MARGIN = 12
_SPACING = 20  # least room of a host that is drawn with its link
_TILE = 16
_TALL = 1.5  # a tile's height by its width, gap included
_LETTER = 6.8
_LETTERS = 9  # of a turned name: `LETTERS` of `network.js`


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


def picture(scheme: Scheme, width: float) -> dict[str, Any]:
    """What `network.js` of the view draws: nodes with their places, and the halves of links."""
    place = layout(scheme, width)
    order = {node.key: position for position, node in enumerate(scheme.nodes)}
    return {
        "width": place.width,
        "height": place.height,
        "tiled": place.tiled,
        "nodes": [
            {
                "label": node.label,
                "what": "Switch" if node.tier else "Host",
                "tier": node.tier,
                "count": node.count,
                "box": _box(place.spots[node.key]),
                "subject": -1,
            }
            for node in scheme.nodes
        ],
        "edges": [
            {
                "ends": [order[edge.source], order[edge.target]],
                "subjects": edge.ports,
                "rate_bps": edge.rate_bps,
                "lane": [edge.lane, edge.lanes],
                "whole": False,
            }
            for edge in scheme.edges
        ],
    }


def _box(spot: Spot) -> tuple[float, ...]:
    return tuple(round(each, 1) for each in (spot.x, spot.y, spot.width, spot.height))


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
    """Below the hosts, with room for their names as `network.js` writes them."""
    lowest = max((s.y + s.height / 2 for s in spots.values()), default=0.0)
    names = [h.label for hosts in children.values() for h in hosts]
    if tiled or not names:
        return lowest + _MARGIN
    longest = max(map(len, names))
    upright = longest * _LETTER <= _host_room(spots)
    return lowest + (26 if upright else 16 + min(longest, _LETTERS) * _LETTER)


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


def _host_room(spots: dict[str, Spot]) -> float:
    xs = sorted(s.x for s in spots.values() if s.height < _BOX)
    return min((b - a for a, b in pairwise(xs)), default=120.0)
