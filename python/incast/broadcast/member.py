"""A host of a broadcast, as a member of a live run: the source, or a receiver that keeps what comes.

It goes on when the launcher is gone: the others may have all that is missing. Then it ends when nothing has
come for as long as the broadcast has patience; until then the launcher may come back and ask how it went.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from incast import _core
from incast.errors import RunError
from incast.live.control import Frame
from incast.live.member import Work

FINISH_POLL_S = 0.05
HELD_POLL_S = 0.2


def prepare(init: Frame) -> Work:
    """A host of a broadcast, on the member's side."""
    told = dict(init["told"])
    try:
        root = init["root"]
        if told["role"] == "receiver":
            if told["owner"] and os.geteuid() != 0:
                raise RunError("owners can't be kept: the agent here is not root")
            told["path"] = _place(told, root)
        # What the launcher says of a root does not count: the process that started this member has said it.
        return _begun({**told, "root": root}, init)
    except OSError as error:
        raise RunError(str(error)) from error


def _begun(told: Frame, init: Frame) -> _Member:
    """In a later life the one before may still hold the copy, until it has noticed that it is of no use."""
    end = time.monotonic() + (told["config"]["patience_s"] if init["life"] else 0.0)
    while True:
        try:
            return _Member(told, init["name"])
        except BlockingIOError:
            if time.monotonic() > end:
                raise
        time.sleep(HELD_POLL_S)


def _place(told: Frame, root: str | None) -> str:
    """Where the copy will be: what the launcher says; else the source's path, or in an agent's folder."""
    wanted: str = told["dest"] or (told["name"] if root is not None else told["path"])
    if wanted.endswith(os.sep):
        wanted += told["name"]
    return wanted


class _Member:
    """What a host does."""

    def __init__(self, told: Frame, name: str) -> None:
        self._receives = told["role"] == "receiver"
        self._core = _core.BroadcastMember(json.dumps({**told, "host_name": name}))
        self._patience_s = float(told["config"]["patience_s"])
        self._orphan = False
        self._before: tuple[int, str] = (0, "")
        self._since = time.monotonic()

    def __call__(self, member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        """Takes part until told to stop, or until there is nothing left to do and nobody to tell."""
        # Clocks of hosts may differ by hours: each counts from when it heard.
        told = {**json.loads(begin), "start_ns": time.time_ns()}

        def tell(now: str) -> bool:
            said = self._with_status(now)
            progress(json.dumps(said))
            return not (self._orphan and self._is_over(said))

        report = self._with_status(self._core.run(member, json.dumps(told), tell))
        while report["broadcast"]["named"] == "finishing":
            time.sleep(FINISH_POLL_S)
            report = self._with_status(json.dumps(report))
        return json.dumps(report)

    def orphaned(self) -> None:
        """The launcher is gone."""
        self._since = time.monotonic()
        self._orphan = True

    def adopted(self) -> None:
        """The launcher is there again."""
        self._orphan = False

    def _with_status(self, said: str) -> dict[str, Any]:
        """What the driver says, with where the transfer stands."""
        status: dict[str, Any] = json.loads(self._core.status())
        return {**json.loads(said), "finished": self._is_done(status), "broadcast": status}

    def _is_done(self, status: dict[str, Any]) -> bool:
        if status["failed"] is not None:
            return True
        if self._receives:
            return bool(status["named"] == "done")
        present = [each for each in status["receivers"].values() if each["present"]]
        return status["state"] == "finished" or all(
            each["complete"] or each["failed"] is not None for each in present
        )

    def _is_over(self, said: dict[str, Any]) -> bool:
        """Whether a member without a launcher has nothing left to do."""
        status = said["broadcast"]
        now = status["bytes"] + status["sent"], status["state"]
        if now != self._before:
            self._before, self._since = now, time.monotonic()
        return time.monotonic() - self._since > self._patience_s
