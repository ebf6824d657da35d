"""Graphs as their files have them.

Node-link JSON, GraphML and edge lists as networkx writes them, edge lists as CSV, containerlab's YAML
(https://containerlab.dev/manual/topo-def-file). networkx itself adds nodes that only a link names, and leaves
out lines that it can't read; here both are refused.
Not here: what a link's properties mean (`incast.lab.graphfile`).
"""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from incast.bounded import read_bytes
from incast.document import Node, read_file
from incast.hints import allowed, unknown

PROPERTIES = {
    "rate": ("rate", "bandwidth", "capacity"),
    "delay": ("delay", "latency"),
    "mtu": ("mtu",),
}
"""What a link's properties may be called."""

_FILE_BYTES_MAX = 64_000_000
_COLUMNS = ("a", "b", *(name for names in PROPERTIES.values() for name in names))


@dataclass
class RawLink:
    """A link as its file has it."""

    a: str
    b: str
    data: dict[str, Any]
    place: str
    """Which one, for messages."""
    line: int | None = None


@dataclass
class RawGraph:
    """A graph as its file has it."""

    kinds: dict[str, str | None] = field(default_factory=dict)
    links: list[RawLink] = field(default_factory=list)
    directed: bool = False

    def add(self, name: str, kind: str | None = None) -> None:
        """Adds a node, once."""
        if name in self.kinds:
            raise UnreadableError(f"node {name} is there twice")
        self.kinds[name] = kind


class UnreadableError(Exception):
    """What is wrong with a file, and in which line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.message = message
        self.line = line
        super().__init__(message)


def read(path: Path) -> RawGraph:
    """The graph in a file. Raises `UnreadableError`, and `ScenarioError` for YAML that is none."""
    try:
        return _read(path)
    except OSError as error:
        raise UnreadableError((error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8 text") from None
    except RecursionError:
        raise UnreadableError("nested too deep") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"not JSON: {error.msg.lower()}", error.lineno) from None
    except ElementTree.ParseError as error:
        raise UnreadableError(f"not XML: {error}", error.position[0]) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # of networkx
        raise UnreadableError((str(error) or type(error).__name__).splitlines()[0]) from None


def _read(path: Path) -> RawGraph:
    name = path.name.lower()
    if name.endswith((".clab.yml", ".clab.yaml")):
        return _containerlab(read_file(path))
    content = read_bytes(path, _FILE_BYTES_MAX)
    if name.endswith(".json"):
        return _node_link(json.loads(content.decode("utf-8-sig")))
    if name.endswith(".graphml"):
        return _graphml(content)
    if name.endswith(".csv"):
        return _table(content.decode("utf-8-sig"))
    if name.endswith(".edgelist"):
        return _edge_list(content.decode("utf-8"))
    raise UnreadableError("unknown kind of file. Allowed: *.json, *.graphml, *.csv, *.edgelist, *.clab.yml")


def _node_link(data: Any) -> RawGraph:
    expected = "expected node-link JSON: a mapping with nodes and edges (or links), which are lists"
    if not isinstance(data, dict):
        raise UnreadableError(expected)
    nodes, edges = data.get("nodes"), data.get("links", data.get("edges"))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise UnreadableError(expected)
    raw = RawGraph(directed=data.get("directed") is True)
    for number, node in enumerate(nodes, 1):
        if not isinstance(node, dict) or not isinstance(node.get("id"), str | int):
            raise UnreadableError(f"node {number}: expected a mapping with an id, a text or a number")
        raw.add(str(node["id"]), node.get("kind"))
    for number, edge in enumerate(edges, 1):
        if not isinstance(edge, dict) or not {"source", "target"} <= edge.keys():
            raise UnreadableError(f"link {number}: expected a mapping with source and target")
        a, b = str(edge["source"]), str(edge["target"])
        raw.links.append(RawLink(a, b, edge, f"link {number} ({a} – {b})"))
    return raw


def _graphml(content: bytes) -> RawGraph:
    import networkx as nx  # Only this form of graph needs it.

    nodes = ElementTree.fromstring(content).iterfind(".//{*}node")
    try:
        graph: nx.Graph[str] = nx.read_graphml(BytesIO(content))
    except nx.NetworkXException as error:
        raise ValueError(str(error) or type(error).__name__) from None
    raw = RawGraph(directed=graph.is_directed())
    for node in nodes:
        name = str(node.get("id"))
        raw.add(name, graph.nodes[name].get("kind"))
    for number, (a, b, data) in enumerate(graph.edges(data=True), 1):
        raw.links.append(RawLink(a, b, data, f"link {number} ({a} – {b})"))
    return raw


def _table(text: str) -> RawGraph:
    raw = RawGraph()
    reader = csv.DictReader(StringIO(text, newline=""))
    columns = reader.fieldnames or []
    if "a" not in columns or "b" not in columns:
        found = allowed(columns) or "none"
        raise UnreadableError(f"expected the columns a, b and perhaps rate, delay, mtu; found {found}", 1)
    for column in columns:
        if column not in _COLUMNS:
            raise UnreadableError(unknown("a column", column, _COLUMNS), 1)
        if columns.count(column) > 1:
            raise UnreadableError(f"the column {column!r} is there {columns.count(column)} times", 1)
    for row in reader:
        a, b = row.pop("a"), row.pop("b")
        if not a or not b or None in row:
            raise UnreadableError(f"expected {len(columns)} columns", reader.line_num)
        raw.kinds |= {a: None, b: None}
        data = {key: value for key, value in row.items() if value}
        raw.links.append(RawLink(a, b, data, f"link {a} – {b}", reader.line_num))
    return raw


def _edge_list(text: str) -> RawGraph:
    raw = RawGraph()
    for number, line in enumerate(text.splitlines(), 1):
        ends = line.partition("#")[0].split(None, 2)
        if not ends:
            continue
        data = _literal(ends[2]) if len(ends) > 2 else {}
        if len(ends) < 2 or data is None:
            raise UnreadableError("expected two nodes and perhaps {'rate': '10Gbps'}", number)
        a, b = ends[:2]
        raw.kinds |= {a: None, b: None}
        raw.links.append(RawLink(a, b, data, f"link {a} – {b}", number))
    return raw


def _literal(text: str) -> dict[str, Any] | None:
    """A mapping as Python writes it; nothing for anything else."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError):
        return None
    return found if isinstance(found, dict) else None


