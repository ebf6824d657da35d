"""A scenario's jobs as the work of members, and a run of them into a folder.

Not here: the scenario's network. Packets take the real one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from incast import _core
from incast.live.control import Frame
from incast.live.launch import FailedRunError, Host, Launch, Outcome, Watch
from incast.live.member import Work
from incast.live.running import Running


def prepare(init: Frame) -> Work:
    """The jobs of one host, on the member's side."""
    spec = json.dumps(init["told"]["spec"])

    def work(member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        return member.run(spec, begin, progress)

    return work


def run_jobs(
    spec: Mapping[str, Any],
    folder: Path,
    *,
    force: bool = False,
    settings: Mapping[str, Any] | None = None,
    restarts: int = 0,
    limit_s: float | None = None,
    watch: Watch | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Runs the jobs of a scenario (`Resolved.spec`) with a process a host, and writes the run's tables.

    Raises `ValueError` (a scenario that can't run live, a setting out of its range) before anything starts,
    and `RunError` when a host fails: the tables have what the others have measured.
    """
    text = json.dumps(spec)
    chosen = json.loads(_core.live_settings(json.dumps(dict(settings or {}))))
    hosts = [
        Host(member["host"], member["name"], member["ports"], {"spec": dict(spec)})
        for member in json.loads(_core.live_members(text))
    ]
    launch = Launch(hosts, "incast.live.jobs:prepare", chosen, restarts=restarts, limit_s=limit_s)
    failure = None
    try:
        outcome = Running(launch, watch, stop).run()
    except FailedRunError as error:
        failure, outcome = error, error.outcome
    _core.live_write(text, str(folder), force, json.dumps(outcome.reports), outcome.crashes)
    if failure:
        raise failure
    return outcome
