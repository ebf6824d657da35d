//! Timers of processes.

use crate::key::Kind;
use crate::run::Sim;
use process::Event;
use std::collections::BTreeMap;
use units::Time;

/// All timers that are set, under (process, token).
#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: Vec<Slot>,
    by_token: BTreeMap<(u32, u64), u32>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    process: u32,
    token: u64,
    /// When it expires; [`Time::MAX`] when the slot is free.
    at: Time,
}

impl Timers {
    fn set(&mut self, process: u32, token: u64, at: Time) -> u32 {
        if let Some(&slot) = self.by_token.get(&(process, token)) {
            self.slots[slot as usize].at = at;
            return slot;
        }
        let entry = Slot { process, token, at };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                self.slots.len() as u32 - 1
            }
        };
        self.by_token.insert((process, token), slot);
        slot
    }

    fn cancel(&mut self, process: u32, token: u64) {
        if let Some(slot) = self.by_token.remove(&(process, token)) {
            self.slots[slot as usize].at = Time::MAX;
            self.free.push(slot);
        }
    }

    /// The timer that expires in `slot` at `now`, unless it was moved or cancelled.
    fn expire(&mut self, slot: u32, now: Time) -> Option<(u32, u64)> {
        let Slot { process, token, at } = self.slots[slot as usize];
        if at != now {
            return None;
        }
        self.cancel(process, token);
        Some((process, token))
    }

    /// The place of a timer among those that expire at the same time.
    pub(crate) fn rank(&self, slot: u32) -> (u32, u64) {
        let Slot { process, token, .. } = self.slots[slot as usize];
        (process, token)
    }

    /// Cancels all timers of a process.
    pub(crate) fn cancel_all(&mut self, process: u32) {
        let tokens: Vec<u64> =
            self.by_token.range((process, 0)..=(process, u64::MAX)).map(|((_, token), _)| *token).collect();
        for token in tokens {
            self.cancel(process, token);
        }
    }
}

impl Sim {
    pub(crate) fn set_timer(&mut self, process: u32, token: u64, delay: Time) {
        let at = self.net.now.saturating_add(delay);
        let slot = self.timers.set(process, token, at);
        self.net.outside.at(at, Kind::Timer, slot);
    }

    pub(crate) fn cancel_timer(&mut self, process: u32, token: u64) {
        self.timers.cancel(process, token);
    }

    pub(crate) fn on_timer(&mut self, slot: u32) {
        if let Some((process, token)) = self.timers.expire(slot, self.net.now) {
            self.tell(process, Event::Timer { token });
        }
    }
}
