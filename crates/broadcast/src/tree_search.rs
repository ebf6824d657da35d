//! One tree by tracing every destination that can still be reached (document 003, slides 17, 22 and 42): a
//! depth-first search whose hops run up and then down the tree that it searches, so that a tree uses each
//! directed link at most once. Depth-first pipeline, FPFR and stable broadcast share this step.
//!
//! The slides leave some choices open. Here the search follows links that have capacity left. Of a node's
//! branches the one with the larger remaining capacity comes first, then the one with the larger capacity on
//! its way back, then topology order. Branches without a way back come last. Behind a switch whose way back
//! is used up the feed ends; a relaying host feeds its next branch itself. Branches without destinations are
//! not in the tree. Hosts that take no part act as switches.

use crate::plan::Hop;
use crate::residual::Residual;
use crate::slots::Slots;
use crate::topology::{LinkId, NodeId, Topology};

/// A hop whose path lies in [`TreeSearch::links`] up to `end`, from where the one before it ends.
struct Found {
    parent: NodeId,
    child: NodeId,
    end: usize,
}

/// Where the search is.
struct Frame {
    node: NodeId,
    /// The branch to look at next.
    next: u32,
    /// The link to this node; nothing at the source.
    by: Option<u32>,
    /// Hops that there were before it.
    hops: usize,
}

/// The host that the search goes on from, and the way from it.
struct Feed {
    host: NodeId,
    trail: Vec<u32>,
    alive: bool,
}

/// Searches one tree after the other. Links are places in [`Slots`], until a tree is there.
pub(crate) struct TreeSearch {
    source: NodeId,
    member: Vec<bool>,
    slots: Slots,
    /// In which search a node was seen last.
    seen: Vec<u32>,
    number: u32,
    hops: Vec<Found>,
    places: Vec<u32>,
    links: Vec<LinkId>,
}

impl TreeSearch {
    pub fn new(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> TreeSearch {
        TreeSearch::on(&Residual::new(topology), source, destinations)
    }

    /// On what other trees have left.
    pub fn on(residual: &Residual<'_>, source: NodeId, destinations: &[NodeId]) -> TreeSearch {
        let nodes = residual.topology.nodes_len();
        let mut member = vec![false; nodes];
        destinations.iter().chain([&source]).for_each(|node| member[node.index()] = true);
        TreeSearch {
            source,
            member,
            slots: Slots::new(residual),
            seen: vec![0; nodes],
            number: 0,
            hops: Vec::new(),
            places: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Finds the next tree and takes its rate off the rest: the rate in bit/s, or nothing when nobody can be
    /// reached.
    pub fn next(&mut self) -> Option<u64> {
        loop {
            self.search();
            if self.hops.is_empty() {
                return None;
            }
            let rate = self.slots.take(&self.places);
            if rate > 0 {
                self.links.clear();
                self.links.extend(self.places.iter().map(|&place| self.slots.get(place).link));
                return Some(rate);
            }
        }
    }

    /// The hops of the tree that was found last.
    pub fn hops(&self) -> impl ExactSizeIterator<Item = Hop<'_>> + Clone {
        (0..self.hops.len()).map(move |index| {
            let from = if index == 0 { 0 } else { self.hops[index - 1].end };
            let Found { parent, child, end } = self.hops[index];
            Hop { parent, child, path: &self.links[from..end] }
        })
    }

    fn search(&mut self) {
        self.hops.clear();
        self.places.clear();
        self.number += 1;
        let mut feed = Feed { host: self.source, trail: Vec::new(), alive: true };
        let mut stack = vec![self.visit(self.source, None)];
        while let Some(frame) = stack.last_mut() {
            let branch = if feed.alive { self.next_branch(frame) } else { None };
            if let Some(place) = branch {
                let node = self.slots.get(place).head;
                stack.push(self.visit(node, Some(place)));
                feed.trail.push(place);
                if self.member[node.index()] {
                    self.arrive(&mut feed, node);
                }
            } else {
                let done = stack.pop().expect("the frame at hand");
                if let Some(frame) = stack.last() {
                    self.back(&mut feed, &done, frame.node);
                }
            }
        }
    }

    fn visit(&mut self, node: NodeId, by: Option<u32>) -> Frame {
        self.seen[node.index()] = self.number;
        // The order of a node's links changes only here, so those that a tree uses stay where they are.
        let next = self.slots.sort(node);
        Frame { node, next, by, hops: self.hops.len() }
    }

    fn next_branch(&self, frame: &mut Frame) -> Option<u32> {
        for slot in self.slots.from(frame.next, frame.node) {
            if slot.rest == 0 {
                return None;
            }
            frame.next += 1;
            if self.seen[slot.head.index()] != self.number {
                return Some(frame.next - 1);
            }
        }
        None
    }

    fn arrive(&mut self, feed: &mut Feed, node: NodeId) {
        self.places.append(&mut feed.trail);
        self.hops.push(Found { parent: feed.host, child: node, end: self.places.len() });
        feed.host = node;
    }

    /// The branch to `done` has been searched; the search goes on at `node`.
    fn back(&self, feed: &mut Feed, done: &Frame, node: NodeId) {
        let by = done.by.expect("only the source has none");
        let back = self.slots.get(by).back;
        if self.hops.len() == done.hops {
            feed.trail.pop();
        } else if self.member[node.index()] {
            (feed.host, feed.alive) = (node, true);
            feed.trail.clear();
        } else if feed.alive && self.slots.get(back).rest > 0 {
            feed.trail.push(back);
        } else {
            feed.alive = false;
        }
    }
}
