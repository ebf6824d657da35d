//! How late packets come where the clock is this machine's.

use serde::Serialize;
use std::time::Duration;

/// Buckets for each doubling: a percentile is at most a sixteenth too long.
const FINE: u64 = 16;
const BUCKETS: usize = 1024;

/// How late packets came, in nanoseconds of this machine's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// Packets that came to hosts with programs.
    pub packets: u64,
    /// Of these, how many came later than allowed.
    pub late: u64,
    /// What is allowed.
    pub allowed_ns: u64,
    /// Half of them came no later than this.
    pub p50_ns: u64,
    /// Of a hundred, 99 came no later than this.
    pub p99_ns: u64,
    /// The one that came latest.
    pub max_ns: u64,
}

/// Counts how late packets come.
#[derive(Debug)]
pub struct Counter {
    allowed: u64,
    late: u64,
    max: u64,
    buckets: [u64; BUCKETS],
}

impl Counter {
    /// Nothing has come yet.
    pub fn new(allowed: Duration) -> Counter {
        Counter { allowed: allowed.as_nanos() as u64, late: 0, max: 0, buckets: [0; BUCKETS] }
    }

    /// A packet has come so late.
    pub fn add(&mut self, late: Duration) {
        let ns = late.as_nanos() as u64;
        self.late += u64::from(ns > self.allowed);
        self.max = self.max.max(ns);
        self.buckets[bucket(ns)] += 1;
    }

    /// How late packets came.
    pub fn lateness(&self) -> Lateness {
        let packets = self.buckets.iter().sum();
        Lateness {
            packets,
            late: self.late,
            allowed_ns: self.allowed,
            p50_ns: self.percentile(packets, 50),
            p99_ns: self.percentile(packets, 99),
            max_ns: self.max,
        }
    }

    fn percentile(&self, packets: u64, percent: u64) -> u64 {
        let rank = (packets * percent).div_ceil(100);
        let mut before = 0;
        let found = self.buckets.iter().position(|count| {
            before += count;
            before >= rank
        });
        found.map_or(0, longest).min(self.max)
    }
}

/// The bucket of a time: exact below [`FINE`], of equal width within each doubling above.
fn bucket(ns: u64) -> usize {
    let doubling = ns.max(FINE).ilog2() - FINE.ilog2();
    (u64::from(doubling) * FINE + (ns >> doubling)) as usize
}

/// The longest time in a bucket.
fn longest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doubling = (bucket / FINE).saturating_sub(1);
    ((bucket - doubling * FINE + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_its_bucket() {
        for ns in (0..70).map(|shift| 1u64 << (shift % 60)).flat_map(|ns| [ns - 1, ns, ns + ns / 3]) {
            let found = bucket(ns);
            assert!(found < BUCKETS && ns <= longest(found), "{ns}");
            assert!(longest(found) - ns <= ns / FINE, "{ns} in {}", longest(found));
            assert!(found == 0 || ns > longest(found - 1), "{ns}");
        }
    }

    #[test]
    fn what_is_late_is_counted() {
        let mut counter = Counter::new(Duration::from_millis(1));
        (1..=100).for_each(|n| counter.add(Duration::from_micros(11 * n)));
        let found = counter.lateness();
        assert_eq!((found.packets, found.late, found.max_ns), (100, 10, 1_100_000));
        assert!((550_000..590_000).contains(&found.p50_ns), "{}", found.p50_ns);
        assert!((1_089_000..=1_100_000).contains(&found.p99_ns), "{}", found.p99_ns);
        assert_eq!(Counter::new(Duration::ZERO).lateness().p99_ns, 0);
    }
}
