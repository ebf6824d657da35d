//! One tree in which each host receives as fast as it can: max-min fair rates, where no host sends faster
//! than it receives. As trees of a [`Plan`] these are layers, each with the hosts that receive at least its
//! rate.
//!
//! Rates come from progressive filling (Bertsekas and Gallager, *Data Networks*, 6.5.2): all rates grow
//! together. A host whose link is full stops there, and so do all hosts behind it.

use crate::plan::{Hop, Plan};
use crate::topology::{LinkId, NodeId, Topology};
use units::Rate;

/// A hop with its path.
pub(crate) struct OwnedHop {
    pub parent: NodeId,
    pub child: NodeId,
    pub path: Vec<LinkId>,
}

/// What hops share: a directed link, or a host's cap.
struct Shared {
    rest: u64,
    /// How often growing hops use it.
    users: u64,
}

/// Adds the layers of the tree that `hops` are, parents first.
pub(crate) fn push_layers(plan: &mut Plan, topology: &Topology, hops: &[OwnedHop]) {
    let rates = fill(topology, hops);
    let mut levels = rates.clone();
    levels.sort_unstable();
    levels.dedup();
    let mut below = 0;
    for level in levels.into_iter().filter(|&level| level > 0) {
        let members = hops.iter().zip(&rates).filter(|&(_, &rate)| rate >= level);
        let layer = members.map(|(hop, _)| Hop { parent: hop.parent, child: hop.child, path: &hop.path });
        plan.push(Rate::from_bps(level - below), layer);
        below = level;
    }
}

/// The rate of each hop in bit/s.
fn fill(topology: &Topology, hops: &[OwnedHop]) -> Vec<u64> {
    let mut shared = shares(topology, hops);
    let mut rates = vec![0; hops.len()];
    let mut stopped = vec![false; topology.nodes_len()];
    let mut growing: Vec<usize> = (0..hops.len()).collect();
    let mut level = 0;
    while !growing.is_empty() {
        let step = shared.iter().filter_map(|one| one.rest.checked_div(one.users)).min().unwrap_or(0);
        level += step;
        shared.iter_mut().for_each(|one| one.rest -= step * one.users);
        growing.retain(|&index| {
            let hop = &hops[index];
            let full = uses(topology, hop).any(|at| shared[at].rest < shared[at].users);
            if full || stopped[hop.parent.index()] {
                stopped[hop.child.index()] = true;
                rates[index] = level;
            }
            !stopped[hop.child.index()]
        });
        shared.iter_mut().for_each(|one| one.users = 0);
        growing.iter().flat_map(|&index| uses(topology, &hops[index])).for_each(|at| shared[at].users += 1);
    }
    rates
}

/// Links first, then nodes; what has no limit is never full.
fn shares(topology: &Topology, hops: &[OwnedHop]) -> Vec<Shared> {
    let links = topology.links().map(|link| topology.capacity(link).as_bps());
    let caps = topology.nodes().map(|node| topology.cap(node).map_or(u64::MAX, |cap| cap.as_bps()));
    let mut shared: Vec<Shared> = links.chain(caps).map(|rest| Shared { rest, users: 0 }).collect();
    hops.iter().flat_map(|hop| uses(topology, hop)).for_each(|at| shared[at].users += 1);
    shared
}

fn uses<'a>(topology: &'a Topology, hop: &'a OwnedHop) -> impl Iterator<Item = usize> + 'a {
    let links = topology.links_len();
    hop.path.iter().flat_map(move |&link| {
        [link.index(), links + topology.tail(link).index(), links + topology.head(link).index()]
    })
}
