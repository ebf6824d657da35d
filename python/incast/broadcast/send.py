"""A broadcast on real hosts: members are started, take part, and say what came of it.

The source's member runs on this machine, receivers wherever a `Way` starts them. A host that does not answer
holds nobody up: the others begin, and it joins when it comes.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from incast import _core
from incast.errors import Problem, RunError, ScenarioError
from incast.live.launch import Child, FailedRunError, Host, Launch, Outcome, start_here
from incast.live.running import Running

SOURCE = 0
PORT = 1
PATIENCE_S = _core.BROADCAST_PATIENCE_PS / 1e12
"""A host that is silent for longer has failed for good, whether the launcher, the source or others miss it.
Until then a host that comes back goes on. After an outage of a minute, half of one is left to find each other
again."""
HEADROOM, HEADROOM_MEASURED = _core.BROADCAST_HEADROOM_PERCENT, 125
"""Percent of the plan's rate at which a parent sends, where rates are known and where they were measured."""
UNKNOWN_RATE = 10_000_000_000
Status = Mapping[str, Any]
See = Callable[[Mapping[int, Status]], None]
"""Is told where every host stands, by number."""


class Way(Protocol):
    """How members of receivers are started."""

    def start(self, number: int, address: tuple[str, int], key: bytes) -> Child:
        """Starts the member of a receiver, by its number from 1."""
        ...


@dataclass(frozen=True)
class Content:
    """What is sent, as it was found."""

    path: Path
    layout: Mapping[str, Any]
    """Its files and folders (`crates/files/src/layout.rs`)."""
    exclude: Sequence[str] = ()
    """What was left out of it."""
    owner: bool = False
    """Whether copies have its owners."""

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(entry["bytes"] for entry in self.layout["entries"] if entry["kind"] == "file")


def look(path: Path, exclude: Sequence[str] = (), owner: bool = False) -> Content:
    """What is sent of a file or folder.

    Raises `RunError` when it can't be read, `ScenarioError` for a pattern that is none.
    """
    try:
        found = path.resolve(strict=True)
        if exclude and not found.is_dir():
            raise ScenarioError(
                [Problem(f"{path} is no folder, of which something could be left out", "--exclude")]
            )
        layout = json.loads(_core.broadcast_layout(str(found), list(exclude), owner))
    except OSError as error:
        raise RunError(
            f"{error.filename}: {(error.strerror or '').lower()}" if error.filename else str(error)
        ) from None
    except ValueError as error:
        raise ScenarioError([Problem(str(error), "--exclude")]) from None
    return Content(found, layout, exclude, owner)


@dataclass(frozen=True)
class Broadcast:
    """What is sent, to which hosts, and how."""

    content: Content
    names: Sequence[str]
    """The receivers."""
    way: Way
    key: bytes
    ip: str
    """Where receivers reach this machine."""
    source: str
    """This machine's name in the topology."""
    topology: Mapping[str, Any] | None = None
    """In the core's form; without one rates are found out with the first chunks, and nothing is paced."""
    measured: bool = False
    dest: str | None = None
    name: str | None = None
    """The file's name, when it is not that of `content`."""
    algorithm: str = "stable"
    chunk: int | None = None
    force: bool = False
    rate: int | None = None
    """What a host sends to all others together, in bit/s at most."""
    sealed: bool = True
    """The content is encrypted on its way; what is said about it always is."""
    patience_s: float = PATIENCE_S
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Receipt:
    """What came of a receiver."""

    host: str
    state: str
    """`complete`; `failed` (it was there), `unreachable` (it never was), `interrupted`."""
    why: str = ""
    bytes: int = 0
    resumed: int = 0
    seconds: float | None = None
    """From the beginning until it had everything."""
    rate_bps: float | None = None
    """At which it received meanwhile, on average."""
    best_bps: int | None = None
    """At which it could have received if it had been alone, as far as the network is known."""
    restarts: int = 0


@dataclass(frozen=True)
class Sent:
    """What came of a broadcast."""

    bytes: int
    receipts: list[Receipt]
    interrupted: bool
    failed: str | None = None
    """Why the source could not go on."""

    def json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "bytes": self.bytes,
            "interrupted": self.interrupted,
            "failed": self.failed,
            "receivers": [vars(receipt) for receipt in self.receipts],
        }


def send(broadcast: Broadcast, see: See | None = None) -> Sent:
    """Sends a file or folder. Raises `RunError` when the source does not come up."""
    content, total = broadcast.content, broadcast.content.bytes
    broadcast = limited(broadcast)
    known = broadcast.topology or equals([broadcast.source, *broadcast.names])
    told = {
        "path": str(content.path),
        "name": broadcast.name or content.path.name,
        "dest": broadcast.dest,
        "layout": content.layout,
        "owner": content.owner,
        "chunk": chunk_of(broadcast),
        "force": broadcast.force,
        "config": {
            "source": SOURCE,
            "topology": known,
            "unknown": _is_unknown(broadcast),
            "places": dict(enumerate([broadcast.source, *broadcast.names])),
            "algorithm": broadcast.algorithm,
            "headroom": _headroom(broadcast),
            "limit": broadcast.rate,
            "seed": 1,
            "patience_s": broadcast.patience_s,
        },
    }
    statuses: dict[int, Status] = {}
    best = best_rates(broadcast)

    def know(host: int, now: Mapping[str, Any]) -> None:
        statuses[host] = {**now["broadcast"], "time_ps": now["time_ps"], "best": best.get(host)}

    def watch(progress: Mapping[int, Mapping[str, Any]]) -> None:
        for host, now in progress.items():
            know(host, now)
        if see:
            see(statuses)

    outcome = _run(broadcast, told, watch)
    for report in outcome.reports:
        know(report["host"], report)
    receipts = [
        replace(receipt, why=_named(receipt.why, broadcast), best_bps=best.get(number))
        for number, name in enumerate(broadcast.names, 1)
        for receipt in [_receipt(number, name, statuses, outcome)]
    ]
    failed = statuses.get(SOURCE, {}).get("failed")
    return Sent(total, receipts, not outcome.finished, failed and _named(failed, broadcast))


