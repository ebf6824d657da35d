//! The graph of a topology: hosts, switches, links. Pure data; names are unique.

use crate::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Rate, Time};

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkProps {
    /// Data rate on the wire.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Largest IP packet that it carries, in bytes; larger ones are discarded.
    pub mtu: u32,
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// From `a` to `b`.
    pub ab: LinkProps,
    /// From `b` to `a`.
    pub ba: LinkProps,
}

/// A topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    hosts: Vec<String>,
    switches: Vec<String>,
    links: Vec<Link>,
}

/// What is wrong with a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// Two nodes of one name.
    #[error("node {0:?} is there twice: names must be unique")]
    Duplicate(String),
    /// A link to a node that isn't there.
    #[error("link {0:?}–{1:?} names {2:?}, which is no node")]
    UnknownNode(String, String, String),
    /// A link from a node to itself.
    #[error("link {0:?}–{0:?} is a self-loop: a link joins two different nodes")]
    SelfLoop(String),
    /// A link without capacity.
    #[error("link {0:?}–{1:?} has rate 0: a rate is at least 1 kbps")]
    NoRate(String, String),
    /// A host without a link.
    #[error("host {0:?} has no link")]
    Isolated(String),
    /// A size that makes no network.
    #[error("{0}")]
    Size(String),
}

impl Graph {
    /// Builds a graph from names; `links` are index pairs into `hosts` followed by `switches`.
    ///
    /// # Errors
    /// Duplicate names, self-loops, rates under 1 kb/s, hosts without a link.
    pub fn new(hosts: Vec<String>, switches: Vec<String>, links: Vec<Link>) -> Result<Graph, TopologyError> {
        let graph = Graph { hosts, switches, links };
        let mut seen = BTreeMap::new();
        for name in graph.hosts.iter().chain(&graph.switches) {
            if seen.insert(name.as_str(), ()).is_some() {
                return Err(TopologyError::Duplicate(name.clone()));
            }
        }
        let mut linked = vec![false; graph.hosts.len() + graph.switches.len()];
        for link in &graph.links {
            if link.a == link.b {
                return Err(TopologyError::SelfLoop(graph.name(link.a).into()));
            }
            if link.ab.rate < MIN_RATE || link.ba.rate < MIN_RATE {
                return Err(TopologyError::NoRate(graph.name(link.a).into(), graph.name(link.b).into()));
            }
            linked[link.a.0 as usize] = true;
            linked[link.b.0 as usize] = true;
        }
        match linked[..graph.hosts.len()].iter().position(|is| !is) {
            Some(host) => Err(TopologyError::Isolated(graph.hosts[host].clone())),
            None => Ok(graph),
        }
    }

    /// Number of hosts; they are the nodes `0..hosts`.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.hosts.len() + self.switches.len()
    }

    /// The links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether a node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        (node.0 as usize) < self.hosts.len()
    }

    /// A node's name.
    pub fn name(&self, node: NodeId) -> &str {
        let index = node.0 as usize;
        self.hosts.get(index).unwrap_or_else(|| &self.switches[index - self.hosts.len()])
    }

    /// The node of a name, by a scan: make a map of [`Graph::names`] for many.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names().position(|n| n == name).map(|index| NodeId(index as u32))
    }

    /// All names, in order of [`NodeId`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().chain(&self.switches).map(String::as_str)
    }
}

const MIN_RATE: Rate = Rate::from_bps(1_000);
