//! Many walkers of the first order at once, on a graph that lies in the core's cache. A group of walks is
//! sorted by length, the longest first, and all of it takes a step at a time: whose walk is over lies behind
//! the others, so no branch depends on chance.

use crate::graph::{Arc, Row};

use super::record::Record;
use super::starts::{Queue, Ready};
use super::{DeadEnd, Rule};

/// Walks of a group.
const GROUP: usize = 512;

/// What all walkers of a run have in common.
#[derive(Clone, Copy)]
pub(super) struct Run<'a, A> {
    pub(super) rows: &'a [Row],
    pub(super) arcs: &'a [A],
    pub(super) rule: &'a Rule,
}

/// A walker on its way.
#[derive(Clone, Copy, Default)]
struct Lane {
    ready: Ready,
    node: u32,
    /// At a dead end.
    over: bool,
}

impl<A: Arc> Run<'_, A> {
    /// Walks all walks of `queue`.
    pub(super) fn near<R: Record>(&self, mut queue: Queue<'_>, record: &mut R) {
        let mut group = vec![Ready::default(); GROUP];
        let mut lanes = vec![Lane::default(); GROUP];
        while let Some(filled) = queue.take(&mut group, record) {
            longest_first(&group[..filled], &mut lanes);
            let (mut active, mut step) = (filled, 0);
            while active > 0 {
                for lane in &mut lanes[..active] {
                    self.step(step, lane, record);
                }
                step += 1;
                while active > 0 && lanes[active - 1].ready.steps == step {
                    active -= 1;
                    record.end(lanes[active].ready.walk, lanes[active].node);
                }
            }
        }
    }

    #[inline(always)]
    fn step<R: Record>(&self, step: u32, lane: &mut Lane, record: &mut R) {
        let row = self.rows[lane.node as usize];
        lane.node = if row.degree() == 0 {
            if self.dead_end(step, lane, record) {
                return;
            }
            lane.ready.start
        } else if self.rule.restart > 0 && lane.ready.stream.next() < self.rule.restart {
            lane.ready.start
        } else {
            let (at, fraction) = row.draw(lane.ready.stream.next());
            self.arcs[at].pick_kept(A::keep(fraction))
        };
        record.visit(&mut lane.ready.mark, lane.node);
    }

    /// Whether the walk is over.
    #[cold]
    fn dead_end<R: Record>(&self, step: u32, lane: &mut Lane, record: &mut R) -> bool {
        let stops = self.rule.dead_end == DeadEnd::Stop;
        if stops && !lane.over {
            lane.over = true;
            record.short(lane.ready.walk, lane.ready.steps - step);
        }
        stops
    }
}

/// Lengths that have a bucket of their own.
const BUCKETS: usize = 64;

/// Sorts by counting: most walks are short.
fn longest_first(group: &[Ready], lanes: &mut [Lane]) {
    let bucket = |ready: &Ready| BUCKETS - 1 - (ready.steps as usize).min(BUCKETS - 1);
    let mut next = [0; BUCKETS];
    for ready in group {
        next[bucket(ready)] += 1;
    }
    let long = next[0];
    let mut end = 0;
    for count in &mut next {
        (*count, end) = (end, end + *count);
    }
    for ready in group {
        let at = &mut next[bucket(ready)];
        lanes[*at] = Lane { ready: *ready, node: ready.start, over: false };
        *at += 1;
    }
    lanes[..long].sort_unstable_by_key(|lane| std::cmp::Reverse(lane.ready.steps));
}
