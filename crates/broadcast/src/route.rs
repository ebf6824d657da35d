//! Paths through the network as plain routing takes them: fewest links; of these the widest; then topology
//! order. Links without capacity in that direction are not used.

use crate::check::PlanError;
use crate::topology::{LinkId, NodeId, Topology};
use units::Rate;

/// The ways from one node to all.
pub(crate) struct Routes<'a> {
    topology: &'a Topology,
    from: NodeId,
    /// The last link of the way to each node.
    by: Vec<Option<LinkId>>,
}

impl<'a> Routes<'a> {
    pub fn new(topology: &'a Topology, from: NodeId) -> Routes<'a> {
        let mut by = vec![None; topology.nodes_len()];
        let mut width = vec![Rate::default(); topology.nodes_len()];
        let mut distance = vec![u32::MAX; topology.nodes_len()];
        width[from.index()] = Rate::from_bps(u64::MAX);
        distance[from.index()] = 0;
        // Nodes at one distance are complete before those at the next are looked at.
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(&node) = reached.get(at) {
            at += 1;
            for &link in topology.leaving(node) {
                let (next, through) = (topology.head(link), width[node.index()].min(topology.capacity(link)));
                if through == Rate::default() || distance[next.index()] <= distance[node.index()] {
                    continue;
                }
                if distance[next.index()] == u32::MAX {
                    distance[next.index()] = distance[node.index()] + 1;
                    reached.push(next);
                }
                if through > width[next.index()] {
                    width[next.index()] = through;
                    by[next.index()] = Some(link);
                }
            }
        }
        Routes { topology, from, by }
    }

    /// The way to a node.
    ///
    /// # Errors
    /// There is none.
    pub fn to(&self, node: NodeId) -> Result<Vec<LinkId>, PlanError> {
        let name = |node| self.topology.name(node).to_owned();
        let none = || PlanError::Unreachable { source_host: name(self.from), destination: name(node) };
        path(self.topology, &self.by, self.from, node).ok_or_else(none)
    }
}

/// Follows last links back from `to` to `from`; nothing if they do not lead there.
pub(crate) fn path(
    topology: &Topology,
    by: &[Option<LinkId>],
    from: NodeId,
    to: NodeId,
) -> Option<Vec<LinkId>> {
    let mut links = Vec::new();
    let mut at = to;
    while at != from {
        let link = by[at.index()]?;
        links.push(link);
        at = topology.tail(link);
    }
    links.reverse();
    Some(links)
}
