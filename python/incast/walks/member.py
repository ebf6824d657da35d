"""A server of walks, as a member of a live run: its part of the graph is in a file, its walks go to another.

It loads no more than it needs, so that many servers start quickly.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from incast import _core
from incast.errors import RunError, why
from incast.live.control import FRAME_MAX_BYTES, Frame
from incast.live.member import Work

PART, WALKS, JOURNAL = "part.npz", "walks.npz", ".journal"
"""Files: a server's part of the graph, what it leaves, and what it notes on the way."""
LEFT = "left"
"""What it would leave in a file, in its report."""
SAMPLED = (
    "time_ps", "queue", "queue_max", "timeout_ps", "generated", "finished", "steps", "arrived", "served",
    "drops_early", "drops_forced", "drops_full", "drops_wait", "drops_own", "lost_timeout", "lost_direct",
    "sleeps",
)  # fmt: skip
"""What a sample has, in the order of the table `walks_series`; counters since the sample before."""


def prepare(init: Frame) -> Work:
    """A server, on the member's side."""
    return _Server(init["told"], init["life"])


class _Server:
    """A server's work."""

    def __init__(self, told: Frame, life: int) -> None:
        self._told = told
        self._life = life
        self._folder = Path(told["folder"])
        with np.load(self._folder / PART) as part:
            arcs = part["sources"], part["targets"], part.get("weights")
            self._core = _core.WalkServer(json.dumps(told["spec"]), part["owners"], arcs, part["starts"])

    def __call__(self, member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        """Walks; leaves the finished walks in a file."""
        kept = str(self._folder / JOURNAL), self._life
        report = self._core.run(member, begin, lambda now: progress(self._with_walks(now)), kept)
        found = self._core.paths() if self._told["spec"]["paths"] else self._core.ends()
        return json.dumps({**json.loads(self._with_walks(report)), **self._leave(found)})

    def _leave(self, found: Sequence[bytes]) -> Frame:
        """Leaves walks in a file; where there is no room for it, in the report."""
        # Whole or not at all, and before the report says that it is there.
        unfinished = self._folder / "unfinished"
        try:
            with unfinished.open("wb") as file:
                np.savez(file, *(np.frombuffer(each, np.uint8) for each in found))
            unfinished.rename(self._folder / WALKS)
        except OSError as error:
            said = f"{self._folder / WALKS} can't be written: {why(error)}"
            if sum(map(len, found)) > FRAME_MAX_BYTES // 2:
                raise RunError(said) from error
            return {"unwritten": said, LEFT: [base64.b64encode(each).decode() for each in found]}
        return {}

    def hear(self, told: Frame) -> None:
        """Changes of the graph."""
        self._core.change(json.dumps(told))

    def _with_walks(self, said: str) -> str:
        """What the driver says, with the counters and samples of walks."""
        samples = [[sample[name] for name in SAMPLED] for sample in self._core.samples()]
        return json.dumps({**json.loads(said), "walks": self._core.counters(), "samples": samples})
