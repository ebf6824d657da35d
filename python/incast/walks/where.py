"""Where servers run: on this machine, or one on each node of a cluster."""

from __future__ import annotations

from contextlib import ExitStack

from incast.live.cluster import LOCAL, at
from incast.live.place import Here, Place
from incast.walks.problem import refuse


def place(cluster: str | None, servers: int | None, until: ExitStack) -> tuple[Place, int]:
    """The place of servers, which is there until the stack is done, and how many they are."""
    if cluster is None:
        return until.enter_context(Here()), 1 if servers is None else servers
    found = until.enter_context(at(cluster))
    nodes = len(found.nodes())
    if servers is not None and servers > nodes and cluster != LOCAL:
        refuse(f"{servers} servers: the cluster has {nodes} nodes, one for each server", "--servers")
    return found, nodes if servers is None else servers
