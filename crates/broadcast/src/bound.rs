//! What each destination could receive alone, and therefore the bound of any plan (document 003, slides 12
//! and 31: the total of separate transfers from the source to each destination).
//!
//! Alone a destination may use every path at once, and hosts on the path forward data as switches do: copying
//! doesn't matter for one receiver. So the bound is the maximum flow from the source; on trees it is the
//! narrowest link of the path. A host's cap counts data in both directions, so half of it can pass through.

use crate::check::{self, PlanError};
use crate::flow::Network;
use crate::topology::{NodeId, Topology};
use units::Rate;

/// The highest rate at which each destination could receive if it were alone.
pub fn alone(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Result<Vec<Rate>, PlanError> {
    check::check_members(topology, source, destinations)?;
    let mut network = network(topology);
    let cap = |node| topology.cap(node).map_or(u64::MAX, Rate::as_bps);
    let sum = |rates: &mut dyn Iterator<Item = Rate>| rates.map(Rate::as_bps).fold(0, u64::saturating_add);
    let leaving = sum(&mut topology.leaving(source).iter().map(|&link| topology.capacity(link)));
    let most = |&node: &NodeId| {
        let entering = sum(&mut topology.leaving(node).iter().map(|&link| topology.capacity(link.reverse())));
        let limit = cap(source).min(cap(node)).min(leaving).min(entering);
        Rate::from_bps(network.max_flow(exit(source), entry(node), limit))
    };
    Ok(destinations.iter().map(most).collect())
}

/// The sum of what destinations could get alone: no plan's aggregate is higher.
pub fn bound(alone: &[Rate]) -> Rate {
    Rate::from_bps(alone.iter().map(|rate| rate.as_bps()).fold(0, u64::saturating_add))
}

fn entry(node: NodeId) -> usize {
    2 * node.index()
}

fn exit(node: NodeId) -> usize {
    2 * node.index() + 1
}

/// Each node is an arc from where data enter to where they leave.
fn network(topology: &Topology) -> Network {
    let mut network = Network::new(2 * topology.nodes_len());
    for node in topology.nodes() {
        network.add(entry(node), exit(node), topology.cap(node).map_or(u64::MAX / 2, |cap| cap.as_bps() / 2));
    }
    for link in topology.links() {
        let capacity = topology.capacity(link).as_bps();
        if capacity > 0 {
            network.add(exit(topology.tail(link)), entry(topology.head(link)), capacity);
        }
    }
    network
}
