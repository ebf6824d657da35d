//! The capacity of links and of hosts' caps that earlier trees have left.

use crate::plan::Hop;
use crate::topology::{LinkId, NodeId, Topology};
use std::collections::BTreeMap;

/// The rest of a topology, in bit/s.
pub(crate) struct Residual<'a> {
    pub topology: &'a Topology,
    links: Vec<u64>,
    /// Of a host's cap; the highest number where it has none.
    caps: Vec<u64>,
    /// Hosts with a cap; most topologies have none.
    capped: Vec<NodeId>,
    /// How often the tree at hand enters or leaves a host with a cap.
    uses: Vec<u64>,
}

impl<'a> Residual<'a> {
    pub fn new(topology: &'a Topology) -> Residual<'a> {
        let cap = |node| topology.cap(node).map_or(u64::MAX, |cap| cap.as_bps());
        Residual {
            topology,
            links: topology.links().map(|link| topology.capacity(link).as_bps()).collect(),
            caps: topology.nodes().map(cap).collect(),
            capped: topology.nodes().filter(|&node| topology.cap(node).is_some()).collect(),
            uses: vec![0; topology.nodes_len()],
        }
    }

    /// What a link still carries.
    pub fn of(&self, link: LinkId) -> u64 {
        self.links[link.index()]
    }

    /// Whether a link can carry more: it and the hosts at its ends.
    pub fn open(&self, link: LinkId) -> bool {
        let spare = |node: NodeId| self.caps[node.index()] > 0;
        self.of(link) > 0
            && (self.capped.is_empty() || spare(self.topology.tail(link)) && spare(self.topology.head(link)))
    }

    /// Of a host's cap; the highest number where it has none.
    pub fn cap(&self, node: NodeId) -> u64 {
        self.caps[node.index()]
    }

    /// The highest rate up to `most` for a tree that may use links again and again, taken off the rest.
    pub fn take_up_to<'b>(&mut self, hops: impl Iterator<Item = Hop<'b>> + Clone, most: u64) -> u64 {
        let paths = hops.map(|hop| hop.path);
        self.count_uses(paths.clone());
        let mut times: BTreeMap<LinkId, u64> = BTreeMap::new();
        paths.flatten().for_each(|&link| *times.entry(link).or_default() += 1);
        let links = times.iter().map(|(&link, times)| self.of(link) / times);
        let caps = self
            .capped
            .iter()
            .filter_map(|node| self.caps[node.index()].checked_div(self.uses[node.index()]));
        let rate = links.chain(caps).min().unwrap_or(0).min(most);
        times.iter().for_each(|(link, times)| self.links[link.index()] -= rate * times);
        self.capped.iter().for_each(|node| self.caps[node.index()] -= rate * self.uses[node.index()]);
        rate
    }

    fn count_uses<'b>(&mut self, paths: impl Iterator<Item = &'b [LinkId]>) {
        if self.capped.is_empty() {
            return;
        }
        self.uses.fill(0);
        for &link in paths.flatten() {
            self.uses[self.topology.tail(link).index()] += 1;
            self.uses[self.topology.head(link).index()] += 1;
        }
    }
}
