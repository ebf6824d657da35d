//! Shared buffer memory with dynamic thresholds: Choudhury & Hahne, "Dynamic Queue Length
//! Thresholds for Shared-Memory Packet Switches", IEEE/ACM ToN 6(2), 1998.
//!
//! A queue may hold its reserve, and beyond it as much as `alpha` times the shared memory that is free.

use crate::config::Xoff;
use crate::packet::Discard;
use crate::peak::{Level, Peak};
use units::Bytes;

/// The memory of one switch.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    alpha: f64,
    reserve: u64,
    cell: u64,
    /// The size of a cell is a power of two.
    even: bool,
    /// What the reserves leave.
    shared: u64,
    used: u64,
    used_max: Peak,
    /// With so much free, an empty queue may have any packet.
    ample: u64,
}

impl Pool {
    /// A pool of `size` for `queues` queues.
    pub(crate) fn new(size: Bytes, alpha: f64, reserve: Bytes, cell: Bytes, queues: u64) -> Pool {
        let shared = size.get().saturating_sub(reserve.get().saturating_mul(queues)).min(i64::MAX as u64);
        let cell = cell.get().max(1);
        let even = cell.is_power_of_two();
        let (reserve, used_max) = (reserve.get(), Peak::default());
        let pool = Pool { alpha, reserve, cell, even, shared, used: 0, used_max, ample: 0 };
        let largest = pool.largest();
        // A little more than the quotient, which rounding can't undo.
        let ample = largest.max(((largest as f64 / alpha * 1.001) as u64).saturating_add(1));
        Pool { ample, ..pool }
    }

    /// Memory that a packet takes.
    #[inline(always)]
    pub(crate) fn cells(&self, bytes: u16) -> u64 {
        let above = u64::from(bytes) + (self.cell - 1);
        // A division costs more than all else that a packet needs here.
        if self.even { above & !(self.cell - 1) } else { above - above % self.cell }
    }

    /// Whether an empty queue may have any packet; if not, it depends.
    #[inline(always)]
    pub(crate) fn has_ample(&self) -> bool {
        self.shared - self.used >= self.ample
    }

    /// The largest memory that a packet may take.
    pub(crate) fn largest(&self) -> u64 {
        self.cells(u16::MAX)
    }

    /// Whether a queue that holds `queue` may have `cells` more, and how much of that is beyond its reserve.
    #[inline(always)]
    pub(crate) fn admit(&self, queue: u64, cells: u64) -> Result<u64, Discard> {
        let before = queue.saturating_sub(self.reserve);
        let after = (queue + cells).saturating_sub(self.reserve);
        let free = self.shared - self.used;
        if after > 0 {
            // Signed, as processors convert those at once.
            if after as i64 as f64 > self.alpha * (free as i64 as f64) {
                return Err(Discard::Tail);
            }
            if after - before > free {
                return Err(Discard::Pool);
            }
        }
        Ok(after - before)
    }

    /// Takes what [`Pool::admit`] has found room for.
    #[inline(always)]
    pub(crate) fn take(&mut self, beyond: u64) {
        self.used += beyond;
        self.used_max.note(self.used);
    }

    /// How much a queue that holds `queue` may take in small pieces.
    pub(crate) fn room(&self, queue: u64) -> u64 {
        let before = queue.saturating_sub(self.reserve);
        let free = self.shared - self.used;
        let beyond = ((self.alpha * free as f64) as u64).saturating_sub(before).min(free);
        self.reserve.saturating_sub(queue) + beyond
    }

    /// Takes up to `wanted` bytes for a queue that holds `queue`: as much as there is room.
    pub(crate) fn take_up_to(&mut self, queue: u64, wanted: u64) -> u64 {
        let before = queue.saturating_sub(self.reserve);
        let taken = wanted.min(self.room(queue));
        self.take((queue + taken).saturating_sub(self.reserve) - before);
        taken
    }

