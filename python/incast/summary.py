"""The figures of a run, computed from its tables: one fact, one place.

Times are picoseconds, sizes bytes, rates bits a second, as in the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from incast import _core, text
from incast.errors import ResultError
from incast.folder import readable
from incast.incomplete import STUCK
from incast.kinds import KINDS, traits

UNFINISHED_LISTED = 20
"""So many unfinished tasks are in the summary."""

_ENDS = {
    "until": "when the time was over",
    STUCK: "when nothing was left to happen",
    "deadlock": "in a deadlock of PFC",
    "interrupted": "when it was interrupted",
}
_COMPLETION = ("fct_mean_ps", "fct_p50_ps", "fct_p99_ps", "fct_max_ps")
_LOST = ("unfinished", "retransmits", "timeouts")


def figures(folder: Path, end: str, end_ps: int) -> dict[str, Any]:
    """All figures of the run in `folder`, which ended at `end_ps`; `end` says how, like `finished`.

    Raises `ResultError` where a table is not there or damaged.
    """
    try:
        return _figures(folder, end, end_ps)
    except _core.TableError as error:
        raise ResultError(str(error)) from None


def _figures(folder: Path, end: str, end_ps: int) -> dict[str, Any]:
    jobs: list[dict[str, Any]] = json.loads(_core.read_jobs(folder))
    kinds = {job["job"]: job["kind"] for job in jobs}
    with readable(folder):
        own = _own(folder, kinds.values())
        missed = _incomplete(jobs, folder, end, end_ps)
    awaited = [job for job in jobs if traits(job["kind"]).awaited] or jobs
    found: dict[str, Any] = json.loads(
        _core.read_figures(
            folder,
            {each["job"] for each in missed},
            {name: of.first_group for name, kind in kinds.items() if (of := traits(kind)).group},
            {job["job"] for job in awaited if traits(job["kind"]).flows != "lasting"},
            UNFINISHED_LISTED,
        )
    )
    flows, tasks = found["flows"], found["tasks"]
    ends = [job["end_ps"] for job in awaited]
    return {
        **({"incomplete": missed} if missed else {}),
        "done_ps": None if None in ends else max(ends, default=None),
        "jobs": {
            (name := job["job"]): {
                **_job(job, flows["of_jobs"].get(name, {}), flows["groups"].get(name, {}), end_ps),
                **own.get(name, {}),
            }
            for job in jobs
        },
        "flows": {"group_mean_ps": flows["group_mean_ps"], **flows["timed"]},
        "ports": found["ports"],
        **({"unfinished_tasks": tasks} if tasks["count"] else {}),
    }


def _own(folder: Path, kinds: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The figures that only kinds know, of each of their jobs."""
    return {name: found for kind in set(kinds) for name, found in KINDS[kind].figures(folder).items()}


def _job(
    job: Mapping[str, Any], flows: Mapping[str, Any], groups: Mapping[str, Any], end_ps: int
) -> dict[str, Any]:
    of = traits(job["kind"])
    # What the run does not wait for lasts as long as the run.
    end = job["end_ps"] if of.awaited else None
    lasted = (end if end is not None else end_ps) - job["start_ps"]
    # What an emulated host's kernel sends is no flow of ours.
    ours = not of.linux
    return {
        "kind": job["kind"],
        "duration_ps": None if end is None else end - job["start_ps"],
        **{key: groups.get(key) for key in ("group_mean_ps", "group_p99_ps")},
        **{key: None if of.flows == "lasting" else flows.get(key) for key in _COMPLETION},
        "goodput_bps": job["bytes"] * 8 * 10**12 // lasted if ours and lasted > 0 else None,
        "bytes": job["bytes"] if ours else None,
        "flows": job["flows"] if ours else None,
        **{key: flows.get(key, 0) if ours else None for key in _LOST},
    }


def _incomplete(
    jobs: Iterable[Mapping[str, Any]], folder: Path, end: str, end_ps: int
) -> list[dict[str, str]]:
    """The incomplete ones of `jobs`: name, outcome, and what is missing of their work.

    `folder` is the run's, which ended at `end_ps`; `end` is how.
    """
    listed = [
        job
        for job in jobs
        if job["outcome"] == "failed"
        or (job["outcome"] == "unfinished" and not (end == "until" and KINDS[job["kind"]].traits.cut))
    ]
    missing: dict[str, str] = {}
    for kind in {job["kind"] for job in listed}:
        missing |= KINDS[kind].missing(folder, [job["job"] for job in listed if job["kind"] == kind])
    found = []
    for job in listed:
        why = missing.get(job["job"], "")
        if job["outcome"] == "unfinished":
            when = f"the run ended {_ENDS.get(end, end)}, at {text.time(end_ps)}"
            why = f"{when}: {why}" if why else when
        found.append({"job": job["job"], "outcome": job["outcome"], "why": why})
    return found
