"""How nodes are connected."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from incast.lab.base import Count, Ends, Kind, Model, Name, Selector, mtu_from
from incast.lab.quantities import PositiveSize, Rate, Size, Time

Mtu = Annotated[PositiveSize, mtu_from("68B")]
"""An MTU that IPv4 allows (RFC 791)."""


class Link(Model):
    """A link, the same both ways."""

    rate: Rate = "25Gbps"
    """Data rate on the wire."""
    delay: Time = "1us"
    """Propagation delay."""
    mtu: Mtu = "9000B"
    """Largest IP packet that it carries; larger packets are discarded."""


class FasterLink(Link):
    """A link between switches."""

    rate: Rate = "100Gbps"
    """Data rate on the wire."""


class SingleSwitch(Kind):
    """Hosts `host0`… on one switch `switch0`."""

    kind: Literal["single-switch"] = "single-switch"
    hosts: Count
    """Number of hosts."""
    host_link: Link = Link()
    """Every host's link."""


class Dumbbell(Kind):
    """Hosts `left0`… on `switch0` and `right0`… on `switch1`, with one link between the switches."""

    kind: Literal["dumbbell"] = "dumbbell"
    left: Count
    """Hosts on the left."""
    right: Count
    """Hosts on the right."""
    host_link: Link = Link()
    """Every host's link."""
    bottleneck: Link = Link()
    """The link between the switches."""


class LeafSpine(Kind):
    """Leaves `leaf0`…, each connected to every spine `spine0`…; hosts `host0`… in order of leaves."""

    kind: Literal["leaf-spine"] = "leaf-spine"
    leaves: Annotated[list[Count], Field(min_length=1)]
    """Hosts on each leaf."""
    spines: Count
    """Number of spines."""
    host_link: Link = Link()
    """Every host's link."""
    uplink: FasterLink = FasterLink()
    """Each link between a leaf and a spine."""
    uplinks_per_spine: Count = 1
    """Parallel links between a leaf and a spine."""


class FatTree(Kind):
    """The three-tier fat tree (Al-Fares et al. 2008): k³/4 hosts, switches `edge0`…, `agg0`…, `core0`…."""

    kind: Literal["fat-tree"] = "fat-tree"
    k: Annotated[int, Field(ge=2, le=128)]
    """Ports per switch; even."""
    host_link: Link = Link()
    """Every host's link."""
    fabric_link: Link = Link()
    """Each link between switches."""

    @field_validator("k")
    @classmethod
    def _even(cls, k: int) -> int:
        if k % 2:
            raise ValueError(f"{k} is odd: a fat tree's switches have an even number of ports")
        return k


class Back(Model):
    """How a link differs from its second to its first end."""

    rate: Rate | None = None
    """Data rate on the wire."""
    delay: Time | None = None
    """Propagation delay."""
    mtu: Mtu | None = None
    """Largest IP packet."""


class GraphLink(Link):
    """A link of a graph."""

    ends: Ends
    """The names of its two ends."""
    back: Back = Back()
    """Properties that differ from the second end to the first."""


class Graph(Kind):
    """Any graph, written here."""

    kind: Literal["graph"] = "graph"
    nodes: Annotated[dict[Name, Literal["host", "switch"]], Field(min_length=2)]
    """Every node's name, and whether it is a host (never forwards) or a switch."""
    links: Annotated[list[GraphLink], Field(min_length=1)]
    """Links between them."""


class FileTopology(Kind):
    """A graph from a file: node-link JSON, GraphML, an edge list (CSV), containerlab YAML."""

    kind: Literal["file"] = "file"
    file: Annotated[str, Field(min_length=1)]
    """`*.json`, `*.graphml`, `*.csv`, `*.edgelist` or `*.clab.yml`, relative to the scenario's folder."""
    link: Link | None = None
    """Defaults for links if the file has no values; without this, the file must have them."""
    hosts: Selector | None = None
    """The hosts, if the file doesn't name them; without this, the nodes with a single link."""


Topology = Annotated[
    SingleSwitch | Dumbbell | LeafSpine | FatTree | Graph | FileTopology, Field(discriminator="kind")
]


class Framing(Model):
    """What a packet costs on the wire: max(IP bytes, min_payload) + overhead. The default is Ethernet."""

    overhead: Size = "38B"
    """Preamble, header, checksum and gap of a frame."""
    min_payload: Size = "46B"
    """Shorter packets are padded to it."""
