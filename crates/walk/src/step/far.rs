//! Many walkers of the first order at once, on a graph that no cache holds. While one walker's arc comes from
//! memory, the others move: a round goes over all of them twice, once to choose an arc and once to follow it,
//! and asks for each cache line a round before it is read. Whose walk is over makes room for the next, so
//! that as many misses as possible are outstanding.

use mem::prefetch_at;

use crate::graph::Arc;

use super::DeadEnd;
use super::first::Run;
use super::record::Record;
use super::starts::{Queue, Ready};

/// Walkers that move at once: as many misses as a core can have outstanding, several times over.
const LANES: usize = 128;

/// Walks that are made ready at once.
const READY: usize = 64;

/// A walker on its way.
struct Lane<F> {
    ready: Ready,
    /// The arc that was chosen, or a reason why none was.
    at: usize,
    fraction: F,
    node: u32,
    left: u32,
}

/// No arc leaves the node.
const NO_ARC: usize = usize::MAX;
/// The walker is set back to its start.
const RESTART: usize = usize::MAX - 1;

impl<A: Arc> Run<'_, A> {
    /// Walks all walks of `queue`.
    pub(super) fn far<R: Record>(&self, mut queue: Queue<'_>, record: &mut R) {
        let mut lanes: Vec<Lane<A::Fraction>> = Vec::with_capacity(LANES);
        let mut ready = Vec::new();
        while lanes.len() < LANES
            && let Some(lane) = self.begin(&mut queue, &mut ready, record)
        {
            lanes.push(lane);
        }
        while !lanes.is_empty() {
            for lane in &mut lanes {
                self.choose(lane);
            }
            let mut index = 0;
            while let Some(lane) = lanes.get_mut(index) {
                if self.follow(lane, record) {
                    prefetch_at(self.rows, lane.node as usize);
                } else if let Some(next) = self.begin(&mut queue, &mut ready, record) {
                    *lane = next;
                } else {
                    lanes.swap_remove(index);
                    continue;
                }
                index += 1;
            }
        }
    }

    #[inline(always)]
    fn begin<R: Record>(
        &self,
        queue: &mut Queue<'_>,
        walks: &mut Vec<Ready>,
        record: &mut R,
    ) -> Option<Lane<A::Fraction>> {
        while walks.is_empty() {
            walks.resize(READY, Ready::default());
            let filled = queue.take(walks, record);
            walks.truncate(filled.unwrap_or(0));
            filled?;
            walks.iter().for_each(|ready| prefetch_at(self.rows, ready.start as usize));
        }
        let ready = walks.pop()?;
        let fraction = A::Fraction::default();
        Some(Lane { ready, at: NO_ARC, fraction, node: ready.start, left: ready.steps })
    }

    /// Chooses the arc that the walker takes.
    #[inline(always)]
    fn choose(&self, lane: &mut Lane<A::Fraction>) {
        let row = self.rows[lane.node as usize];
        if row.degree() == 0 {
            lane.at = NO_ARC;
            return;
        }
        if self.rule.restart > 0 && lane.ready.stream.next() < self.rule.restart {
            lane.at = RESTART;
            return;
        }
        let (at, fraction) = row.draw(lane.ready.stream.next());
        (lane.at, lane.fraction) = (at, A::keep(fraction));
        self.arcs[at].prefetch();
    }

    /// Takes the step; false when the walk is over.
    #[inline(always)]
    fn follow<R: Record>(&self, lane: &mut Lane<A::Fraction>, record: &mut R) -> bool {
        lane.node = match self.arcs.get(lane.at) {
            Some(arc) => arc.pick_kept(lane.fraction),
            None if lane.at == NO_ARC && self.rule.dead_end == DeadEnd::Stop => {
                record.short(lane.ready.walk, lane.left);
                record.end(lane.ready.walk, lane.node);
                return false;
            }
            None => lane.ready.start,
        };
        record.visit(&mut lane.ready.mark, lane.node);
        lane.left -= 1;
        if lane.left == 0 {
            record.end(lane.ready.walk, lane.node);
        }
        lane.left > 0
    }
}
