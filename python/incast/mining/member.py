"""A node of the miner, as a member of a live run: its transactions are in a file, its journal in another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from incast import _core
from incast.live.control import Frame
from incast.live.member import Work

PART, JOURNAL, LEFT = "part", ".journal", "journal"
"""Files: a node's transactions, what finished passes found, and the same at the end."""


def prepare(init: Frame) -> Work:
    """A node, on the member's side."""
    return _Node(init["told"])


class _Node:
    """A node's work."""

    def __init__(self, told: Frame) -> None:
        self._folder = Path(told["folder"])
        self._core = _core.MineNode(json.dumps(told["spec"]))
        self._core.load(str(self._folder / PART))

    def __call__(self, member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        """Mines; the launcher finds the result in its journal."""
        journal = self._folder / JOURNAL
        report = self._core.run(member, begin, lambda now: progress(self._with_passes(now)), str(journal))
        with suppress(FileNotFoundError):
            shutil.copyfile(journal, self._folder / LEFT)
        return self._with_passes(report)

    def hear(self, told: Frame) -> None:
        """Nothing changes while it mines."""

    def _with_passes(self, said: str) -> str:
        """What the driver says, with how far mining is."""
        return json.dumps({**json.loads(said), "mine": json.loads(self._core.progress())})
