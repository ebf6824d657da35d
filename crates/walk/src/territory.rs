//! What a server walks on: its part of the graph, the rule of walks, and the seed that all walks' streams
//! come from.
//!
//! Where a walker goes depends on the graph, the seed and which walk it is, and on nothing else. So a lost
//! walker that is generated again walks the same way, and losses can't favour short walks. With `fresh` it
//! depends on the attempt too: walks over lossy servers finish sooner then, and short ones more often.

use crate::graph::{Change, GraphError};
use crate::partition::ServerPart;
use crate::step::{Herd, Place, Rule, Stream};
use crate::wire::packed::Packed;
use crate::wire::{WalkId, Walker};
use units::Time;

/// Arcs that come and go at a time, and the owners of nodes that they join.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedChanges {
    /// When.
    pub at: Time,
    /// The changes; each server applies what concerns its nodes.
    pub changes: Vec<Change>,
    /// Owners of nodes at the changes' ends, as (node, server), ascending.
    pub owners: Vec<(u32, u16)>,
}

/// A server's part, and how walkers move on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Territory {
    /// Its part of the graph.
    pub part: ServerPart,
    /// How walkers move.
    pub rule: Rule,
    /// All randomness of walks derives from it.
    pub seed: u64,
    /// Each attempt at a walk draws again.
    pub fresh: bool,
}

impl Territory {
    /// The stream of a walk from its beginning.
    pub(crate) fn stream(&self, id: &WalkId) -> Stream {
        let attempt = if self.fresh { u64::from(id.attempt) - 1 } else { 0 };
        Stream::of(self.seed.wrapping_add(attempt), id.start, id.number)
    }

    /// Whether a walker from elsewhere can be served here: the next decision is about an own node.
    pub(crate) fn takes(&self, walker: &Walker) -> bool {
        self.part.owns(walker.candidate.unwrap_or(walker.at))
    }

    /// Moves a walker as far as it goes here, at most to `steps_max`; returns the server that it leaves for,
    /// or nothing when its walk is over. With `paths` it notes the nodes.
    pub(crate) fn walk(&self, walker: &mut Walker, steps_max: u32, paths: bool) -> Option<u16> {
        let (start, home) = (walker.id.start, walker.source);
        let length = self.rule.steps(self.stream(&walker.id)).min(steps_max);
        let mut place = Place {
            start,
            home,
            at: walker.at,
            previous: walker.previous,
            candidate: walker.candidate,
            steps: walker.steps,
            stream: Stream(walker.random),
        };
        let path = &mut walker.path;
        let next = self.rule.roam(&self.part, length, &mut place, |node| {
            if paths {
                path.push(node);
            }
        });
        (walker.at, walker.steps, walker.random) = (place.at, place.steps, place.stream.0);
        // What only second-order walks need is not carried by others.
        walker.previous = place.previous.filter(|_| self.rule.second_order());
        walker.candidate = place.candidate;
        next
    }

    /// Moves many walkers at once, each as far as it goes here. `herd` then has those that have gone, by
    /// their index.
    pub(crate) fn drive(&self, walkers: &[Packed], steps_max: u32, herd: &mut Herd) {
        herd.clear();
        for walker in walkers {
            // One that has not moved has not drawn either.
            let unmoved = walker.steps() == 0;
            let stream = if unmoved { Stream(walker.random()) } else { self.stream(&walker.id()) };
            let left = self.rule.steps(stream).min(steps_max).saturating_sub(walker.steps());
            herd.join(&self.part, walker.at(), left, Stream(walker.random()));
        }
        self.rule.drive(&self.part, herd);
    }

    /// Whether [`Territory::drive`] does what [`Territory::walk`] does for each of the walkers.
    pub(crate) fn drives(&self, paths: bool) -> bool {
        self.rule.herds() && !paths
    }

    pub(crate) fn change(&mut self, timed: &TimedChanges) -> Result<(), GraphError> {
        let owner = |node| {
            let at = timed.owners.binary_search_by_key(&node, |(node, _)| *node).ok()?;
            Some(timed.owners[at].1)
        };
        self.part.apply(&timed.changes, owner).map(drop)
    }
}
