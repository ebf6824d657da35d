"""What a broadcast would do: what goes where, by which plan, and how long. Nobody is asked, nothing moves.

Times are those of the plan on links that do nothing else. Where nothing is known of rates there are none: the
first chunks would tell.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from incast import _core
from incast.broadcast.plans import Plan
from incast.broadcast.send import Broadcast, chunk_of, equals, limited

BITS = 8


@dataclass(frozen=True)
class Bound:
    """What a receiver would get."""

    host: str
    path: str
    """Where its copy would be; of an agent that waits without `--dest`, below its folder."""
    rate_bps: int | None
    """In which the plan feeds it."""
    seconds: float | None
    """Until it has everything."""
    parents: list[str]
    """The hosts that send to it."""


@dataclass(frozen=True)
class Foreseen:
    """What a broadcast would do."""

    bytes: int
    files: int
    folders: int
    links: int
    chunk: int
    algorithm: str | None
    """By which the plan was made; nothing where the first chunks would have to tell rates."""
    trees: list[dict[str, Any]]
    """Of the plan: rates, and hops as lists of the nodes that they pass."""
    receivers: list[Bound]

    def json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "dry_run": True, "receivers": [vars(each) for each in self.receivers]}


def foresee(broadcast: Broadcast, agents: Collection[str]) -> Foreseen:
    """What would be done; `agents` are receivers at which an agent waits.

    Raises `ValueError` when the algorithm has no plan for the network.
    """
    content = broadcast.content
    plan = _plan(broadcast)
    kinds = Counter(entry["kind"] for entry in content.layout["entries"])
    return Foreseen(
        content.bytes,
        kinds["file"],
        kinds["folder"] + (content.layout["folder"] is not None),
        kinds["link"],
        chunk_of(broadcast),
        plan.algorithm if plan else None,
        plan.trees if plan else [],
        [_bound(name, broadcast, plan, name in agents) for name in broadcast.names],
    )


def _plan(broadcast: Broadcast) -> Plan | None:
    """By what is known of rates; with a limit alone, as if every link carried that."""
    names = [broadcast.source, *broadcast.names]
    known = limited(broadcast).topology or (equals(names, broadcast.rate) if broadcast.rate else None)
    if known is None:
        return None
    made = _core.broadcast_plan(
        json.dumps(known), broadcast.source, list(broadcast.names), broadcast.algorithm, 1
    )
    return Plan(json.loads(made))


def _bound(name: str, broadcast: Broadcast, plan: Plan | None, agent: bool) -> Bound:
    rate = plan.rates[name] if plan else None
    seconds = broadcast.content.bytes * BITS / rate if rate else None
    hops = (hop for tree in (plan.trees if plan else []) for hop in tree["hops"] if hop[-1] == name)
    return Bound(
        name, _path(name, broadcast, agent), rate, seconds, list(dict.fromkeys(hop[0] for hop in hops))
    )


def _path(name: str, broadcast: Broadcast, agent: bool) -> str:
    content = broadcast.content
    own = broadcast.name or content.path.name
    wanted = (broadcast.dest or (own if agent else str(content.path))).replace("{host}", name)
    return wanted + own if wanted.endswith(os.sep) else wanted
