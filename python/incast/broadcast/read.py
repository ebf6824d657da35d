"""Topologies from files, as people write them.

```yaml
nodes:
  - {id: source, kind: host}
  - {id: switch0, kind: switch}
  - {id: slow, kind: host, cap: 100Mbps}   # at most so much in and out together
links:
  - {a: source, b: switch0, rate: 1Gbps}                # both ways
  - {a: switch0, b: slow, ab: 20Mbps, ba: 10Mbps}       # each way; without one, nothing goes that way
```

The same as JSON, where whole numbers are bit/s as in the core's; and what scenarios read: node-link JSON,
GraphML, CSV, edge lists, containerlab (`incast.lab.graphread`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from incast.broadcast.topology import Link, Node, Topology
from incast.document import Node as Written
from incast.document import read_file
from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.lab.base import Model, Name, check_name
from incast.lab.findings import Findings
from incast.lab.graphread import PROPERTIES, RawGraph, RawLink, UnreadableError
from incast.lab.graphread import read as read_graph
from incast.lab.quantities import Rate
from incast.lab.validate import problems
from incast.quantity import parse_rate

_RATES = ("rate", "ab", "ba", "cap")


class NodeEntry(Model):
    """A host or a switch."""

    id: Name
    """Its name."""
    kind: Literal["host", "switch"]
    """A host can relay, a switch only passes on."""
    cap: Rate | None = None
    """What a host can send and receive together; without it only its links limit it."""


class LinkEntry(Model):
    """A link: its bandwidth both ways (`rate`), or each way."""

    a: Name
    """One end."""
    b: Name
    """The other end."""
    rate: Rate | None = None
    """Bandwidth, the same both ways."""
    ab: Rate | None = None
    """Bandwidth from a to b; without it and `rate`, nothing goes that way."""
    ba: Rate | None = None
    """Bandwidth from b to a."""

    @model_validator(mode="after")
    def _has_a_rate(self) -> LinkEntry:
        if self.rate and (self.ab or self.ba):
            raise ValueError("rate is for both ways: it has no meaning together with ab and ba")
        if not (self.rate or self.ab or self.ba):
            raise ValueError("has no bandwidth: rate (both ways), ab or ba is required")
        return self


class TopologyFile(Model):
    """A topology whose links have a bandwidth."""

    nodes: Annotated[list[NodeEntry], Field(min_length=2)]
    """Hosts and switches."""
    links: Annotated[list[LinkEntry], Field(min_length=1)]
    """What connects them; a pair of nodes has one link."""


def read(path: Path) -> Topology:
    """The topology in a file; `ScenarioError` names all that is wrong."""
    name = path.name.lower()
    if name.endswith((".yaml", ".yml")) and not name.endswith((".clab.yml", ".clab.yaml")):
        return of_document(read_file(path))
    if name.endswith(".json"):
        document = read_file(path)
        if not _is_node_link(document):
            return of_document(_with_units(document))
    return _of_graph(path)


def of_document(document: Written) -> Topology:
    """The topology that a document in our own form describes."""
    try:
        model = TopologyFile.model_validate(document.plain())
    except ValidationError as error:
        raise ScenarioError(problems(error, document, of=TopologyFile)) from None
    findings = Findings(document)
    _check(model.nodes, model.links, findings)
    findings.stop_if_any()
    nodes = [Node(each.id, each.kind, each.cap and parse_rate(each.cap)) for each in model.nodes]  # type: ignore[arg-type]
    links = [
        Link(each.a, each.b, *(_bps(each.rate or way) for way in (each.ab, each.ba))) for each in model.links
    ]
    return Topology(tuple(nodes), tuple(links))


def _bps(rate: str | None) -> int:
    return parse_rate(rate) if rate else 0


def _check(nodes: Sequence[NodeEntry], links: Sequence[LinkEntry], findings: Findings) -> None:
    """Notes names that are there twice, and ends that are no nodes."""
    counted = Counter(node.id for node in nodes)
    for number, node in enumerate(nodes):
        if counted[node.id] > 1:
            findings.add(
                ("nodes", number, "id"), f"{node.id!r} is there {counted[node.id]} times: names must differ"
            )
        if node.cap and node.kind == "switch":
            findings.add(
                ("nodes", number, "cap"), "only hosts have a cap: a switch passes on what its links carry"
            )
    seen: dict[frozenset[str], int] = {}
    for number, link in enumerate(links):
        for end in ("a", "b"):
            if (name := getattr(link, end)) not in counted:
                findings.add(("links", number, end), unknown("one of the nodes", name, counted))
        if link.a == link.b:
            findings.add(("links", number), "a link from a node to itself is not allowed")
        pair = frozenset((link.a, link.b))
        if pair in seen:
            message = (
                f"links[{seen[pair]}] connects {link.a} and {link.b} already: one link a pair is expected"
            )
            findings.add(("links", number), message)
        seen.setdefault(pair, number)


def _is_node_link(document: Written) -> bool:
    """Whether links have a source and a target, as networkx writes them."""
    if document.child("directed") or document.child("edges"):
        return True
    links = document.child("links")
    first = links.child(0) if links else None
    return bool(first and first.child("source"))


def _with_units(node: Written, key: str = "") -> Written:
    """JSON of the core: whole numbers are bit/s, and 0 is a way that nothing goes."""
    if isinstance(node.value, dict):
        ways = {
            name: each for name, each in node.value.items() if not (name in ("ab", "ba") and each.value == 0)
        }
        return Written({name: _with_units(each, name) for name, each in ways.items()}, node.mark)
    if isinstance(node.value, list):
        return Written([_with_units(each) for each in node.value], node.mark)
    if key in _RATES and type(node.value) is int:
        return Written(f"{node.value}bps", node.mark)
    return node


def _of_graph(path: Path) -> Topology:
    """A graph in a form that is not ours: links have `rate`, or `bandwidth`, or `capacity`."""
    try:
        raw = read_graph(path)
    except UnreadableError as error:
        raise ScenarioError(
            [Problem(f"not readable as a topology: {error.message}", "", str(path), error.line)]
        ) from None
    wrong: list[Problem] = []
    nodes = [_graph_node(name, kind, raw, str(path), wrong) for name, kind in raw.kinds.items()]
    arcs: dict[tuple[str, str], int] = {}
    for link in raw.links:
        try:
            rate = _graph_rate(link, raw.kinds)
            for arc in [(link.a, link.b)] if raw.directed else [(link.a, link.b), (link.b, link.a)]:
                _put(arcs, arc, rate)
        except ValueError as error:
            wrong.append(Problem(f"{link.place}: {error}", "", str(path), link.line))
    if wrong:
        raise ScenarioError(wrong)
    return _joined(nodes, arcs)


def _put(arcs: dict[tuple[str, str], int], arc: tuple[str, str], rate: int) -> None:
    if arc in arcs:
        raise ValueError(f"another link goes from {arc[0]} to {arc[1]} already: one is expected")
    arcs[arc] = rate


def _joined(nodes: Sequence[Node], arcs: Mapping[tuple[str, str], int]) -> Topology:
    pairs = {tuple(sorted(arc)) for arc in arcs}
    links = [Link(a, b, arcs.get((a, b), 0), arcs.get((b, a), 0)) for a, b in sorted(pairs)]
    return Topology(tuple(nodes), tuple(links))


def _graph_node(name: str, kind: str | None, raw: RawGraph, file: str, wrong: list[Problem]) -> Node:
    """Without a kind, nodes with a single neighbour are hosts."""
    try:
        check_name(name)
    except ValueError as error:
        wrong.append(Problem(f"a node: {error}", "", file))
    if kind not in (None, "host", "switch"):
        wrong.append(Problem(f"node {name}: {unknown('a kind', str(kind), ('host', 'switch'))}", "", file))
    near = {link.b if link.a == name else link.a for link in raw.links if name in (link.a, link.b)}
    return Node(name, "switch" if kind == "switch" or (kind is None and len(near) > 1) else "host")


def _graph_rate(link: RawLink, kinds: Mapping[str, Any]) -> int:
    if link.a == link.b:
        raise ValueError("a link from a node to itself is not allowed")
    for end in (link.a, link.b):
        if end not in kinds:
            raise ValueError(unknown("one of the nodes", end, kinds))
    names = PROPERTIES["rate"]
    found = next((link.data[name] for name in names if link.data.get(name) is not None), None)
    if found is None:
        raise ValueError(f"has no {' or '.join(names)}")
    rate = parse_rate(str(found))
    if rate < 1000:
        raise ValueError(f"{found!r} is not allowed: it must be at least 1kbps")
    return rate
