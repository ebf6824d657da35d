"""Graphs from files: node-link JSON and GraphML (through networkx), edge lists, containerlab's YAML.

A link has `rate` (or `bandwidth`, `capacity`), `delay` (or `latency`) and `mtu`, as text with a unit. A
node is a `host` or a `switch` by its `kind`; without one, the nodes that the scenario names are hosts, or
else those with a single link. In containerlab's file (https://containerlab.dev/manual/topo-def-file) a node
of kind `linux` is a host unless its label `incast` says `switch`; a link's properties are its `vars` or
`labels`.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx as nx

from incast.document import read_file
from incast.errors import ScenarioError
from incast.hints import allowed
from incast.quantity import parse_bytes, parse_rate, parse_time
from incast.resolve.findings import Findings
from incast.resolve.select import SelectError, select
from incast.scenario.base import check_name
from incast.scenario.topology import FileTopology

_AT = ("topology", "file")
_FILE_BYTES_MAX = 64_000_000
_NAMES = {
    "rate": ("rate", "bandwidth", "capacity"),
    "delay": ("delay", "latency"),
    "mtu": ("mtu",),
}
_PARSE = {"rate": parse_rate, "delay": parse_time, "mtu": parse_bytes}


@dataclass
class _Raw:
    """A graph as its file has it."""

    kinds: dict[str, str | None] = field(default_factory=dict)
    links: list[_RawLink] = field(default_factory=list)
    directed: bool = False


@dataclass
class _RawLink:
    a: str
    b: str
    data: dict[str, Any]
    place: str
    """Which one, for messages."""
    line: int | None = None


def read_graph(topology: FileTopology, folder: Path, findings: Findings) -> dict[str, Any]:
    """The file's graph as a resolved topology."""
    path = folder / topology.file
    empty: dict[str, Any] = {"kind": "graph", "nodes": [], "links": []}
    try:
        raw = _read(path)
    except ScenarioError as error:
        findings.extend(error.problems)
        return empty
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        SyntaxError,
        nx.NetworkXException,
    ) as error:
        findings.add_in(_AT, f"not readable as a graph: {_first_line(error)}", str(path))
        return empty
    nodes = _nodes(raw, topology, findings)
    links = _links(raw, topology, str(path), findings)
    return {"kind": "graph", "nodes": nodes, "links": links}


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return (str(error) or type(error).__name__).splitlines()[0]


def _read(path: Path) -> _Raw:
    if path.stat().st_size > _FILE_BYTES_MAX:
        raise ValueError(f"the file is larger than {_FILE_BYTES_MAX} bytes")
    name = path.name.lower()
    if name.endswith((".clab.yml", ".clab.yaml")):
        return _containerlab(path)
    if name.endswith(".json"):
        return _from_networkx(_node_link(path))
    if name.endswith(".graphml"):
        return _from_networkx(nx.read_graphml(path))
    if name.endswith(".csv"):
        return _edge_list(path)
    raise ValueError("unknown kind of file. Allowed: *.json, *.graphml, *.csv, *.clab.yml")


def _node_link(path: Path) -> nx.Graph[Any]:
    data = json.loads(path.read_text("utf-8"))
    if not isinstance(data, dict) or "nodes" not in data:
        raise ValueError("expected node-link JSON: a mapping with nodes and edges (or links)")
    edges = "links" if "links" in data else "edges"
    graph: nx.Graph[Any] = nx.node_link_graph(data, edges=edges)
    return graph


def _from_networkx(graph: nx.Graph[Any]) -> _Raw:
    raw = _Raw(directed=graph.is_directed())
    for name, data in graph.nodes(data=True):
        raw.kinds[str(name)] = data.get("kind")
    for number, (a, b, data) in enumerate(graph.edges(data=True), 1):
        raw.links.append(_RawLink(str(a), str(b), data, f"link {number} ({a} – {b})"))
    return raw


def _edge_list(path: Path) -> _Raw:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or []
        if "a" not in columns or "b" not in columns:
            raise ValueError(
                f"expected the columns a, b and perhaps rate, delay, mtu; found {allowed(columns)}"
            )
        raw = _Raw()
        for row in reader:
            a, b = row.pop("a"), row.pop("b")
            if not a or not b or None in row:
                raise ValueError(f"line {reader.line_num}: expected {len(columns)} columns")
            raw.kinds |= {a: None, b: None}
            data = {key: value for key, value in row.items() if value}
            raw.links.append(_RawLink(a, b, data, f"link {a} – {b}", reader.line_num))
    return raw


def _containerlab(path: Path) -> _Raw:
    document = read_file(path)
    plain: Any = document.plain()
    topology = plain["topology"]
    default = topology.get("defaults", {}).get("kind", "linux")
    raw = _Raw()
    for name, node in topology["nodes"].items():
        node = node or {}
        kind = node.get("kind", default)
        said = (node.get("labels") or {}).get("incast")
        raw.kinds[name] = said or ("host" if kind == "linux" else "switch")
    for number, link in enumerate(topology.get("links", [])):
        a, b = (str(end).partition(":")[0] for end in link["endpoints"])
        data = {**link, **(link.get("labels") or {}), **(link.get("vars") or {})}
        if isinstance(link.get("mtu"), int):  # containerlab's own field is in bytes
            data["mtu"] = f"{link['mtu']}B"
        line = document.locate(("topology", "links", number)).line
        raw.links.append(_RawLink(a, b, data, f"link {number + 1} ({a} – {b})", line))
    return raw


def _nodes(raw: _Raw, topology: FileTopology, findings: Findings) -> list[dict[str, str]]:
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
            findings.add(_AT, f"a node of {topology.file}: {error}")
        if kind not in (None, "host", "switch"):
            findings.add(_AT, f"node {name} is of kind {kind!r}. Allowed: host, switch")
        is_host = name in named if named is not None else degree[name] == 1
        nodes.append({"name": name, "kind": kind or ("host" if is_host else "switch")})
    return nodes


def _undirected(raw: _Raw) -> Iterable[tuple[str, str]]:
    if not raw.directed:
        return [(link.a, link.b) for link in raw.links]
    return {(min(link.a, link.b), max(link.a, link.b)) for link in raw.links}


def _links(raw: _Raw, topology: FileTopology, file: str, findings: Findings) -> list[dict[str, Any]]:
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


def _link_spec(link: _RawLink, topology: FileTopology) -> dict[str, int]:
    spec = {}
    for key, names in _NAMES.items():
        found = next((link.data[name] for name in names if link.data.get(name) is not None), None)
        if found is None:
            if topology.link is None and key == "rate":
                raise ValueError(f"has no {' or '.join(names)}; topology.link can give one to all links")
            found = getattr(topology.link, key) if topology.link else {"delay": "1us", "mtu": "9000B"}[key]
        spec[key] = _PARSE[key](str(found))
    if spec["rate"] == 0:
        raise ValueError("rate is zero: it must be above zero")
    return spec
