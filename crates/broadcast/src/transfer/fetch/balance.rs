//! A node's periodic checks: a parent with nothing to send takes a part of another's queue, and a parent
//! whose answer is long overdue may be dead.

use super::{Fetch, Out};
use crate::transfer::set::ChunkSet;
use process::{HostId, StreamId};

/// A parent with less than this at hand has no queue worth sharing.
const QUEUE_LEAST: u32 = 4;
/// Most chunks that move at a time.
const MOVE_MOST: u32 = 256;

impl Fetch {
    /// Streams to hosts that are no parents any more and have been silent for so many looks: they may be
    /// dead. To be called before [`Fetch::balance`].
    pub(crate) fn overdue(&mut self, looks: u32) -> Vec<(HostId, StreamId)> {
        let mut overdue = Vec::new();
        for (host, parent) in &mut self.parents {
            let waits = parent.rate == 0 && !parent.direct && !parent.active;
            parent.owes = if waits { parent.owes + 1 } else { 0 };
            overdue.extend(parent.stream.filter(|_| parent.owes > looks).map(|stream| (*host, stream)));
        }
        overdue
    }

    /// Streams to parents from which nothing has come for so many looks.
    pub(crate) fn quiet(&self, looks: u32) -> Vec<(HostId, StreamId)> {
        let quiet = self.parents.iter().filter(|(_, parent)| parent.quiet >= looks);
        quiet.filter_map(|(host, parent)| parent.stream.map(|stream| (*host, stream))).collect()
    }

    /// Moves a part of a long queue to a parent that has nothing to send. To be called now and then.
    pub(crate) fn balance(&mut self, out: &mut Out) {
        let free = self.parents.iter().find(|(_, parent)| {
            let idle = parent.orders.is_empty() || parent.ready == 0 && !parent.active;
            parent.rate > 0 && parent.stream.is_some() && parent.rest == 0 && idle
        });
        let free = free.map(|(host, parent)| (*host, parent.rate));
        let long = self.parents.iter().max_by_key(|(_, parent)| parent.ready);
        if let (Some((to, rate)), Some((from, parent))) = (free, long)
            && parent.ready >= QUEUE_LEAST
            && parent.dropping.is_empty()
            && *from != to
        {
            let part = u128::from(parent.ready) * u128::from(rate) / u128::from(parent.rate.max(1) + rate);
            let moved = (part as u32).min(MOVE_MOST).min(parent.ready - 1);
            // What goes next stays; what is further back is not there yet.
            let skipped = (parent.ready - moved) as usize;
            let set: ChunkSet = parent.orders.iter().skip(skipped).take(moved as usize).collect();
            self.moves.extend(set.iter().map(|chunk| (chunk, to)));
            let from = *from;
            self.take_back(from, &set, out);
        }
        for parent in self.parents.values_mut() {
            parent.active = false;
            parent.quiet += 1;
            parent.rest = parent.rest.saturating_sub(1);
        }
    }
}
