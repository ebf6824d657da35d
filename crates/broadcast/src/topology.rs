//! A network as planners see it: hosts, switches, and links with a capacity per direction (document 003,
//! slides 8–10).
//!
//! Only hosts relay and copy; a switch only forwards. Latency, loss and routing are not modelled. The JSON
//! form is [`TopologyData`]: nodes by name, rates as integers in bit/s.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Rate;

/// A node of a [`Topology`]: its place in the list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// One direction of a link of a [`Topology`]: twice its place in the list of links, and one more from `b` to
/// `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
    /// The other direction of the same link.
    pub fn reverse(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }
}

/// What a node does with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// May keep, copy and relay them.
    Host,
    /// Passes them on.
    Switch,
}

/// A node as people write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeData {
    /// Its name.
    pub id: String,
    /// Host or switch.
    pub kind: Kind,
    /// What a host takes in and gives out together at most, in bit/s. Absent: any rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<i64>,
}

/// A link as people write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkData {
    /// One end's name.
    pub a: String,
    /// The other's.
    pub b: String,
    /// Capacity from `a` to `b` in bit/s; 0 where nothing can go.
    pub ab: i64,
    /// Capacity from `b` to `a` in bit/s; 0 where nothing can go.
    pub ba: i64,
}

/// A topology as people write it: its JSON form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyData {
    /// Hosts and switches.
    pub nodes: Vec<NodeData>,
    /// Links; one at most between two nodes.
    pub links: Vec<LinkData>,
}

/// Why a topology can't be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// Nothing is there.
    #[error("a topology needs at least one host")]
    Empty,
    /// More than numbers of nodes and links hold.
    #[error("at most {NODES_MAX} nodes and {LINKS_MAX} links are allowed")]
    Large,
    /// A name that two nodes have.
    #[error("node {0:?} is given twice")]
    DuplicateNode(String),
    /// A link to a node that isn't there.
    #[error("link {a:?} – {b:?}: there is no node {missing:?}")]
    UnknownNode {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// The one that isn't there.
        missing: String,
    },
    /// A link from a node to itself.
    #[error("link {0:?} – {0:?}: a link joins two different nodes")]
    Loop(String),
    /// Two links between the same nodes.
    #[error(
        "link {0:?} – {1:?} is given twice; parallel links are written as one, with the sum of their rates"
    )]
    DuplicateLink(String, String),
    /// A negative rate, or one beyond all links.
    #[error(
        "link {a:?} – {b:?}: the rate from {from:?} is {rate} bit/s; allowed are 1 to {RATE_MAX}, and 0 where nothing can go"
    )]
    Rate {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// Where it would begin.
        from: String,
        /// What was given.
        rate: i64,
    },
    /// Zero both ways.
    #[error("link {0:?} – {1:?}: the rate is 0 both ways; leave the link out")]
    Dead(String, String),
    /// A cap that lets nothing through, or of a switch.
    #[error("node {node:?}: the cap is {cap} bit/s; allowed are 1 to {RATE_MAX}, for hosts only")]
    Cap {
        /// Whose.
        node: String,
        /// What was given.
        cap: i64,
    },
    /// A part that no link joins to the rest.
    #[error("the topology is not connected: no link joins {0:?} to {1:?}")]
    Parts(String, String),
}

/// Nodes at most.
pub const NODES_MAX: usize = 1 << 24;
/// Links at most.
pub const LINKS_MAX: usize = 1 << 26;
/// Highest rate, in bit/s: sums and ratios of rates stay exact.
pub const RATE_MAX: i64 = 1_000_000_000_000_000;

/// A network with a capacity a link and direction, connected, with names that are used once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TopologyData", into = "TopologyData")]
pub struct Topology {
    names: Vec<String>,
    kinds: Vec<Kind>,
    caps: Vec<Option<Rate>>,
    by_name: BTreeMap<String, NodeId>,
    /// Where each direction of a link begins and ends, and what it carries.
    ends: Vec<(NodeId, NodeId)>,
    capacities: Vec<Rate>,
    /// Links that leave a node, by the name of the other end: those of node `n` lie from `first[n]` to
    /// `first[n + 1]`.
    leaving: Vec<LinkId>,
    first: Vec<u32>,
}

impl Topology {
    /// Number of nodes.
    pub fn nodes_len(&self) -> usize {
        self.names.len()
    }
    /// Number of directed links: twice that of links.
    pub fn links_len(&self) -> usize {
        self.ends.len()
    }
    /// All nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.names.len() as u32).map(NodeId)
    }
    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes().filter(|&node| self.is_host(node))
    }
    /// All directed links.
    pub fn links(&self) -> impl ExactSizeIterator<Item = LinkId> + use<> {
        (0..self.ends.len() as u32).map(LinkId)
    }
    /// The node of a name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }
    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }
    /// Whether a node may relay and copy.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.kinds[node.index()] == Kind::Host
    }
    /// What a host takes in and gives out together at most; nothing: any rate.
    pub fn cap(&self, node: NodeId) -> Option<Rate> {
        self.caps[node.index()]
    }
    /// Where a directed link begins.
    pub fn tail(&self, link: LinkId) -> NodeId {
        self.ends[link.index()].0
    }
    /// Where a directed link ends.
    pub fn head(&self, link: LinkId) -> NodeId {
        self.ends[link.index()].1
    }
    /// What a directed link carries at most; zero: nothing goes that way.
    pub fn capacity(&self, link: LinkId) -> Rate {
        self.capacities[link.index()]
    }
    /// Sets what a directed link carries: it has been measured again.
    pub fn set_capacity(&mut self, link: LinkId, capacity: Rate) {
        self.capacities[link.index()] = capacity;
    }
    /// The directed links that leave a node, in the order of the nodes that they go to.
    pub fn leaving(&self, node: NodeId) -> &[LinkId] {
        let at = |index: usize| self.first[index] as usize;
        &self.leaving[at(node.index())..at(node.index() + 1)]
    }
    /// The directed link from one node to another.
    pub fn link(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        let leaving = self.leaving(from);
        leaving.binary_search_by_key(&to, |&link| self.head(link)).ok().map(|at| leaving[at])
    }
}

