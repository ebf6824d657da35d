//! The remaining capacity of links, laid out for a search: the links that leave a node are adjacent, in
//! search order, each with the data it needs about the way back. A plan of thousands of trees for thousands
//! of hosts reads them hundreds of millions of times.

use crate::residual::Residual;
use crate::topology::{LinkId, NodeId, Topology};
use std::cmp::Reverse;

/// A directed link.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// What it still carries, in bit/s.
    pub rest: u64,
    /// The same of the other direction.
    back_rest: u64,
    pub head: NodeId,
    /// Where the other direction lies.
    pub back: u32,
    pub link: LinkId,
}

pub(crate) struct Slots {
    all: Vec<Slot>,
    /// Those that leave node `n` lie from `first[n]` to `first[n + 1]`.
    first: Vec<u32>,
    caps: Vec<u64>,
    /// Hosts with a cap; most topologies have none.
    capped: Vec<NodeId>,
    /// How often the tree at hand enters or leaves a node.
    uses: Vec<u64>,
}

impl Slots {
    pub fn new(residual: &Residual<'_>) -> Slots {
        let topology = residual.topology;
        let order: Vec<LinkId> =
            topology.nodes().flat_map(|node| topology.leaving(node).iter().copied()).collect();
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, link)| places[link.index()] = place as u32);
        let rest = |link: LinkId| if residual.open(link) { residual.of(link) } else { 0 };
        let slot = |&link: &LinkId| Slot {
            rest: rest(link),
            back_rest: rest(link.reverse()),
            head: topology.head(link),
            back: places[link.reverse().index()],
            link,
        };
        Slots {
            all: order.iter().map(slot).collect(),
            first: firsts(topology),
            caps: topology.nodes().map(|node| residual.cap(node)).collect(),
            capped: topology.nodes().filter(|&node| topology.cap(node).is_some()).collect(),
            uses: vec![0; topology.nodes_len()],
        }
    }

    pub fn get(&self, place: u32) -> &Slot {
        &self.all[place as usize]
    }

    /// Those that leave a node and come from `from` on in its order.
    pub fn from(&self, from: u32, node: NodeId) -> &[Slot] {
        &self.all[from as usize..self.first[node.index() + 1] as usize]
    }

    /// Puts the links that leave a node in order: of those with something left the ones with a way back
    /// first, then the larger rest, then the larger rest on the way back, then what comes first in the
    /// topology. Returns where they begin.
    pub fn sort(&mut self, node: NodeId) -> u32 {
        let rank = |slot: &Slot| {
            (Reverse((slot.rest > 0, slot.back_rest > 0, slot.rest, slot.back_rest)), slot.head)
        };
        let (from, to) = (self.first[node.index()], self.first[node.index() + 1]);
        let leaving = &mut self.all[from as usize..to as usize];
        if !leaving.is_sorted_by_key(rank) {
            leaving.sort_by_key(rank);
            for place in from..to {
                let back = self.get(place).back;
                self.all[back as usize].back = place;
            }
        }
        from
    }

    /// The highest rate for a tree that uses these links, each once, taken off the rest. Zero where a host's
    /// cap is too small for what the tree asks of it: that host is closed.
    pub fn take(&mut self, tree: &[u32]) -> u64 {
        let links = tree.iter().map(|&place| self.get(place).rest).min().unwrap_or(0);
        self.count_uses(tree);
        let share = |node: &NodeId| self.caps[node.index()].checked_div(self.uses[node.index()]);
        let rate = links.min(self.capped.iter().filter_map(share).min().unwrap_or(u64::MAX));
        for &place in tree {
            let slot = &mut self.all[place as usize];
            slot.rest -= rate;
            let back = slot.back as usize;
            self.all[back].back_rest -= rate;
        }
        for index in 0..self.capped.len() {
            let node = self.capped[index];
            let uses = self.uses[node.index()];
            self.caps[node.index()] -= rate * uses;
            if self.caps[node.index()] < uses {
                self.close(node);
            }
        }
        rate
    }

    fn count_uses(&mut self, tree: &[u32]) {
        if self.capped.is_empty() {
            return;
        }
        self.uses.fill(0);
        for &place in tree {
            let (head, back) = (self.get(place).head, self.get(place).back);
            let tail = self.get(back).head;
            self.uses[head.index()] += 1;
            self.uses[tail.index()] += 1;
        }
    }

    fn close(&mut self, node: NodeId) {
        self.caps[node.index()] = 0;
        for place in self.first[node.index()]..self.first[node.index() + 1] {
            for place in [place, self.get(place).back] {
                (self.all[place as usize].rest, self.all[place as usize].back_rest) = (0, 0);
            }
        }
    }
}

fn firsts(topology: &Topology) -> Vec<u32> {
    let mut firsts = vec![0];
    firsts.extend(topology.nodes().scan(0, |sum, node| {
        *sum += topology.leaving(node).len() as u32;
        Some(*sum)
    }));
    firsts
}
