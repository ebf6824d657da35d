//! Who is connected to whom: a known shape with its sizes, or any graph.

use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

/// Who is connected to whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// `hosts` hosts `host0…` on one switch `switch0`.
    SingleSwitch {
        /// Number of hosts.
        hosts: u32,
        /// Every host's link.
        host_link: LinkSpec,
    },
    /// `left` hosts `left0…` on `switch0`, `right` hosts `right0…` on `switch1`, one link between the switches.
    Dumbbell {
        /// Hosts on the left.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// The link between the switches.
        bottleneck: LinkSpec,
    },
    /// Leaves `leaf0…` of the given sizes, each connected to every spine `spine0…`; hosts `host0…` in order of leaves.
    LeafSpine {
        /// Hosts on each leaf.
        leaves: Vec<u32>,
        /// Number of spines.
        spines: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// Each link between a leaf and a spine.
        uplink: LinkSpec,
        /// Parallel links between a leaf and a spine.
        uplinks_per_spine: u32,
    },
    /// The three-tier fat tree of Al-Fares et al. 2008 from switches of `k` ports: k³/4 hosts `host0…`,
    /// switches `edge0…`, `agg0…`, `core0…`.
    FatTree {
        /// Ports a switch; even.
        k: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// Each link between switches.
        fabric_link: LinkSpec,
    },
    /// Any graph.
    Graph {
        /// Hosts and switches.
        nodes: Vec<NodeSpec>,
        /// Links between them.
        links: Vec<GraphLink>,
    },
}

/// A link's properties, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Data rate on the wire.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Largest IP packet that it carries; larger ones are discarded.
    pub mtu: Bytes,
}

/// A node of a graph topology.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// Hosts run processes, switches forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives, never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A link of a graph topology, by the names of its ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// From `a` to `b`.
    pub ab: LinkSpec,
    /// From `b` to `a`.
    pub ba: LinkSpec,
}

/// What a packet costs on the wire: `max(ip_bytes, min_payload) + overhead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Ethernet: preamble 8, header 14, FCS 4, gap 12: 38.
    pub overhead: Bytes,
    /// Ethernet: 46.
    pub min_payload: Bytes,
}