    /// Whether an ingress group that holds `held` may have `cells` more without going over its XOFF
    /// threshold.
    pub(crate) fn is_below(&self, xoff: &Xoff, held: u64, cells: u64) -> bool {
        let free = self.shared - self.used;
        let before = held.saturating_sub(self.reserve);
        let after = (held + cells).saturating_sub(self.reserve);
        after == 0 || (after <= xoff.threshold(free) && after - before <= free)
    }

    /// Takes `cells` for an ingress group that holds `held`, unless that goes over its XOFF threshold.
    pub(crate) fn take_below(&mut self, xoff: &Xoff, held: u64, cells: u64) -> bool {
        let below = self.is_below(xoff, held, cells);
        if below {
            self.take((held + cells).saturating_sub(self.reserve) - held.saturating_sub(self.reserve));
        }
        below
    }

    /// What an ingress group may hold at present.
    pub(crate) fn limit(&self, xoff: &Xoff) -> u64 {
        self.reserve + xoff.threshold(self.shared - self.used)
    }

    /// Gives back `cells` of a queue that held `queue`.
    #[inline(always)]
    pub(crate) fn give(&mut self, queue: u64, cells: u64) {
        let before = queue.saturating_sub(self.reserve);
        let after = (queue - cells).saturating_sub(self.reserve);
        self.used -= before - after;
    }

    /// Shared memory in use, reserves not counted.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Shared memory, reserves not counted.
    pub(crate) fn shared(&self) -> u64 {
        self.shared
    }

    /// Shared memory in use, and its watermarks.
    pub(crate) fn level(&self) -> Level {
        self.used_max.level(self.used)
    }

    /// Begins a new interval for the watermark.
    pub(crate) fn restart_watermark(&mut self) {
        self.used_max.restart(self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pool: &mut Pool, queues: &mut [u64]) {
        loop {
            let mut any = false;
            for queue in queues.iter_mut() {
                if let Ok(beyond) = pool.admit(*queue, 100) {
                    pool.take(beyond);
                    *queue += 100;
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }

    #[test]
    fn hot_queues_reach_the_papers_share() {
        // S queues that overflow each get alpha·B / (1 + alpha·S): equation (4).
        for (alpha, hot) in [(8.0, 1), (1.0, 1), (1.0, 4), (0.5, 10)] {
            let mut pool = Pool::new(Bytes::new(24_000_000), alpha, Bytes::new(0), Bytes::new(1), 64);
            let mut queues = vec![0; hot];
            fill(&mut pool, &mut queues);
            let expected = alpha * 24e6 / (1.0 + alpha * hot as f64);
            for queue in queues {
                assert!((queue as f64 - expected).abs() < 1_000.0 * alpha, "{queue} for {expected}");
            }
        }
    }

    #[test]
    fn the_reserve_is_there_when_the_pool_is_full() {
        let mut pool = Pool::new(Bytes::new(100_000), 64.0, Bytes::new(1_000), Bytes::new(1), 4);
        let mut hog = 0;
        while let Ok(beyond) = pool.admit(hog, 100) {
            pool.take(beyond);
            hog += 100;
        }
        let mut other = 0;
        while other < 1_000 {
            assert_eq!(pool.admit(other, 100), Ok(0));
            other += 100;
        }
    }

    #[test]
    fn what_is_given_back_is_what_was_taken() {
        let mut pool = Pool::new(Bytes::new(50_000), 1.0, Bytes::new(700), Bytes::new(256), 2);
        let mut queue = 0;
        let mut taken = Vec::new();
        while let Ok(beyond) = pool.admit(queue, pool.cells(1500)) {
            pool.take(beyond);
            queue += pool.cells(1500);
            taken.push(pool.cells(1500));
        }
        assert_eq!(taken[0], 1536);
        for cells in taken {
            pool.give(queue, cells);
            queue -= cells;
        }
        assert_eq!((queue, pool.used()), (0, 0));
    }
}
