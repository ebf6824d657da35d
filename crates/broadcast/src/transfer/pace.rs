//! The sending rate to a child: a token bucket, by chunks.
//!
//! Hops of several trees share links as the plan says. TCP would share them evenly instead, so that a hop
//! with a small share takes what one with a large share needs. So a parent sends to a child at the plan's
//! rate, with some headroom: to catch up after a loss, and because capacities are never quite right.
//!
//! The payload that a link carries is 3–6 % less than its rate, so with rates of links (a scenario's) the
//! default of 1.1 leaves that much more. A measured topology is 6–20 % low, and a pace would keep it low:
//! there it is 1.25, or none. Without a pace the plan's trees are kept, and TCP shares the links.

use units::{Bytes, Rate, Time};

/// What a parent may send ahead of its pace after it was kept from sending: so many chunks.
const BURST: u64 = 2;
/// And at least what goes in this time: a timer of a loaded host is late by some milliseconds.
const LEAST_BURST: Time = Time::from_ms(5);

/// A child's pace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Nothing: no bound.
    rate: Option<Rate>,
    /// The next chunk may go then.
    next: Time,
}

impl Pace {
    /// Sets the rate: the plan's `rate` in bit/s times `percent`. Without a percentage there is no bound.
    /// What is still to be waited for is waited for at the new rate.
    pub(crate) fn set(&mut self, rate: u64, percent: Option<u32>, now: Time) {
        let scaled = |percent| u128::from(rate) * u128::from(percent) / 100;
        let bounded = percent.map(|percent: u32| u64::try_from(scaled(percent)).unwrap_or(u64::MAX));
        let before = self.rate;
        self.rate = bounded.map(|rate| Rate::from_bps(rate.max(1)));
        if let (Some(before), Some(after)) = (before, self.rate) {
            let left = self.next.saturating_sub(now);
            self.next =
                now.saturating_add(left.mul_div(before.as_bps(), after.as_bps())).min(self.next.max(now));
        }
    }

    /// How long the next chunk has to wait.
    pub(crate) fn wait(&self, now: Time) -> Time {
        if self.rate.is_some() { self.next.saturating_sub(now) } else { Time::ZERO }
    }

    /// A chunk has been sent.
    pub(crate) fn on_sent(&mut self, bytes: u64, now: Time) {
        let Some(rate) = self.rate else { return };
        let takes = rate.time_for(Bytes::new(bytes));
        let burst = takes.saturating_mul(BURST).max(LEAST_BURST);
        self.next = self.next.max(now.saturating_sub(burst)).saturating_add(takes);
    }
}

/// What a host may send to all of its children together. A child that is kept from sending by it has its turn
/// booked, or the first one would always be the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    rate: Rate,
    /// All that is booked has left then.
    next: Time,
}

impl Limit {
    pub(crate) fn new(rate: Rate) -> Limit {
        Limit { rate, next: Time::ZERO }
    }

    /// Books a chunk: when it may go.
    pub(crate) fn book(&mut self, bytes: u64, now: Time) -> Time {
        let at = self.next.max(now.saturating_sub(LEAST_BURST));
        self.next = at.saturating_add(self.rate.time_for(Bytes::new(bytes)));
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_its_rate_and_makes_up_for_a_wait() {
        let mut pace = Pace::default();
        pace.set(8_000_000, Some(110), Time::ZERO);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::from_secs(1) {
            now += pace.wait(now);
            pace.on_sent(10_000, now);
            sent += 10_000;
        }
        assert!((1_100_000..=1_140_000).contains(&sent), "{sent}");
        // After a wait two chunks go at once, not all that could have gone.
        now += Time::from_secs(10);
        let at_once = std::iter::from_fn(|| {
            let free = pace.wait(now) == Time::ZERO;
            pace.on_sent(10_000, now);
            free.then_some(())
        });
        assert!((2..=4).contains(&at_once.count()));
    }

    #[test]
    fn a_wait_at_a_low_rate_ends_with_it() {
        let mut pace = Pace::default();
        let now = Time::from_secs(100);
        pace.set(1_000, Some(100), now);
        (0..3).for_each(|_| pace.on_sent(10_000, now));
        assert_eq!(pace.wait(now), Time::from_secs(140));
        pace.set(1_000_000, Some(100), now);
        assert_eq!(pace.wait(now), Time::from_ms(140));
    }

    #[test]
    fn a_limit_is_shared_in_turns() {
        let mut limit = Limit::new(Rate::from_bps(8_000_000));
        let now = Time::from_secs(1);
        let booked: Vec<Time> = (0..4).map(|_| limit.book(10_000, now)).collect();
        // A turn that is late by less than a timer may be makes up for it.
        assert_eq!(booked, [995, 1005, 1015, 1025].map(Time::from_ms));
    }

    #[test]
    fn none_is_no_bound() {
        let mut pace = Pace::default();
        pace.set(1, None, Time::ZERO);
        pace.on_sent(1 << 30, Time::ZERO);
        assert_eq!(pace.wait(Time::ZERO), Time::ZERO);
    }
}
