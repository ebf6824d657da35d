//! What happens in a queue of cells up to a slot: as many slots at once as the same trains share.
//!
//! With `x` cells ahead of a slot's first one, of `k` cells those with fewer than `limit + 1` ahead are let
//! in: the transmitter has one of them. So `k` trains add `k − 1` cells a slot, and how long all of that is
//! let in is a division. After it one cell a slot is, and the draws say whose. The last slot of a train is
//! looked at cell by cell, for the time at which it leaves.

use super::{CellQueue, Ended, Train};
use crate::config::CellDiscard;
use crate::routing::mix;
use std::cmp::Reverse;

impl CellQueue {
    /// Deals with all slots up to `until`.
    pub(super) fn advance(&mut self, until: u64) {
        while self.slot <= until {
            while self.next_start().is_some_and(|start| start <= self.slot) {
                self.begin();
            }
            let start = self.next_start().unwrap_or(u64::MAX);
            let Some(shortest) = self.active.iter().map(|train| train.left).min() else {
                // A start beyond the last slot is left to come.
                self.slot = start.min(until + 1);
                continue;
            };
            let slots = start.min(until + 1) - self.slot;
            self.run(slots.min(u64::from(shortest)) as u32);
        }
    }

    fn next_start(&self) -> Option<u64> {
        self.pending.peek().map(|Reverse(train)| train.slot)
    }

    /// The train that is next to begin does so.
    fn begin(&mut self) {
        let Some(Reverse(train)) = self.pending.pop() else { return };
        if train.is_fresh() {
            self.totals.came += u64::from(train.cells);
            if self.refuses() {
                self.totals.dropped += u64::from(train.cells);
                let Train { link, cells, .. } = train;
                let slot = train.slot + u64::from(cells - 1);
                return self.ended.push(Ended { link, slot, cells, lost: cells, left: None });
            }
        }
        let place =
            self.active.partition_point(|other| (other.phase, other.link) < (train.phase, train.link));
        self.active.insert(place, train);
    }

    /// Cells ahead of the first one of the slot, with the one that is to be sent next.
    fn ahead(&self) -> u64 {
        self.free.saturating_sub(self.slot)
    }

    /// Whether packets whose first cell comes in the slot are dropped as a whole.
    fn refuses(&self) -> bool {
        let waiting = self.ahead().saturating_sub(1);
        self.config.discard == CellDiscard::Early && waiting >= u64::from(self.config.threshold)
    }

    /// Of the cells of a slot, those for which there is room.
    fn room(&self) -> u64 {
        if self.closed { 0 } else { (u64::from(self.config.limit) + 1).saturating_sub(self.ahead()) }
    }

    /// Which of `count` cells is the first for which room is looked for.
    fn draw(&self, count: usize) -> usize {
        ((u128::from(mix(self.seed ^ self.slot)) * count as u128) >> 64) as usize
    }

    /// So many slots, none of them after the last cell of a train.
    fn run(&mut self, slots: u32) {
        let mut left = slots - 1;
        while left > 0 {
            let passed = self.pass(left);
            left -= passed;
            if passed > 0 {
                continue;
            }
            if self.config.discard != CellDiscard::Tail {
                return self.look(); // There are fewer trains after it.
            }
            left -= self.overflow(left);
        }
        self.look();
    }

    /// Slots in which all cells are let in, at most `most`. Returns how many there were.
    fn pass(&mut self, most: u32) -> u32 {
        let (trains, ahead, limit) = (self.active.len() as u64, self.ahead(), u64::from(self.config.limit));
        let slots = match limit.checked_sub(ahead) {
            Some(room) if !self.closed => {
                room.checked_div(trains - 1).unwrap_or(u64::MAX).min(u64::from(most))
            }
            _ => return 0,
        };
        if slots == 0 {
            return 0;
        }
        self.slot += slots;
        self.free = self.slot + ahead + slots * (trains - 1);
        self.note_length();
        self.active.iter_mut().for_each(|train| train.left -= slots as u32);
        slots as u32
    }

    /// Slots in which some cells are not let in; one, or all `most` of them when it is one cell each that is.
    fn overflow(&mut self, most: u32) -> u32 {
        let (trains, room) = (self.active.len(), self.room() as usize);
        let slots = if room <= 1 { most } else { 1 };
        for train in &mut self.active {
            train.left -= slots;
            train.lost += slots;
        }
        self.totals.dropped += (trains - room) as u64 * u64::from(slots);
        for _ in 0..slots {
            let first = self.draw(trains);
            for index in 0..room {
                self.active[(first + index) % trains].lost -= 1;
            }
            self.free = self.slot.max(self.free) + room as u64;
            self.slot += 1;
            self.note_length();
        }
        slots
    }

    /// The slot cell by cell.
    fn look(&mut self) {
        let (trains, room, ahead) = (self.active.len(), self.room(), self.ahead());
        let first = if room < trains as u64 { self.draw(trains) } else { 0 };
        let mut admitted = 0;
        let mut active = std::mem::take(&mut self.active);
        let mut index = 0;
        active.retain_mut(|train| {
            let turn = (index + trains - first) % trains;
            index += 1;
            let admit = (turn as u64) < room;
            admitted += u64::from(admit);
            self.take_cell(train, admit.then_some(self.slot + ahead + admitted))
        });
        self.active = active;
        self.free = self.slot + ahead + admitted;
        self.slot += 1;
        self.note_length();
    }

    /// A cell of `train` is let in, and leaves with slot `leaves`, or is not. Returns whether the train goes
    /// on.
    fn take_cell(&mut self, train: &mut Train, leaves: Option<u64>) -> bool {
        train.left -= 1;
        if leaves.is_none() {
            train.lost += 1;
            self.totals.dropped += 1;
        }
        if train.left == 0 {
            let Train { link, cells, lost, .. } = *train;
            self.ended.push(Ended { link, slot: self.slot, cells, lost, left: leaves });
            return false;
        }
        let goes_on = leaves.is_some() || self.config.discard == CellDiscard::Tail;
        if !goes_on {
            self.skip_to_last(*train);
        }
        goes_on
    }

    /// Of a packet that has lost a cell only the last one may still be let in: it ends the packet for the
    /// receiver.
    fn skip_to_last(&mut self, mut train: Train) {
        let skipped = train.left - 1;
        train.slot = self.slot + u64::from(train.left);
        train.left = 1;
        train.lost += skipped;
        self.totals.dropped += u64::from(skipped);
        self.pending.push(Reverse(train));
    }

    /// A slot has been dealt with: what of it waits, beside the cell that is sent in the next one.
    fn note_length(&mut self) {
        self.longest.note(self.ahead());
    }
}
