"""Topologies in the core's terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incast.lab.findings import Findings
from incast.lab.graphfile import read_graph
from incast.lab.topology import (
    Dumbbell,
    FatTree,
    FileTopology,
    Framing,
    Graph,
    LeafSpine,
    Link,
    SingleSwitch,
    Topology,
)
from incast.quantity import parse_bytes, parse_rate, parse_time


def topology_spec(topology: Topology, folder: Path, findings: Findings) -> dict[str, Any]:
    """The topology in base units; files are read."""
    match topology:
        case SingleSwitch():
            return {
                "kind": topology.kind,
                "hosts": topology.hosts,
                "host_link": link_spec(topology.host_link),
            }
        case Dumbbell():
            return {
                "kind": topology.kind,
                "left": topology.left,
                "right": topology.right,
                "host_link": link_spec(topology.host_link),
                "bottleneck": link_spec(topology.bottleneck),
            }
        case LeafSpine():
            return {
                "kind": topology.kind,
                "leaves": topology.leaves,
                "spines": topology.spines,
                "host_link": link_spec(topology.host_link),
                "uplink": link_spec(topology.uplink),
                "uplinks_per_spine": topology.uplinks_per_spine,
            }
        case FatTree():
            return {
                "kind": topology.kind,
                "k": topology.k,
                "host_link": link_spec(topology.host_link),
                "fabric_link": link_spec(topology.fabric_link),
            }
        case Graph():
            return _graph(topology, findings)
        case FileTopology():
            return read_graph(topology, folder, findings)


def link_spec(link: Link) -> dict[str, int]:
    """A link's properties in base units."""
    return {"rate": parse_rate(link.rate), "delay": parse_time(link.delay), "mtu": parse_bytes(link.mtu)}


def framing_spec(framing: Framing) -> dict[str, int]:
    """Framing in bytes."""
    return {
        "overhead": parse_bytes(framing.overhead),
        "min_payload": parse_bytes(framing.min_payload),
    }


def _graph(topology: Graph, findings: Findings) -> dict[str, Any]:
    links = []
    for index, link in enumerate(topology.links):
        a, b = link.ends
        for end in link.ends:
            if end not in topology.nodes:
                findings.add(("topology", "links", index, "ends"), f"{end!r} is not one of the nodes")
        if a == b:
            findings.add(("topology", "links", index, "ends"), f"the link from {a} to itself is not allowed")
        there = link_spec(link)
        changes = {key: value for key, value in link.back.model_dump().items() if value is not None}
        back = link_spec(Link.model_validate({**link.model_dump(include=set(Link.model_fields)), **changes}))
        links.append({"a": a, "b": b, "ab": there, "ba": back})
    nodes = [{"name": name, "kind": kind} for name, kind in topology.nodes.items()]
    return {"kind": "graph", "nodes": nodes, "links": links}