impl TryFrom<TopologyData> for Topology {
    type Error = TopologyError;

    fn try_from(data: TopologyData) -> Result<Topology, TopologyError> {
        if data.nodes.is_empty() {
            return Err(TopologyError::Empty);
        }
        if data.nodes.len() > NODES_MAX || data.links.len() > LINKS_MAX {
            return Err(TopologyError::Large);
        }
        let mut topology = Topology {
            names: Vec::new(),
            kinds: Vec::new(),
            caps: Vec::new(),
            by_name: BTreeMap::new(),
            ends: Vec::new(),
            capacities: Vec::new(),
            leaving: Vec::new(),
            first: Vec::new(),
        };
        data.nodes.into_iter().try_for_each(|node| topology.add_node(node))?;
        data.links.iter().try_for_each(|link| topology.add_link(link))?;
        topology.sort_leaving()?;
        topology.check_connected()?;
        Ok(topology)
    }
}

impl Topology {
    fn add_node(&mut self, node: NodeData) -> Result<(), TopologyError> {
        if let Some(cap) = node.cap
            && (!(1..=RATE_MAX).contains(&cap) || node.kind == Kind::Switch)
        {
            return Err(TopologyError::Cap { node: node.id, cap });
        }
        let id = NodeId(self.names.len() as u32);
        if self.by_name.insert(node.id.clone(), id).is_some() {
            return Err(TopologyError::DuplicateNode(node.id));
        }
        self.names.push(node.id);
        self.kinds.push(node.kind);
        self.caps.push(node.cap.map(|cap| Rate::from_bps(cap as u64)));
        Ok(())
    }

    fn add_link(&mut self, link: &LinkData) -> Result<(), TopologyError> {
        let find = |name: &String| {
            self.node(name).ok_or_else(|| TopologyError::UnknownNode {
                a: link.a.clone(),
                b: link.b.clone(),
                missing: name.clone(),
            })
        };
        let (a, b) = (find(&link.a)?, find(&link.b)?);
        if a == b {
            return Err(TopologyError::Loop(link.a.clone()));
        }
        let rate = |from: &String, rate: i64| {
            if (0..=RATE_MAX).contains(&rate) {
                return Ok(Rate::from_bps(rate as u64));
            }
            let (a, b, from) = (link.a.clone(), link.b.clone(), from.clone());
            Err(TopologyError::Rate { a, b, from, rate })
        };
        let (ab, ba) = (rate(&link.a, link.ab)?, rate(&link.b, link.ba)?);
        if link.ab == 0 && link.ba == 0 {
            return Err(TopologyError::Dead(link.a.clone(), link.b.clone()));
        }
        self.ends.extend([(a, b), (b, a)]);
        self.capacities.extend([ab, ba]);
        Ok(())
    }

    /// Fills the lists of what leaves a node.
    fn sort_leaving(&mut self) -> Result<(), TopologyError> {
        let mut leaving: Vec<LinkId> = self.links().collect();
        leaving.sort_unstable_by_key(|&link| self.ends[link.index()]);
        if let Some(twice) =
            leaving.windows(2).find(|two| self.ends[two[0].index()] == self.ends[two[1].index()])
        {
            let name = |node| self.name(node).to_owned();
            return Err(TopologyError::DuplicateLink(name(self.tail(twice[0])), name(self.head(twice[0]))));
        }
        self.first = vec![0; self.names.len() + 1];
        for &(tail, _) in &self.ends {
            self.first[tail.index() + 1] += 1;
        }
        (1..self.first.len()).for_each(|node| self.first[node] += self.first[node - 1]);
        self.leaving = leaving;
        Ok(())
    }

    fn check_connected(&self) -> Result<(), TopologyError> {
        let mut seen = vec![false; self.names.len()];
        let mut waiting = vec![NodeId(0)];
        seen[0] = true;
        while let Some(node) = waiting.pop() {
            for &link in self.leaving(node) {
                let next = self.head(link);
                if !std::mem::replace(&mut seen[next.index()], true) {
                    waiting.push(next);
                }
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(apart) => Err(TopologyError::Parts(self.names[0].clone(), self.names[apart].clone())),
            None if !self.kinds.contains(&Kind::Host) => Err(TopologyError::Empty),
            None => Ok(()),
        }
    }
}

impl From<Topology> for TopologyData {
    fn from(topology: Topology) -> TopologyData {
        let name = |node| topology.name(node).to_owned();
        let bps = |link| topology.capacity(link).as_bps() as i64;
        let nodes = topology.nodes().map(|node| NodeData {
            id: name(node),
            kind: topology.kinds[node.index()],
            cap: topology.cap(node).map(|cap| cap.as_bps() as i64),
        });
        let links = topology.links().step_by(2).map(|link| LinkData {
            a: name(topology.tail(link)),
            b: name(topology.head(link)),
            ab: bps(link),
            ba: bps(link.reverse()),
        });
        TopologyData { nodes: nodes.collect(), links: links.collect() }
    }
}
