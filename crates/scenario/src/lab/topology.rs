//! Nodes and links: a known shape with its sizes, or any graph.

use crate::names;
use fabric::topology::{self, TopologyError};
use fabric::{Graph, Link, LinkProps, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Problem;

/// Nodes and links.
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

/// A topology with every node and link, for showing.
#[derive(Clone, Debug, Serialize)]
pub struct GraphView {
    /// Hosts, then switches.
    pub nodes: Vec<NodeView>,
    /// Links by the names of their ends.
    pub links: Vec<LinkView>,
}

/// A node of a [`GraphView`].
#[derive(Clone, Debug, Serialize)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// A link of a [`GraphView`].
#[derive(Clone, Debug, Serialize)]
pub struct LinkView {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// From `a` to `b`.
    pub ab: LinkProps,
    /// From `b` to `a`.
    pub ba: LinkProps,
}

/// All nodes and links of a topology given as JSON.
///
/// # Errors
/// What is wrong with it.
pub fn expand(json: &str) -> Result<GraphView, Problem> {
    let topology: Topology =
        serde_json::from_str(json).map_err(|error| Problem::new("topology", error.to_string()))?;
    let graph = graph(&topology)?;
    let kind = |node| if graph.is_host(node) { NodeKind::Host } else { NodeKind::Switch };
    let nodes = (0..graph.nodes() as u32).map(NodeId);
    let view = |link: &Link| LinkView {
        a: graph.name(link.a).into(),
        b: graph.name(link.b).into(),
        ab: link.ab,
        ba: link.ba,
    };
    Ok(GraphView {
        nodes: nodes.map(|node| NodeView { name: graph.name(node).into(), kind: kind(node) }).collect(),
        links: graph.links().iter().map(view).collect(),
    })
}

/// The graph of a topology.
pub(crate) fn graph(topology: &Topology) -> Result<Graph, Problem> {
    let graph = match topology {
        Topology::SingleSwitch { hosts, host_link } => topology::single_switch(*hosts, props(host_link)?),
        Topology::Dumbbell { left, right, host_link, bottleneck } => {
            topology::dumbbell(*left, *right, props(host_link)?, props(bottleneck)?)
        }
        Topology::LeafSpine { leaves, spines, host_link, uplink, uplinks_per_spine } => {
            topology::leaf_spine(leaves, *spines, *uplinks_per_spine, props(host_link)?, props(uplink)?)
        }
        Topology::FatTree { k, host_link, fabric_link } => {
            topology::fat_tree(*k, props(host_link)?, props(fabric_link)?)
        }
        Topology::Graph { nodes, links } => return any_graph(nodes, links),
    };
    graph.map_err(|error| Problem::new("topology", error))
}

/// A graph that is given as nodes and links. Their order there has no effect: nodes are numbered by name,
/// links by their ends; links between the same two nodes keep their order.
fn any_graph(nodes: &[NodeSpec], links: &[GraphLink]) -> Result<Graph, Problem> {
    let of = |kind| nodes.iter().filter(move |node| node.kind == kind).map(|node| node.name.clone());
    let (mut hosts, mut switches): (Vec<_>, Vec<_>) =
        (of(NodeKind::Host).collect(), of(NodeKind::Switch).collect());
    hosts.sort_by(|a, b| names::natural(a, b));
    switches.sort_by(|a, b| names::natural(a, b));
    if hosts.is_empty() {
        return Err(Problem::new(
            ["topology", "nodes"],
            "there is no host: at least one node of kind host is needed",
        ));
    }
    let ids: BTreeMap<&str, NodeId> = hosts
        .iter()
        .chain(&switches)
        .enumerate()
        .map(|(i, name)| (name.as_str(), NodeId(i as u32)))
        .collect();
    let mut resolved = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        let find = |name: &String| {
            ids.get(name.as_str()).copied().ok_or_else(|| {
                let error = TopologyError::UnknownNode(link.a.clone(), link.b.clone(), name.clone());
                Problem::new(("links", index), error).within("topology")
            })
        };
        let (a, b, ab, ba) = (find(&link.a)?, find(&link.b)?, props(&link.ab)?, props(&link.ba)?);
        resolved.push(if a <= b { Link { a, b, ab, ba } } else { Link { a: b, b: a, ab: ba, ba: ab } });
    }
    resolved.sort_by_key(|link| (link.a, link.b));
    Graph::new(hosts, switches, resolved).map_err(|error| Problem::new("topology", error))
}

fn props(link: &LinkProps) -> Result<LinkProps, Problem> {
    if !(68..=65_535).contains(&link.mtu) {
        let message = format!("MTU {} B: 68 B (RFC 791) to 65535 B are allowed", link.mtu);
        return Err(Problem::new("topology", message));
    }
    Ok(*link)
}
