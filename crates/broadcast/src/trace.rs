//! One tree by tracing every destination that can still be reached (document 003, slides 17, 22 and 42): a depth-first
//! search whose hops run up and then down the tree that it searches, so that a tree uses each directed link once
//! at most. It is the step that depth-first pipeline, FPFR and stable broadcast share.
//!
//! What the document leaves open is chosen so: the search follows links that have something left. Of a node's branches
//! the one with the larger rest comes first, then the one with the larger rest on its way back, then the one that
//! comes first in the topology; but branches without a way back come last. Behind a switch whose way
//! back is used up the feed ends; a relaying host feeds its next branch itself. Branches without destinations are
//! not in the tree. Hosts that take no part are like switches.

use crate::plan::Hop;
use crate::residual::Residual;
use crate::topology::{LinkId, NodeId, Topology};
use std::cmp::Reverse;

/// A hop whose path lies in [`Tracer::paths`] up to `end`, from where the one before it ends.
struct Traced {
    parent: NodeId,
    child: NodeId,
    end: usize,
}

/// Where the search is.
struct Frame {
    node: NodeId,
    /// The branch to look at next.
    next: usize,
    /// The link to this node; nothing at the source.
    by: Option<LinkId>,
    /// Hops that there were before it.
    hops: usize,
}

/// Traces one tree after the other.
pub(crate) struct Tracer<'a> {
    topology: &'a Topology,
    source: NodeId,
    member: Vec<bool>,
    residual: Residual<'a>,
    /// Links that leave each node and have something left, in the order of the last visit.
    branches: Vec<Vec<LinkId>>,
    /// In which trace a node was seen last.
    seen: Vec<u32>,
    trace: u32,
    hops: Vec<Traced>,
    paths: Vec<LinkId>,
}

/// The host that the search goes on from, and the way from it.
struct Feed {
    host: NodeId,
    trail: Vec<LinkId>,
    alive: bool,
}

impl<'a> Tracer<'a> {
    pub fn new(topology: &'a Topology, source: NodeId, destinations: &[NodeId]) -> Tracer<'a> {
        Tracer::on(Residual::new(topology), source, destinations)
    }

    /// On what other trees have left.
    pub fn on(residual: Residual<'a>, source: NodeId, destinations: &[NodeId]) -> Tracer<'a> {
        let topology = residual.topology;
        let mut member = vec![false; topology.nodes_len()];
        destinations.iter().chain([&source]).for_each(|node| member[node.index()] = true);
        Tracer {
            topology,
            source,
            member,
            residual,
            branches: topology.nodes().map(|node| topology.leaving(node).to_vec()).collect(),
            seen: vec![0; topology.nodes_len()],
            trace: 0,
            hops: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// Traces the next tree and takes its rate off the rest: the rate in bit/s, or nothing when nobody can be reached.
    pub fn next(&mut self) -> Option<u64> {
        loop {
            self.search();
            if self.hops.is_empty() {
                return None;
            }
            let rate = self.residual.take(hops(&self.hops, &self.paths));
            if rate > 0 {
                return Some(rate);
            }
        }
    }

    /// The hops of the tree that was traced last.
    pub fn hops(&self) -> impl ExactSizeIterator<Item = Hop<'_>> + Clone {
        hops(&self.hops, &self.paths)
    }

    fn search(&mut self) {
        self.hops.clear();
        self.paths.clear();
        self.trace += 1;
        let mut feed = Feed { host: self.source, trail: Vec::new(), alive: true };
        let mut stack = vec![self.visit(self.source, None)];
        while let Some(frame) = stack.last_mut() {
            let branch = if feed.alive { self.next_branch(frame) } else { None };
            if let Some(link) = branch {
                let node = self.topology.head(link);
                stack.push(self.visit(node, Some(link)));
                feed.trail.push(link);
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

    fn visit(&mut self, node: NodeId, by: Option<LinkId>) -> Frame {
        self.seen[node.index()] = self.trace;
        let rest = &self.residual;
        let branches = &mut self.branches[node.index()];
        branches.retain(|&link| rest.open(link));
        let rank = |link: LinkId| {
            let back = link.reverse();
            (Reverse((rest.open(back), rest.of(link), rest.of(back))), self.topology.head(link))
        };
        // Nearly in order since the last visit, which this sort makes use of.
        branches.sort_by_key(|&link| rank(link));
        Frame { node, next: 0, by, hops: self.hops.len() }
    }

    fn next_branch(&self, frame: &mut Frame) -> Option<LinkId> {
        let branches = &self.branches[frame.node.index()][frame.next..];
        let new = |&link: &LinkId| self.seen[self.topology.head(link).index()] != self.trace;
        let ahead = branches.iter().position(new)?;
        frame.next += ahead + 1;
        Some(branches[ahead])
    }

    fn arrive(&mut self, feed: &mut Feed, node: NodeId) {
        self.paths.append(&mut feed.trail);
        self.hops.push(Traced { parent: feed.host, child: node, end: self.paths.len() });
        feed.host = node;
    }

    /// The branch to `done` has been searched; the search goes on at `node`.
    fn back(&self, feed: &mut Feed, done: &Frame, node: NodeId) {
        let by = done.by.expect("only the source has none");
        if self.hops.len() == done.hops {
            feed.trail.pop();
        } else if self.member[node.index()] {
            *feed = Feed { host: node, trail: Vec::new(), alive: true };
        } else if feed.alive && self.residual.open(by.reverse()) {
            feed.trail.push(by.reverse());
        } else {
            feed.alive = false;
        }
    }
}

fn hops<'a>(hops: &'a [Traced], paths: &'a [LinkId]) -> impl ExactSizeIterator<Item = Hop<'a>> + Clone {
    (0..hops.len()).map(move |index| {
        let from = if index == 0 { 0 } else { hops[index - 1].end };
        let Traced { parent, child, end } = hops[index];
        Hop { parent, child, path: &paths[from..end] }
    })
}
