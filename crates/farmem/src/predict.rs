//! A program's time on remote memory, from counts of its exchanges and its time with all memory local.
//!
//! Degradation is that of document 004 (slide 8): the additional time, relative to the time without remote
//! memory. Waits add up here; how waits of several threads overlap is in [`crate::overlap`].

use crate::cost::{Cost, Way};
use crate::replay::Counts;
use units::{Bytes, Time};

/// What a program waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// For pages from remote memory.
    pub fetch: Time,
    /// For pages on their way back.
    pub write_back: Time,
    /// For a handler of faults, first accesses too: what a fault costs without a network.
    pub handler: Time,
}

impl Waits {
    /// Those of a run with these exchanges of pages of one size, where the handler takes so long a fault.
    /// Counts have requests already.
    pub fn of(counts: &Counts, page: Bytes, cost: &Cost, handler: Time) -> Waits {
        let back = |way: Way| way.total(counts.sends, counts.written_back, page);
        Waits {
            fetch: cost.fetch.total(counts.requests, counts.fetched, page),
            write_back: cost.write_back.map_or(Time::ZERO, back),
            handler: handler.saturating_mul(counts.faults.saturating_add(counts.cold)),
        }
    }

    /// All of them.
    pub fn total(&self) -> Time {
        self.fetch.saturating_add(self.write_back).saturating_add(self.handler)
    }

    /// Of a program that takes so long without: 0.25 is a quarter more. Nothing for one that takes no time.
    pub fn degradation(&self, all_local: Time) -> Option<f64> {
        (all_local > Time::ZERO).then(|| self.total().as_ps() as f64 / all_local.as_ps() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    const PAGE: Bytes = Bytes::new(4096);

    fn cost(us: u64, gbps: u64) -> Cost {
        Cost::new(Time::from_us(us), Rate::from_gbps(gbps))
    }

    #[test]
    fn each_fault_waits_latency_and_a_page() {
        let counts =
            Counts { requests: 1_000, fetched: 1_000, written_back: 500, sends: 500, ..Counts::default() };
        let waits = Waits::of(&counts, PAGE, &cost(10, 40), Time::ZERO);
        assert_eq!(waits.fetch.as_ps(), 1_000 * 10_819_200);
        assert_eq!(waits.write_back.as_ps(), 500 * 10_819_200);
        assert_eq!(waits.degradation(Time::from_ps(15_000 * 10_819_200)), Some(0.1));
        assert_eq!(waits.degradation(Time::ZERO), None);
    }

    #[test]
    fn pages_of_a_request_share_its_latency() {
        let counts = Counts { requests: 100, fetched: 800, sends: 10, written_back: 80, ..Counts::default() };
        let waits = Waits::of(&counts, PAGE, &cost(10, 40), Time::ZERO);
        assert_eq!(waits.fetch.as_ps(), 100 * 10_000_000 + 800 * 819_200);
        assert_eq!(waits.write_back.as_ps(), 10 * 10_000_000 + 80 * 819_200);
    }

    #[test]
    fn the_handler_is_there_at_first_accesses_too() {
        let counts = Counts { faults: 3, fetched: 3, requests: 3, cold: 7, ..Counts::default() };
        let waits = Waits::of(&counts, PAGE, &cost(1, 100), Time::from_us(5));
        assert_eq!(waits.handler, Time::from_us(50));
        assert_eq!(waits.total().as_ps(), 3 * 1_327_680 + 50_000_000);
    }
}
