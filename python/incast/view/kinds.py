"""Which kind of run lies in a place, by the marker of its folder, and how it is followed."""

from __future__ import annotations

from typing import Any

from incast.folder import BROADCAST_MARKER, MINE_MARKER, WALKS_MARKER
from incast.view import places
from incast.view.follow import follow
from incast.view.programs.broadcast import Broadcast
from incast.view.programs.mining import Mining
from incast.view.programs.program import Program
from incast.view.programs.walks import Walks
from incast.view.run import Run
from incast.view.simulated import Simulated

_OF: dict[str | None, type[Run]] = {
    BROADCAST_MARKER: Broadcast,
    WALKS_MARKER: Walks,
    MINE_MARKER: Mining,
}


def followed(run: Run, kind: str, name: str) -> dict[str, Any]:
    """Facts and charts of what somebody follows, and what to emphasise; raises `UnknownError`."""
    if isinstance(run, Program):
        return run.follow(kind, name)
    assert isinstance(run, Simulated), "there are two kinds"
    return follow(run, kind, name)


def opened(place: places.Place) -> Run:
    """The run in a place; where there is none, its `problem` says so."""
    return _OF.get(places.marker(place.folder), Simulated)(place)
