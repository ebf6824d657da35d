//! Dijkstra relay (Wang et al., GPC 2007; document 003, slides 15 and 43). In each step the host joins that
//! can be reached over the widest path from any host in the tree; of equally wide paths the shortest wins,
//! then topology order. Widths are those of whole links, so some links carry many transfers, which share them
//! fairly.
//!
//! Only the description in document 003 was available, not the paper.

use crate::elastic::{self, OwnedHop};
use crate::plan::Plan;
use crate::route;
use crate::topology::{LinkId, NodeId, Topology};
use std::collections::BinaryHeap;
use units::Rate;

struct Search<'a> {
    topology: &'a Topology,
    /// Hosts in the tree, in the order in which they joined.
    inside: Vec<NodeId>,
    /// Destinations that are not yet in it.
    outside: Vec<bool>,
    /// The widest path to each node from any host inside.
    width: Vec<Rate>,
}

pub(crate) fn plan(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Plan {
    let mut outside = vec![false; topology.nodes_len()];
    destinations.iter().for_each(|node| outside[node.index()] = true);
    let width = vec![Rate::default(); topology.nodes_len()];
    let mut search = Search { topology, inside: Vec::new(), outside, width };
    search.join(source);
    let mut hops = Vec::new();
    while let Some(hop) = search.next_hop(destinations) {
        search.join(hop.child);
        hops.push(hop);
    }
    let mut plan = Plan::new("dijkstra", source, destinations);
    elastic::push_layers(&mut plan, topology, &hops);
    plan
}

impl Search<'_> {
    fn join(&mut self, host: NodeId) {
        self.inside.push(host);
        self.outside[host.index()] = false;
        let mut waiting = BinaryHeap::from([(Rate::from_bps(u64::MAX), host)]);
        while let Some((width, node)) = waiting.pop() {
            if width <= self.width[node.index()] {
                continue;
            }
            self.width[node.index()] = width;
            let topology = self.topology;
            let next = |&link: &LinkId| (width.min(topology.capacity(link)), topology.head(link));
            waiting.extend(topology.leaving(node).iter().map(next));
        }
    }

    fn next_hop(&self, destinations: &[NodeId]) -> Option<OwnedHop> {
        let outside = destinations.iter().filter(|node| self.outside[node.index()]);
        let widest = outside.map(|node| self.width[node.index()]).max()?;
        Some(self.shortest(widest))
    }

    /// The shortest path of that width to anybody outside.
    fn shortest(&self, width: Rate) -> OwnedHop {
        let topology = self.topology;
        let mut by: Vec<Option<LinkId>> = vec![None; topology.nodes_len()];
        let mut origin: Vec<Option<NodeId>> = vec![None; topology.nodes_len()];
        self.inside.iter().for_each(|&host| origin[host.index()] = Some(host));
        let mut reached = self.inside.clone();
        let mut at = 0;
        loop {
            let node = reached[at];
            at += 1;
            let parent = origin[node.index()].expect("reached");
            for &link in topology.leaving(node) {
                let next = topology.head(link);
                if topology.capacity(link) < width || origin[next.index()].is_some() {
                    continue;
                }
                (by[next.index()], origin[next.index()]) = (Some(link), Some(parent));
                if self.outside[next.index()] {
                    let path = route::path(topology, &by, parent, next).expect("it leads back from here");
                    return OwnedHop { parent, child: next, path };
                }
                reached.push(next);
            }
        }
    }
}
