//! A host that is as slow as a modelled one: computations end when they are due, not at once.
//!
//! The kernel wakes a thread some 50 µs late, far longer than a computation. So what follows from a
//! computation or a timer is timed from when that was due, not from when it was handled: a host that is late
//! catches up, and keeps the rate that its costs mean. A host whose real work takes longer than that falls
//! behind.

use crate::timers::Timers;
use process::Event;
use units::Time;

/// Computations under way.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    under_way: Timers,
    /// While an event is handled that was due: when.
    due: Option<Time>,
}

impl Pace {
    /// A computation that ends at `at`. A process has one under way for each token.
    pub fn compute(&mut self, process: u32, token: u64, at: Time) {
        self.under_way.set(process, token, at);
    }

    /// When the first one ends.
    pub fn next(&self) -> Option<Time> {
        self.under_way.next()
    }

    /// The first computation or timer that is due by `now`.
    pub fn resume(&mut self, timers: &mut Timers, now: Time) -> Option<(u32, Event)> {
        let computed = match (self.under_way.next(), timers.next()) {
            (Some(computed), Some(timer)) => computed <= timer,
            (computed, _) => computed.is_some(),
        };
        let (due, process, token) = if computed { self.under_way.expire(now) } else { timers.expire(now) }?;
        self.due = Some(due);
        Some((process, if computed { Event::Computed { token } } else { Event::Timer { token } }))
    }

    /// The event has been handled.
    pub fn rest(&mut self) {
        self.due = None;
    }

    /// When the event at hand was due.
    pub fn moment(&self) -> Option<Time> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_due_comes_in_order_and_is_timed_from_then() {
        let (mut pace, mut timers, at) = (Pace::default(), Timers::default(), Time::from_us);
        pace.compute(0, 1, at(30));
        timers.set(0, 2, at(10));
        timers.set(0, 3, at(90));
        let now = at(80);
        assert_eq!(pace.resume(&mut timers, now), Some((0, Event::Timer { token: 2 })));
        assert_eq!(pace.moment(), Some(at(10)));
        assert_eq!(pace.resume(&mut timers, now), Some((0, Event::Computed { token: 1 })));
        assert_eq!(pace.moment(), Some(at(30)));
        pace.rest();
        assert_eq!((pace.moment(), pace.resume(&mut timers, now)), (None, None));
    }
}
