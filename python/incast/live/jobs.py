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
    own = json.dumps(init["told"]["share"])

    def work(member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        return member.run(own, begin, progress)

    return work


def members(spec: Mapping[str, Any], core: _core.Scenario) -> list[Host]:
    """The hosts that a scenario needs. Each is told its own jobs, and what these depend on."""
    return [
        Host(each["host"], each["name"], each["ports"], {"share": _share(spec, each)})
        for each in json.loads(_core.live_members(core))
    ]


def _share(spec: Mapping[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
    """What `scenario::live::Share` reads."""
    jobs = zip(member["jobs"], member["ports"], strict=True)
    return {
        "seed": spec["seed"],
        "topology": spec["topology"],
        "hosts": spec["hosts"],
        "interval": spec["measure"]["interval"],
        "jobs": [{"index": index, "port": port, "job": spec["jobs"][index]} for index, port in jobs],
    }


def run_jobs(
    spec: Mapping[str, Any],
    core: _core.Scenario,
    folder: Path,
    *,
    force: bool = False,
    settings: Mapping[str, Any] | None = None,
    restarts: int = 0,
    limit_s: float | None = None,
    watch: Watch | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Runs the jobs of a scenario with a process a host, and writes the run's tables.

    `spec` and `core` are those of `lab.resolve.Resolved`.

    Raises `ValueError` (a scenario that can't run live, a setting out of its range) before anything starts,
    and `RunError` when a host fails: the tables have what the others have measured.
    """
    chosen = json.loads(_core.live_settings(json.dumps(dict(settings or {}))))
    launch = Launch(
        members(spec, core), "incast.live.jobs:prepare", chosen, restarts=restarts, limit_s=limit_s
    )
    failure = None
    try:
        outcome = Running(launch, watch, stop).run()
    except FailedRunError as error:
        failure, outcome = error, error.outcome
    _core.live_write(core, str(folder), force, json.dumps(outcome.reports), outcome.crashes)
    if failure:
        raise failure
    return outcome
