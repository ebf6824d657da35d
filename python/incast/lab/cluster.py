"""The cluster that a topology describes: its nodes, links and ports by name."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from incast import _core
from incast.lab.findings import Findings

_NODES_MAX = 200_000
_LINKS_MAX = 1_000_000


@dataclass(frozen=True)
class Cluster:
    """Nodes and links, in the core's order."""

    nodes: dict[str, str]
    """Each node's name, and `host` or `switch`."""
    links: list[dict[str, Any]]
    """`a`, `b`, and the properties both ways: `ab`, `ba`."""
    graph: str
    """Both as the core has written them, in JSON: to write 8,192 hosts again would take half a second."""

    @cached_property
    def hosts(self) -> dict[str, None]:
        """Names of the hosts, in order."""
        return dict.fromkeys(name for name, kind in self.nodes.items() if kind == "host")

    @cached_property
    def switches(self) -> dict[str, None]:
        """Names of the switches, in order."""
        return dict.fromkeys(name for name, kind in self.nodes.items() if kind == "switch")

    @cached_property
    def pairs(self) -> dict[frozenset[str], list[dict[str, Any]]]:
        """The links between two nodes."""
        pairs: dict[frozenset[str], list[dict[str, Any]]] = {}
        for link in self.links:
            pairs.setdefault(frozenset((link["a"], link["b"])), []).append(link)
        return pairs

    @cached_property
    def ports(self) -> list[str]:
        """Every port, `node:peer`, with `#2` for a second parallel link."""
        names = []
        for links in self.pairs.values():
            for number, link in enumerate(links, 1):
                suffix = f"#{number}" if number > 1 else ""
                names += [f"{link['a']}:{link['b']}{suffix}", f"{link['b']}:{link['a']}{suffix}"]
        return names


def expand(topology: dict[str, Any]) -> Cluster:
    """The cluster of a resolved topology, by the core."""
    text = _core.expand(json.dumps(topology))
    graph = json.loads(text)
    return Cluster({node["name"]: node["kind"] for node in graph["nodes"]}, graph["links"], text)


def too_large(topology: dict[str, Any]) -> str:
    """Why the topology is not even expanded; empty where it may be."""
    nodes, links = _size(topology)
    if nodes > _NODES_MAX or links > _LINKS_MAX:
        return (
            f"{nodes} nodes and {links} links are too many: "
            f"allowed are {_NODES_MAX} nodes and {_LINKS_MAX} links"
        )
    return ""


def _size(topology: dict[str, Any]) -> tuple[int, int]:
    match topology["kind"]:
        case "single-switch":
            return topology["hosts"] + 1, topology["hosts"]
        case "dumbbell":
            hosts = topology["left"] + topology["right"]
            return hosts + 2, hosts + 1
        case "leaf-spine":
            hosts, leaves, spines = sum(topology["leaves"]), len(topology["leaves"]), topology["spines"]
            return hosts + leaves + spines, hosts + leaves * spines * topology["uplinks_per_spine"]
        case "fat-tree":
            k = topology["k"]
            return k**3 // 4 + 5 * k**2 // 4, 3 * k**3 // 4
        case _:
            return len(topology["nodes"]), len(topology["links"])


def check(cluster: Cluster, findings: Findings) -> None:
    """Notes hosts that other hosts can't reach."""
    if not cluster.hosts:
        findings.add(("topology",), "there is no host: at least one is needed")
        return
    near = defaultdict[str, set[str]](set)
    for link in cluster.links:
        near[link["a"]].add(link["b"])
        near[link["b"]].add(link["a"])
        if link["a"] == link["b"]:
            findings.add(("topology",), f"the link from {link['a']} to itself is not allowed")
    # Hosts don't forward: a host reaches what its neighbours reach.
    island: dict[str, str] = {}
    for root in cluster.switches:
        found = [root]
        while found:
            if (name := found.pop()) not in island:
                island[name] = root
                found += near[name] & cluster.switches.keys()
    first, *others = cluster.hosts
    reached = {island[peer] for peer in near[first] if peer in island}
    for host in others:
        beside = {island[peer] for peer in near[host] if peer in island}
        if not reached & beside and host not in near[first]:
            findings.add(
                ("topology",), f"{host} is unreachable: no route from {first} to it through switches"
            )
