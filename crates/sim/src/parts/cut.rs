//! Where a network is cut: each leaf with its hosts stays whole.

use crate::parts::part::PARTS_MAX;
use crate::run::Sim;
use fabric::{Graph, NodeId, PortId};
use std::sync::Arc;
use units::Time;

/// A network cut into parts.
#[derive(Clone, Debug)]
pub struct Cut {
    /// By node: its part.
    pub(crate) of: Arc<[u8]>,
    pub(crate) parts: usize,
    /// The least delay of a link between two parts.
    pub(crate) ahead: Time,
}

/// Events of a part in the time that it may be ahead of others, from which on threads gain by parts.
const WORTH: usize = 100;
/// Bits of a packet on the wire, about.
const PACKET_BITS: f64 = 8.0 * 1538.0;

impl Sim {
    /// Cuts the network into so many parts at most, if it can be cut: one with cells, fluid or captures
    /// can't. No host may be emulated.
    pub fn cut(&self, parts: usize) -> Option<Cut> {
        let graph = &self.graph;
        let of = assign(graph, parts.min(PARTS_MAX));
        let parts = of.iter().copied().max().map_or(0, |last| usize::from(last) + 1);
        let crosses = |port: &PortId| {
            let (a, b) = self.net.fabric.ends(*port);
            of[a.0 as usize] != of[b.0 as usize]
        };
        let whole =
            !self.fluids.is_empty() || !self.net.fabric.ports().all(|port| self.net.fabric.may_be_cut(port));
        let ahead = self.net.fabric.ports().filter(crosses).map(|port| self.net.fabric.delay(port)).min();
        let ahead = ahead.filter(|_| parts > 1 && !whole && self.grain > Time::ZERO);
        let ahead = ahead.filter(|ahead| *ahead > Time::ZERO)?;
        Some(Cut { of: of.into(), parts, ahead })
    }
}

impl Cut {
    /// Whether parts have enough to do between two meetings for threads of their own, when half of all links
    /// are busy, or as many packets cross links in a second as the jobs need at most.
    pub fn is_worth_threads(&self, graph: &Graph, per_second: f64) -> bool {
        let bits = graph.links().iter().map(|link| link.ab.rate.as_bps() / 2 + link.ba.rate.as_bps() / 2);
        let on_links = bits.fold(0, u64::saturating_add) as f64 / PACKET_BITS;
        on_links.min(per_second) * self.ahead.as_secs_f64() >= (WORTH * self.parts) as f64
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }
}

/// Gives hosts to parts in their order, with their first switch; then each other switch to the part that has
/// most of its neighbours, of several to the one with the fewest links.
fn assign(graph: &Graph, parts: usize) -> Vec<u8> {
    const NOBODY: u8 = u8::MAX;
    let mut of = vec![NOBODY; graph.nodes()];
    let mut neighbours = vec![Vec::new(); graph.nodes()];
    for link in graph.links() {
        neighbours[link.a.0 as usize].push(link.b);
        neighbours[link.b.0 as usize].push(link.a);
    }
    let leaf_of =
        |host: usize| neighbours[host].iter().find(|node| !graph.is_host(**node)).map(|node| node.0);
    let mut leaves: Vec<(u32, usize)> = Vec::new();
    for host in 0..graph.hosts() {
        if let Some(leaf) = leaf_of(host) {
            match leaves.iter_mut().find(|(known, _)| *known == leaf) {
                Some((_, hosts)) => *hosts += 1,
                None => leaves.push((leaf, 1)),
            }
        }
    }
    let parts = parts.min(leaves.len()).max(1);
    let (total, mut before) = (graph.hosts(), 0);
    for (place, (leaf, hosts)) in leaves.iter().enumerate() {
        // Each part has a leaf at least.
        let by_hosts = before * parts / total.max(1);
        let part = by_hosts.max((place + parts).saturating_sub(leaves.len())).min(place);
        of[*leaf as usize] = part as u8;
        before += hosts;
    }
    for host in 0..graph.hosts() {
        of[host] = leaf_of(host).map_or(0, |leaf| of[leaf as usize]);
    }
    let mut load = vec![0; parts];
    for (node, part) in of.iter().enumerate().filter(|(_, part)| **part != NOBODY) {
        load[usize::from(*part)] += neighbours[node].len();
    }
    loop {
        // From the leaves upwards, all switches at a distance by what is known before.
        let is_next = |node: &usize| {
            of[*node] == NOBODY && neighbours[*node].iter().any(|other| of[other.0 as usize] != NOBODY)
        };
        let next: Vec<usize> = (graph.hosts()..graph.nodes()).filter(is_next).collect();
        if next.is_empty() {
            break;
        }
        let known = of.clone();
        for node in next {
            let mut votes = vec![0usize; parts];
            let of_part = |other: &NodeId| known[other.0 as usize];
            for part in neighbours[node].iter().map(of_part).filter(|part| *part != NOBODY) {
                votes[usize::from(part)] += 1;
            }
            let rank =
                |part: &usize| (votes[*part], std::cmp::Reverse(load[*part]), std::cmp::Reverse(*part));
            let part = (0..parts).max_by_key(rank).expect("there is a part");
            of[node] = part as u8;
            load[part] += neighbours[node].len();
        }
    }
    of.iter().map(|part| if *part == NOBODY { 0 } else { *part }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::LinkProps;
    use fabric::topology::{fat_tree, leaf_spine};
    use units::Rate;

    const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };

    #[test]
    fn hosts_are_where_their_leaf_is_and_parts_are_alike() {
        let graph = fat_tree(8, LINK, LINK).unwrap();
        for parts in [1, 2, 4, 7, 32] {
            let of = assign(&graph, parts);
            for link in graph.links().iter().filter(|link| graph.is_host(link.a)) {
                assert_eq!(of[link.a.0 as usize], of[link.b.0 as usize]);
            }
            let size = |part: usize| (0..graph.hosts()).filter(|host| usize::from(of[*host]) == part).count();
            let sizes: Vec<usize> = (0..parts).map(size).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least > 0 && most - least <= 4, "by leaves of four hosts: {sizes:?}");
        }
    }

    #[test]
    fn each_part_has_a_leaf() {
        let graph = leaf_spine(&[30, 1, 1, 1], 2, 1, LINK, LINK).unwrap();
        let of = assign(&graph, 4);
        assert_eq!([0, 30, 31, 32].map(|host: usize| of[host]), [0, 1, 2, 3]);
        assert_eq!(assign(&graph, 9).iter().max(), Some(&3), "there are four leaves");
    }
}
