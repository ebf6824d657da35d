"""Graphs from files, in the core's terms.

A link has `rate` (or `bandwidth`, `capacity`), `delay` (or `latency`) and `mtu`, as text with a unit. A
node is a `host` or a `switch` by its `kind`; without one, the nodes that the scenario names are hosts, or
else those with a single link. In containerlab's file a node of kind `linux` is a host unless its label
`incast` says `switch`; a link's properties are its `vars` or `labels`. How files are read:
`incast.lab.graphread`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from incast.errors import ScenarioError
from incast.lab.base import check_name
from incast.lab.findings import Findings
from incast.lab.graphread import PROPERTIES, RawGraph, RawLink, UnreadableError, read
from incast.lab.select import SelectError, select
from incast.lab.topology import FileTopology
from incast.quantity import parse_bytes, parse_rate, parse_time

_AT = ("topology", "file")
_PARSE = {"rate": parse_rate, "delay": parse_time, "mtu": parse_bytes}


def read_graph(topology: FileTopology, folder: Path, findings: Findings) -> dict[str, Any]:
    """The file's graph as a resolved topology."""
    path = folder / topology.file
    try:
        raw = read(path)
    except ScenarioError as error:
        findings.extend(error.problems)
        raw = RawGraph()
    except UnreadableError as error:
        findings.add_in(_AT, f"not readable as a graph: {error.message}", str(path), error.line)
        raw = RawGraph()
    nodes = _nodes(raw, topology, str(path), findings)
    links = _links(raw, topology, str(path), findings)
    return {"kind": "graph", "nodes": nodes, "links": links}


def _nodes(raw: RawGraph, topology: FileTopology, file: str, findings: Findings) -> list[dict[str, str]]:
    degree = Counter(end for a, b in _undirected(raw) for end in (a, b))
    named: set[str] | None = None
    if topology.hosts is not None:
        try:
            named = set(select(topology.hosts, raw.kinds, "a node of the graph"))
        except SelectError as error:
            findings.add(("topology", "hosts"), str(error))
    nodes = []
    for name, kind in raw.kinds.items():
        try:
            check_name(name)
        except ValueError as error:
            findings.add_in(_AT, f"a node: {error}", file)
        if kind not in (None, "host", "switch"):
            findings.add_in(_AT, f"node {name} is of kind {kind!r}. Allowed: host, switch", file)
        is_host = name in named if named is not None else degree[name] == 1
        nodes.append({"name": name, "kind": kind or ("host" if is_host else "switch")})
    return nodes


def _undirected(raw: RawGraph) -> Iterable[tuple[str, str]]:
    if not raw.directed:
        return [(link.a, link.b) for link in raw.links]
    return {(min(link.a, link.b), max(link.a, link.b)) for link in raw.links}


def _links(raw: RawGraph, topology: FileTopology, file: str, findings: Findings) -> list[dict[str, Any]]:
    links: list[dict[str, Any]] = []
    backward: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for link in raw.links:
        problem = f"{link.place}: a link from a node to itself is not allowed" if link.a == link.b else ""
        missing = next((end for end in (link.a, link.b) if end not in raw.kinds), None)
        if missing is not None:
            problem = f"{link.place}: {missing!r} is not one of the nodes"
        try:
            spec = _link_spec(link, topology)
        except ValueError as error:
            problem = problem or f"{link.place}: {error}"
        if problem:
            findings.add_in(_AT, problem, file, link.line)
            continue
        waiting = backward.get((link.b, link.a), [])
        if raw.directed and waiting:
            waiting.pop(0)["ba"] = spec
            continue
        links.append({"a": link.a, "b": link.b, "ab": spec, "ba": spec})
        if raw.directed:
            backward.setdefault((link.a, link.b), []).append(links[-1])
    return links


def _link_spec(link: RawLink, topology: FileTopology) -> dict[str, int]:
    spec = {}
    for key, names in PROPERTIES.items():
        found = next((link.data[name] for name in names if link.data.get(name) is not None), None)
        if found is None:
            if topology.link is None and key == "rate":
                raise ValueError(f"has no {' or '.join(names)}; topology.link can give one to all links")
            found = getattr(topology.link, key) if topology.link else {"delay": "1us", "mtu": "9000B"}[key]
        spec[key] = _PARSE[key](str(found))
    if spec["rate"] == 0:
        raise ValueError("rate is zero: it must be above zero")
    return spec
