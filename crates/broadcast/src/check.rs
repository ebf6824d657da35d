//! The rules of a request and of a plan, whichever planner made it: no link above its capacity, no host that
//! sends what it has not received, each host at most once per tree (document 003, slides 8–9).

use crate::plan::{Plan, TreeRef};
use crate::topology::{LinkId, NodeId, Topology};
use units::Rate;

/// Why a plan can't be made, or can't be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A name that the topology doesn't have.
    #[error("there is no node {0:?} in the topology")]
    Unknown(String),
    /// A source or destination that can't keep data.
    #[error("{0:?} is a switch: only hosts send, relay and receive")]
    Switch(String),
    /// A destination that is given twice, or is the source.
    #[error("host {0:?} is given twice: each destination once, and not the source")]
    Duplicate(String),
    /// Nobody to send to.
    #[error("a broadcast needs at least one destination")]
    Nobody,
    /// A destination that no data can come to.
    #[error(
        "host {destination:?} can't be reached from {source_host:?}: each way has a link of rate 0 in that direction"
    )]
    Unreachable {
        /// The host that has the data.
        source_host: String,
        /// The hosts that can't get them.
        destination: String,
    },
    /// A hop of less than two nodes.
    #[error("tree {tree}: a hop is a list of at least two nodes, from the sender to the receiver")]
    ShortHop {
        /// Its number.
        tree: usize,
    },
    /// A hop over a link that isn't there.
    #[error("tree {tree}: there is no link from {from:?} to {to:?}")]
    NoLink {
        /// Its number.
        tree: usize,
        /// Where it would begin.
        from: String,
        /// Where it would end.
        to: String,
    },
    /// A tree without rate or hops.
    #[error("tree {tree} needs at least one hop and a rate above 0")]
    EmptyTree {
        /// Its number.
        tree: usize,
    },
    /// A path that doesn't lead from parent to child.
    #[error("tree {tree}: the path from {parent:?} to {child:?} has a gap")]
    Gap {
        /// Its number.
        tree: usize,
        /// The sender.
        parent: String,
        /// The receiver.
        child: String,
    },
    /// A host that is to send what it hasn't got.
    #[error("tree {tree}: {parent:?} sends to {child:?} before it receives")]
    Early {
        /// Its number.
        tree: usize,
        /// The sender.
        parent: String,
        /// The receiver.
        child: String,
    },
    /// A host that receives the same data twice.
    #[error("tree {tree}: {child:?} receives twice")]
    Twice {
        /// Its number.
        tree: usize,
        /// The receiver.
        child: String,
    },
    /// A host receives that is no destination.
    #[error("tree {tree}: {child:?} is no destination")]
    Stranger {
        /// Its number.
        tree: usize,
        /// The receiver.
        child: String,
    },
    /// More on a link than it carries.
    #[error("the trees put {load} on the link from {from:?} to {to:?}, which carries {capacity}")]
    Overload {
        /// Where it begins.
        from: String,
        /// Where it ends.
        to: String,
        /// What is planned.
        load: Rate,
        /// What can be.
        capacity: Rate,
    },
    /// More through a host than its cap.
    #[error("the trees put {load} into and out of {host:?}, whose cap is {cap}")]
    OverCap {
        /// Whose.
        host: String,
        /// What is planned.
        load: Rate,
        /// What can be.
        cap: Rate,
    },
}

/// Checks a request: hosts that exist, once each.
pub fn check_members(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Result<(), PlanError> {
    if destinations.is_empty() {
        return Err(PlanError::Nobody);
    }
    let mut seen = vec![false; topology.nodes_len()];
    for &node in std::iter::once(&source).chain(destinations) {
        let name = || topology.name(node).to_owned();
        if !topology.is_host(node) {
            return Err(PlanError::Switch(name()));
        }
        if std::mem::replace(&mut seen[node.index()], true) {
            return Err(PlanError::Duplicate(name()));
        }
    }
    Ok(())
}

/// Checks that data can come from the source to all destinations.
pub fn check_reachable(
    topology: &Topology,
    source: NodeId,
    destinations: &[NodeId],
) -> Result<(), PlanError> {
    let mut seen = vec![false; topology.nodes_len()];
    let mut waiting = vec![source];
    seen[source.index()] = true;
    while let Some(node) = waiting.pop() {
        for &link in topology.leaving(node) {
            let next = topology.head(link);
            if topology.capacity(link) > Rate::default() && !std::mem::replace(&mut seen[next.index()], true)
            {
                waiting.push(next);
            }
        }
    }
    match destinations.iter().find(|node| !seen[node.index()]) {
        None => Ok(()),
        Some(&node) => Err(PlanError::Unreachable {
            source_host: topology.name(source).to_owned(),
            destination: topology.name(node).to_owned(),
        }),
    }
}

impl Plan {
    /// Checks that the plan can be run on `topology`.
    pub fn check(&self, topology: &Topology) -> Result<(), PlanError> {
        check_members(topology, self.source, &self.destinations)?;
        let mut wanted = vec![false; topology.nodes_len()];
        self.destinations.iter().for_each(|node| wanted[node.index()] = true);
        let mut received = vec![usize::MAX; topology.nodes_len()];
        for (number, tree) in self.trees().enumerate() {
            received[self.source.index()] = number;
            check_tree(topology, &wanted, &mut received, number, tree)?;
        }
        self.check_loads(topology)
    }

    fn check_loads(&self, topology: &Topology) -> Result<(), PlanError> {
        let loads = self.loads(topology);
        let name = |node| topology.name(node).to_owned();
        for link in topology.links() {
            let (load, capacity) = (loads[link.index()], topology.capacity(link));
            if load > capacity {
                let (from, to) = (name(topology.tail(link)), name(topology.head(link)));
                return Err(PlanError::Overload { from, to, load, capacity });
            }
        }
        let through = |node: NodeId| {
            let both = |&link: &LinkId| loads[link.index()].as_bps() + loads[link.reverse().index()].as_bps();
            Rate::from_bps(topology.leaving(node).iter().map(both).sum())
        };
        for (host, cap) in topology.hosts().filter_map(|host| topology.cap(host).map(|cap| (host, cap))) {
            let load = through(host);
            if load > cap {
                return Err(PlanError::OverCap { host: name(host), load, cap });
            }
        }
        Ok(())
    }
}

/// `received` has the number of the last tree that a node is in.
fn check_tree(
    topology: &Topology,
    wanted: &[bool],
    received: &mut [usize],
    number: usize,
    tree: TreeRef<'_>,
) -> Result<(), PlanError> {
    if tree.is_empty() || tree.rate() == Rate::default() {
        return Err(PlanError::EmptyTree { tree: number });
    }
    for hop in tree.hops() {
        let name = |node: NodeId| topology.name(node).to_owned();
        let (parent, child) = (|| name(hop.parent), || name(hop.child));
        let mut at = hop.parent;
        let follows = |&link: &LinkId| topology.tail(link) == std::mem::replace(&mut at, topology.head(link));
        if !hop.path.iter().all(follows) || at != hop.child || hop.path.is_empty() {
            return Err(PlanError::Gap { tree: number, parent: parent(), child: child() });
        }
        if received[hop.parent.index()] != number {
            return Err(PlanError::Early { tree: number, parent: parent(), child: child() });
        }
        if received[hop.child.index()] == number {
            return Err(PlanError::Twice { tree: number, child: child() });
        }
        if !wanted[hop.child.index()] {
            return Err(PlanError::Stranger { tree: number, child: child() });
        }
        received[hop.child.index()] = number;
    }
    Ok(())
}