def _named(why: str, broadcast: Broadcast) -> str:
    """A reason in which the core calls a host by its number."""
    names = [broadcast.source, *broadcast.names]

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        return names[number] if number < len(names) else found[0]

    return re.sub(r"(?:^|(?<=the source, ))host (\d+)(?=[:,])", name, why)


def best_rates(broadcast: Broadcast) -> dict[int, int]:
    """What each receiver could get alone, by number, in bit/s; nothing where the network is not known."""
    if broadcast.topology is None:
        return {}
    network = json.dumps(broadcast.topology)
    alone = _core.broadcast_bound(network, broadcast.source, list(broadcast.names))
    return dict(enumerate(alone, 1))


def _run(broadcast: Broadcast, told: dict[str, Any], watch: Callable[[Any], None]) -> Outcome:
    def start(number: int, address: tuple[str, int], key: bytes) -> Child:
        if number == SOURCE:
            return start_here(number, address, key)
        return broadcast.way.start(number, address, key)

    work = {**told, "role": "source", "exclude": list(broadcast.content.exclude)}
    source = Host(SOURCE, broadcast.source, [PORT], work, broadcast.ip, needed=False, returns=True)
    receivers = [
        Host(number, name, [PORT], _receiver(told, name), needed=False, awaited=False, returns=True)
        for number, name in enumerate(broadcast.names, 1)
    ]
    settings = json.loads(
        _core.live_settings(json.dumps({"peer_timeout_ms": 10_000, "sealed": broadcast.sealed}))
    )
    launch = Launch(
        [source, *receivers],
        "incast.broadcast.member:prepare",
        settings,
        patience_s=broadcast.patience_s,
        start=start,
        key=broadcast.key,
        ip=broadcast.ip,
    )
    try:
        return Running(launch, watch, broadcast.stop).run()
    except FailedRunError as error:
        return error.outcome


def _receiver(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a receiver is told."""
    dest = told["dest"]
    return {**told, "role": "receiver", "dest": dest and dest.replace("{host}", name)}


def _receipt(number: int, name: str, statuses: Mapping[int, Status], outcome: Outcome) -> Receipt:
    restarts = outcome.restarts.get(number, 0)
    gone = outcome.failures.get(number)
    status = statuses.get(number)
    if status is None:
        state = "unreachable" if number in outcome.unreachable else "failed"
        return Receipt(name, state if gone else "interrupted", gone or "", restarts=restarts)
    took = status["completed_ps"]
    seconds = None if took is None else took / 1e12
    common = {"bytes": status["bytes"], "resumed": status["resumed"], "restarts": restarts}
    if status["named"] == "done":
        rate = (status["bytes"] - status["resumed"]) * 8 / seconds if seconds else None
        return Receipt(name, "complete", seconds=seconds, rate_bps=rate, **common)
    if status["failed"] is not None or gone:
        return Receipt(name, "failed", status["failed"] or gone or "", **common)
    return Receipt(name, "interrupted", **common)


def _headroom(broadcast: Broadcast) -> int | None:
    if broadcast.topology is None:
        return None
    return HEADROOM_MEASURED if broadcast.measured else HEADROOM


def limited(broadcast: Broadcast) -> Broadcast:
    """With a rate limit, plans count on no more from a host."""
    if broadcast.rate is None or broadcast.topology is None:
        return broadcast
    topology, rate = broadcast.topology, broadcast.rate
    hosts = {node["id"] for node in topology["nodes"] if node["kind"] == "host"}

    def limited(link: Mapping[str, Any]) -> dict[str, Any]:
        ab, ba = (
            min(link[way], rate) if link[end] in hosts else link[way]
            for end, way in (("a", "ab"), ("b", "ba"))
        )
        return {**link, "ab": ab, "ba": ba}

    return replace(broadcast, topology={**topology, "links": [limited(link) for link in topology["links"]]})


def _is_unknown(broadcast: Broadcast) -> bool:
    """Whether rates are found out with the first chunks: for one receiver there is nothing to be planned."""
    return broadcast.topology is None and len(broadcast.names) > 1


def chunk_of(broadcast: Broadcast) -> int:
    """Bytes of a chunk."""
    fitting: int = _core.broadcast_chunk(
        broadcast.content.bytes, len(broadcast.names), _fastest(limited(broadcast))
    )
    return broadcast.chunk or fitting


def _fastest(broadcast: Broadcast) -> int | None:
    if broadcast.topology is None and broadcast.rate is not None:
        return broadcast.rate
    if _is_unknown(broadcast):
        return None
    if broadcast.topology is None:
        return UNKNOWN_RATE
    links = broadcast.topology["links"]
    rates: list[int] = [rate for link in links for rate in (link["ab"], link["ba"])]
    return max(rates)


def equals(names: Sequence[str], rate: int = UNKNOWN_RATE) -> dict[str, Any]:
    """All hosts around one switch, with links of the same rate."""
    switch = next(
        name for name in ("switch", *(f"switch{n}" for n in range(len(names)))) if name not in names
    )
    nodes = [{"id": name, "kind": "host"} for name in names] + [{"id": switch, "kind": "switch"}]
    links = [{"a": name, "b": switch, "ab": rate, "ba": rate} for name in names]
    return {"nodes": nodes, "links": links}