def _containerlab(document: Node) -> RawGraph:
    topology = _entry(document, "topology", dict)
    raw = RawGraph()
    groups = _within(topology, "groups")
    default = _kind(topology.child("defaults")) or "linux"
    for name, node in _entry(topology, "nodes", dict).value.items():
        group = _text(node.child("group"))
        kind = _kind(node) or _kind(groups.get(group)) or default
        labels = _within(node, "labels")
        raw.add(name, _text(labels.get("incast")) or ("host" if kind == "linux" else "switch"))
    taken: set[str] = set()
    links = topology.child("links")
    for number, link in enumerate(_entry(topology, "links", list).value if links else [], 1):
        raw.links.append(_lab_link(number, link, taken))
    return raw


def _lab_link(number: int, link: Node, taken: set[str]) -> RawLink:
    line = link.mark.line
    ends = [_interface(end) for end in _listed(link.child("endpoints"))]
    if len(ends) != 2 or not all(ends):
        raise UnreadableError(f"link {number}: endpoints: expected two, like [leaf1:eth1, leaf2:eth1]", line)
    for end in ends:
        if ":" in end and end in taken:
            raise UnreadableError(f"link {number}: {end} is an end of another link", line)
        taken.add(end)
    a, b = (end.partition(":")[0] for end in ends)
    data = {key: node.plain() for key, node in _within(link, "").items()}
    if isinstance(data.get("mtu"), int):  # containerlab's own field is in bytes
        data["mtu"] = f"{data['mtu']}B"
    for part in ("labels", "vars"):
        data |= {key: node.plain() for key, node in _within(link, part).items()}
    return RawLink(a, b, data, f"link {number} ({a} – {b})", line)


def _interface(end: Node) -> str:
    """An end as `node:interface`; the extended form has them in a mapping. Empty for anything else."""
    if isinstance(end.value, dict):
        names = [_text(end.child("node")), _text(end.child("interface"))]
        return ":".join(name for name in names if name) if names[0] else ""
    return _text(end)


def _entry(around: Node, name: str, kind: type) -> Any:
    """The field of that name, which has to be a mapping or list."""
    found = around.child(name)
    wanted = "a mapping" if kind is dict else "a list"
    if found is None:
        raise UnreadableError(f"{name} is missing: {wanted} is expected", around.mark.line)
    if not isinstance(found.value, kind):
        raise UnreadableError(f"{name}: expected {wanted}", found.mark.line)
    return found


def _within(node: Node, name: str) -> dict[str, Node]:
    """The entries of a field of a node, or with no name its own; none where it is no mapping."""
    found = node.child(name) if name else node
    return found.value if found and isinstance(found.value, dict) else {}


def _listed(node: Node | None) -> Iterator[Node]:
    return iter(node.value) if node and isinstance(node.value, list) else iter(())


def _text(node: Node | None) -> str:
    """A field's text; empty where there is none."""
    return (
        "" if node is None or node.value is None or isinstance(node.value, dict | list) else str(node.value)
    )


def _kind(node: Node | None) -> str:
    return _text(node.child("kind")) if node else ""
