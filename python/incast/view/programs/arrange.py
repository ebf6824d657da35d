"""Where nodes of a program are drawn: boxes in rows, tier below tier; of many nodes, small tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MARGIN = 12.0
_WIDE, _HIGH, _GAP = 86.0, 38.0, 12.0
"""Of a box with a name and a level; between boxes of a row."""
_BELOW, _BETWEEN = 54.0, 26.0
"""Room below a tier, where connections are seen, and between rows of a tier."""
_TILE, _CLOSE = 15.0, 3.0
"""Of a tile, and between tiles."""
_BOXES_MAX = 96
"""More nodes are tiles without names."""
Box = tuple[float, float, float, float]
"""The centre and the size of a node."""


@dataclass(frozen=True)
class Spots:
    """Where each node is, and the height of the picture."""

    boxes: list[Box]
    height: float


def arrange(tiers: Sequence[int], width: float) -> Spots:
    """Places nodes by their tiers, from 0 at the top; those of a tier stay in their order."""
    if len(tiers) > _BOXES_MAX:
        return _rows(tiers, width, (_TILE, _TILE), _CLOSE)
    below = [node for node, tier in enumerate(tiers) if tier]
    room = (width - 2 * _MARGIN) / max(len(below), 1)
    if room < _WIDE + _GAP:
        return _rows(tiers, width, (_WIDE, _HIGH), _GAP)
    # Each has a column of its own, so that no connection passes behind a box.
    columns = {node: _MARGIN + (n + 0.5) * room for n, node in enumerate(below)}
    top = _MARGIN + _BELOW / 2 + _HIGH / 2
    boxes = [
        (columns.get(node, width / 2), top + tier * (_HIGH + _BELOW), _WIDE, _HIGH)
        for node, tier in enumerate(tiers)
    ]
    return Spots(boxes, top + max(tiers, default=0) * (_HIGH + _BELOW) + _HIGH / 2 + _MARGIN)


def _rows(tiers: Sequence[int], width: float, size: tuple[float, float], gap: float) -> Spots:
    """Each tier in as few rows as fit, evenly filled."""
    wide, high = size
    fit = max(1, int((width - 2 * _MARGIN + gap) // (wide + gap)))
    between = min(_BETWEEN, gap * 2)
    boxes: list[Box] = [(0.0, 0.0, wide, high)] * len(tiers)
    top = _MARGIN + _BELOW / 2
    for tier in sorted(set(tiers)):
        members = [node for node, own in enumerate(tiers) if own == tier]
        rows = -(-len(members) // fit)
        even = -(-len(members) // rows)
        for first in range(0, len(members), even):
            line = members[first : first + even]
            left = (width - (wide + gap) * len(line)) / 2
            for n, node in enumerate(line):
                boxes[node] = (left + (n + 0.5) * (wide + gap), top + high / 2, wide, high)
            top += high + between
        top += _BELOW - between
    return Spots(boxes, top - _BELOW + _MARGIN)
