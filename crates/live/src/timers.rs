//! Timers of a member's processes.

use std::collections::{BTreeMap, BTreeSet};
use units::Time;

/// All timers that are set. A timer set again moves: there is one entry a (process, token), never more.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    by_token: BTreeMap<(u32, u64), Time>,
    by_time: BTreeSet<(Time, u32, u64)>,
}

impl Timers {
    pub fn set(&mut self, process: u32, token: u64, at: Time) {
        if let Some(old) = self.by_token.insert((process, token), at) {
            self.by_time.remove(&(old, process, token));
        }
        self.by_time.insert((at, process, token));
    }

    pub fn cancel(&mut self, process: u32, token: u64) {
        if let Some(at) = self.by_token.remove(&(process, token)) {
            self.by_time.remove(&(at, process, token));
        }
    }

    /// When the first one expires.
    pub fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _, _)| *at)
    }

    /// Takes the first one that has expired by `now`: when it was due, process and token.
    pub fn expire(&mut self, now: Time) -> Option<(Time, u32, u64)> {
        let &(at, process, token) = self.by_time.first()?;
        if at > now {
            return None;
        }
        self.cancel(process, token);
        Some((at, process, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_expire_in_order_and_a_timer_set_again_moves() {
        let mut timers = Timers::default();
        let at = Time::from_us;
        timers.set(0, 1, at(30));
        timers.set(0, 2, at(20));
        timers.set(1, 1, at(10));
        timers.set(1, 1, at(40));
        timers.set(0, 3, at(5));
        timers.cancel(0, 3);
        timers.cancel(0, 99);
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!(timers.expire(at(19)), None);
        let expired: Vec<_> = std::iter::from_fn(|| timers.expire(at(40))).collect();
        assert_eq!(expired, [(at(20), 0, 2), (at(30), 0, 1), (at(40), 1, 1)]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn moving_a_timer_takes_no_memory() {
        let mut timers = Timers::default();
        for i in 0..10_000 {
            timers.set(0, 0, Time::from_ns(i));
        }
        assert_eq!((timers.by_time.len(), timers.by_token.len()), (1, 1));
    }
}
