//! Who is connected to whom: a known shape with its sizes, or any graph.

use fabric::LinkProps;
use serde::{Deserialize, Serialize};

/// Who is connected to whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// `hosts` hosts `host0…` on one switch `switch0`.
    SingleSwitch {
        /// Number of hosts.
        hosts: u32,
        /// Every host's link.
        host_link: LinkProps,
    },
    /// `left` hosts `left0…` on `switch0`, `right` hosts `right0…` on `switch1`, one link between the
    /// switches.
    Dumbbell {
        /// Hosts on the left.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Every host's link.
        host_link: LinkProps,
        /// The link between the switches.
        bottleneck: LinkProps,
    },
    /// Leaves `leaf0…` of the given sizes, each connected to every spine `spine0…`; hosts `host0…` in order
    /// of leaves.
    LeafSpine {
        /// Hosts on each leaf.
        leaves: Vec<u32>,
        /// Number of spines.
        spines: u32,
        /// Every host's link.
        host_link: LinkProps,
        /// Each link between a leaf and a spine.
        uplink: LinkProps,
        /// Parallel links between a leaf and a spine.
        uplinks_per_spine: u32,
    },
    /// The three-tier fat tree of Al-Fares et al. 2008 from switches of `k` ports: k³/4 hosts `host0…`,
    /// switches `edge0…`, `agg0…`, `core0…`.
    FatTree {
        /// Ports a switch; even.
        k: u32,
        /// Every host's link.
        host_link: LinkProps,
        /// Each link between switches.
        fabric_link: LinkProps,
    },
    /// Any graph.
    Graph {
        /// Hosts and switches.
        nodes: Vec<NodeSpec>,
        /// Links between them.
        links: Vec<GraphLink>,
    },
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
    pub ab: LinkProps,
    /// From `b` to `a`.
    pub ba: LinkProps,
}
