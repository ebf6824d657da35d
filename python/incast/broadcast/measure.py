"""Measures the bandwidths between hosts, and makes a topology of them.

Each host is a member of a live run that does nothing else. Hosts that do not come in time are not measured:
they get links like the slowest of the others (`with_missing`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incast import _core
from incast.errors import RunError
from incast.live.control import Frame
from incast.live.launch import Child, FailedRunError, Host, Launch, Outcome, start_here
from incast.live.member import Work
from incast.live.running import Running

SOURCE = 0
SEED = 1


@dataclass(frozen=True)
class Measured:
    """A topology that was measured."""

    topology: dict[str, Any]
    """In the core's form."""
    explained: float
    """The part of the measured flows, 0 to 1, whose rate it tells to within a fifth."""
    sure: list[list[float | None]]
    """Of each link, both ways: the part of the flows that it limited in which that is so.

    `None` when it limited none, and may be faster.
    """
    missing: list[str]
    """Hosts that were not measured."""
    failures: dict[str, str]
    """Hosts that could not be reached, or failed: why."""
    interrupted: bool = False

    def json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


def prepare(init: Frame) -> Work:
    """A host that measures, on the member's side."""
    told = init["told"]
    return _Member(told["hosts"], init["name"])


class _Member:
    """What a host does."""

    def __init__(self, hosts: list[int], name: str) -> None:
        self._hosts, self._name = hosts, name

    def __call__(self, member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        """Measures with the hosts that are there."""
        told = json.loads(begin)
        there = sorted(each["host"] for each in told["addresses"])
        probe = _core.ProbeMember(there, self._name, SEED)
        # Clocks of hosts may differ by hours: each counts from when it heard.
        told["start_ns"] = time.time_ns()
        report = json.loads(probe.run(member, json.dumps(told), progress))
        return json.dumps({**report, "samples": json.loads(probe.samples())})


def measure(
    names: Sequence[str],
    start: Callable[[int, tuple[str, int], bytes], Child],
    key: bytes,
    ip: str,
    *,
    patience_s: float,
    stop: threading.Event,
) -> Measured:
    """Measures between hosts by name, this machine first. Raises `RunError` when nothing came of it."""

    def begin(number: int, address: tuple[str, int], key: bytes) -> Child:
        return start_here(number, address, key) if number == SOURCE else start(number, address, key)

    told = {"hosts": list(range(len(names)))}
    hosts = [
        Host(number, name, [_core.PROBE_PORT], told, ip, needed=False, awaited=number == SOURCE)
        for number, name in enumerate(names)
    ]
    launch = Launch(
        hosts,
        "incast.broadcast.measure:prepare",
        json.loads(
            _core.live_settings(json.dumps({"peer_timeout_ms": 5000, "stream_buffer_bytes": 1 << 20}))
        ),
        patience_s=patience_s,
        start=begin,
        key=key,
        ip=ip,
    )
    try:
        outcome = Running(launch, None, stop).run()
    except FailedRunError as error:
        outcome = error.outcome
    return _found(names, outcome)


def _found(names: Sequence[str], outcome: Outcome) -> Measured:
    samples = [sample for report in outcome.reports for sample in report["samples"]]
    seen = {sample["from"] for sample in samples} & {sample["to"] for sample in samples}
    known = {number: name for number, name in enumerate(names) if number in seen}
    found = _core.broadcast_infer(known, json.dumps(samples)) if len(known) > 1 else None
    failures = {names[number]: why for number, why in outcome.failures.items()}
    if found is None:
        why = "; ".join(f"{name}: {reason}" for name, reason in failures.items()) or "nothing arrived"
        raise RunError(f"no bandwidth could be measured: {why}")
    missing = [name for number, name in enumerate(names) if number not in seen]
    return Measured(**json.loads(found), missing=missing, failures=failures, interrupted=not outcome.finished)


def with_missing(measured: Measured) -> dict[str, Any]:
    """The topology with the hosts that were not measured: no faster than the slowest that was."""
    topology = measured.topology
    if not measured.missing:
        return topology
    hosts = {node["id"] for node in topology["nodes"] if node["kind"] == "host"}
    switch = next(node["id"] for node in topology["nodes"] if node["kind"] == "switch")
    links: list[Mapping[str, Any]] = [link for link in topology["links"] if link["a"] in hosts]
    up, down = min(link["ab"] for link in links), min(link["ba"] for link in links)
    nodes = [{"id": name, "kind": "host"} for name in measured.missing]
    more = [{"a": name, "b": switch, "ab": up, "ba": down} for name in measured.missing]
    return {"nodes": [*topology["nodes"], *nodes], "links": [*topology["links"], *more]}
