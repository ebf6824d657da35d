//! The queue of cells of one port of an ATM switch, and what becomes of the packets that they carry.
//!
//! The switch works in slots of a cell time. Each link brings at most one cell a slot and one leaves; those
//! for which there is room are let in, in the order in which they came. Where there is not room for all, a
//! draw a slot says with which link the search for those that get it begins: cells of several links have no
//! order within a slot that would last for a packet, for SONET's overhead alone moves them by a fifth of it.
//!
//! A packet comes as a train: its cells follow one another on one link, without those of other packets of
//! that link between them; trains of different links overlap as they will. What happens between the begin and
//! end of trains is worked out at once (`advance.rs`), exact to the cell. Trains are announced when their
//! link has them ahead, so no event is needed but the arrival of the last cell: all that shares a slot with
//! it has been announced by then.
//!
//! Sources: ITU-T I.361 and I.363.5 (cells, AAL5), Romanow & Floyd 1995 (partial and early packet discard).
//! Not here: virtual channels with guarantees, per-channel queues, cell loss priority, EFCI.

mod advance;
#[cfg(test)]
mod tests;

use crate::config::CellsConfig;
use crate::counters::CellTotals;
use crate::peak::{Level, Peak};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::Time;

/// The cells of a packet on their way to a queue, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Train {
    /// The slot of its next cell, while it is pending.
    slot: u64,
    /// When in a slot its cells come, in picoseconds.
    phase: u64,
    /// The port that sends it.
    link: u32,
    /// Cells that are still to come.
    left: u32,
    /// All its cells.
    cells: u32,
    /// Those that were not let in.
    lost: u32,
}

impl Train {
    fn is_fresh(&self) -> bool {
        self.left == self.cells
    }
}

/// A train whose fate is known.
#[derive(Clone, Copy, Debug)]
struct Ended {
    link: u32,
    /// The slot of its last cell.
    slot: u64,
    cells: u32,
    lost: u32,
    /// The slot at the end of which that has left, if it was let in.
    left: Option<u64>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has left at this time.
    Whole(Time),
    /// Not all of its cells got through.
    Damaged,
    /// They did, but its receiver adds them to those of a packet without end.
    Merged,
}

/// The queue. Slot `s` ends at `s` cell times; what came in it is dealt with then.
#[derive(Debug)]
pub(crate) struct CellQueue {
    config: CellsConfig,
    seed: u64,
    /// A cell time in picoseconds.
    cell: u64,
    /// The first slot that has not been dealt with.
    slot: u64,
    /// The slot with which all that was let in has left.
    free: u64,
    /// Trains that have not begun, or come back with their last cell.
    pending: BinaryHeap<Reverse<Train>>,
    /// The others, in the order in which their cells come.
    active: Vec<Train>,
    ended: Vec<Ended>,
    /// Links over which receivers have the beginning of a packet without end, and since which slot.
    remains: BTreeMap<u32, u64>,
    /// Nothing is let in.
    closed: bool,
    totals: CellTotals,
    longest: Peak,
}

impl CellQueue {
    /// An empty queue in front of a link with this cell time.
    pub(crate) fn new(config: CellsConfig, cell: Time, seed: u64) -> CellQueue {
        CellQueue {
            config,
            seed,
            cell: cell.as_ps(),
            slot: 0,
            free: 0,
            pending: BinaryHeap::new(),
            active: Vec::new(),
            ended: Vec::new(),
            remains: BTreeMap::new(),
            closed: false,
            totals: CellTotals::default(),
            longest: Peak::default(),
        }
    }

    /// Cells of an IP packet of `bytes`.
    pub(crate) fn cells(&self, bytes: u16) -> u32 {
        self.config.cells(bytes)
    }

    /// Time of a cell on the link.
    pub(crate) fn cell_time(&self) -> Time {
        Time::from_ps(self.cell)
    }

    /// A packet of `cells` will come from `link`: its first bit at `start`, which is not yet past.
    pub(crate) fn announce(&mut self, link: u32, start: Time, cells: u32) {
        let first = start.as_ps() + self.cell;
        let slot = first.div_ceil(self.cell);
        let phase = first + self.cell - slot * self.cell;
        self.pending.push(Reverse(Train { slot, phase, link, left: cells, cells, lost: 0 }));
    }

    /// What becomes of the packet whose last cell has come from `link` at `now`.
    pub(crate) fn take(&mut self, link: u32, now: Time) -> Fate {
        let slot = now.as_ps().div_ceil(self.cell);
        self.advance(slot);
        let mut fate = Fate::Damaged;
        // Packets before it, if there are some, were taken off the link by a fault.
        while let Some(index) = self.ended.iter().position(|ended| ended.link == link && ended.slot <= slot) {
            let ended = self.ended.remove(index);
            let found = self.reassemble(&ended);
            if ended.slot == slot {
                fate = found;
            }
        }
        fate
    }

    /// What the receiver makes of the cells of a packet.
    fn reassemble(&mut self, ended: &Ended) -> Fate {
        let Some(left) = ended.left else {
            if ended.lost < ended.cells {
                self.remains.insert(ended.link, ended.slot);
            }
            return Fate::Damaged;
        };
        let timeout = self.config.reassembly_timeout.as_ps() / self.cell;
        let merged = self.remains.remove(&ended.link).is_some_and(|since| ended.slot - since < timeout);
        match ended.lost {
            0 if merged => Fate::Merged,
            0 => Fate::Whole(Time::from_ps(left * self.cell)),
            _ => Fate::Damaged,
        }
    }

    /// Trains of `link` go no further than they have come by `now`.
    pub(crate) fn cut(&mut self, link: u32, now: Time) {
        self.advance(now.as_ps() / self.cell);
        for train in self.active.iter().filter(|train| train.link == link) {
            self.totals.came -= u64::from(train.left);
            if train.lost < train.cells - train.left {
                self.remains.insert(link, self.slot);
            }
        }
        self.active.retain(|train| train.link != link);
        self.pending.retain(|Reverse(train)| train.link != link);
        self.ended.retain(|ended| ended.link != link);
    }

    /// The link behind the queue goes down: what waits is lost, and so is what comes.
    pub(crate) fn close(&mut self, now: Time) {
        self.advance(now.as_ps() / self.cell);
        self.totals.abandoned += self.free.saturating_sub(self.slot);
        (self.free, self.closed) = (self.slot, true);
    }

    /// It is up again.
    pub(crate) fn open(&mut self, now: Time) {
        self.advance(now.as_ps() / self.cell);
        self.closed = false;
    }

    /// Totals at `now`; the rest of a packet that is not let in counts when that is decided.
    pub(crate) fn totals(&mut self, now: Time) -> CellTotals {
        self.advance(now.as_ps() / self.cell);
        let ahead: u64 = self.active.iter().map(|train| u64::from(train.left)).sum();
        CellTotals { came: self.totals.came - ahead, queue_max: self.longest.level(0).max, ..self.totals }
    }

    /// Cells that wait at `now`, without the one that is being sent.
    pub(crate) fn waiting(&mut self, now: Time) -> u64 {
        let slot = now.as_ps() / self.cell;
        self.advance(slot);
        self.free.saturating_sub(slot).saturating_sub(1)
    }

    /// The same with its watermarks.
    pub(crate) fn longest(&mut self, now: Time) -> Level {
        let waiting = self.waiting(now);
        self.longest.level(waiting)
    }

    /// Begins a new interval for the longest queue.
    pub(crate) fn restart_longest(&mut self, now: Time) {
        let waiting = self.waiting(now);
        self.longest.restart(waiting);
    }
}
