//! The event queue: a wheel of short buckets for what comes soon, a heap for what comes late.
//!
//! Events are ordered by time and then by a key of the model, never by when they were put in, so the
//! order is the same whoever computes it. Nothing is removed: who schedules anew ignores the old
//! event when it comes.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use units::Time;

const BUCKETS: u64 = 4096;
const MASK: u64 = BUCKETS - 1;

/// An event: when, and the key of what is to happen. Compares by time, then key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub time: Time,
    key: u64,
}

impl Entry {
    #[inline]
    fn new(time: Time, key: u32) -> Entry {
        Entry { time, key: u64::from(key) }
    }

    /// What is to happen.
    #[inline]
    pub(crate) fn key(self) -> u32 {
        self.key as u32
    }

    /// Its place in the order, as one number: two instructions to compare.
    #[inline]
    fn order(self) -> u128 {
        (u128::from(self.time.as_ps()) << 64) | u128::from(self.key)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Up to so many events a bucket's first is found by looking at all; beyond, the bucket is sorted.
const SHORT: usize = 8;
/// Turns after which the width of buckets is looked at.
const LOOK: u32 = 1024;
/// Events a bucket for which the width is right.
const FEW: u32 = 2;
const MANY: u32 = 12;
/// Least and greatest width of a bucket, as powers of two in picoseconds: 1 ns to 2 µs.
const NARROWEST: u32 = 10;
const WIDEST: u32 = 21;

/// Events to come.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// A bucket is `2^shift` ps wide.
    shift: u32,
    /// The bucket that is being emptied, counted from time zero.
    now: u64,
    /// Its events; latest first when `sorted`.
    current: Vec<Entry>,
    sorted: bool,
    buckets: Vec<Vec<Entry>>,
    /// A bit for each bucket that holds something.
    occupied: [u64; (BUCKETS / 64) as usize],
    /// Events more than a turn of the wheel ahead.
    far: BinaryHeap<Reverse<Entry>>,
    /// Buckets opened since the width was looked at, and the events in them.
    opened: u32,
    found: u32,
}

impl Wheel {
    /// A wheel whose buckets hold a few events each when `spacing` lies between two events.
    pub(crate) fn new(spacing: Time) -> Wheel {
        let width = spacing.as_ps().saturating_mul(u64::from(FEW)).max(1);
        Wheel {
            shift: width.ilog2().clamp(NARROWEST, WIDEST),
            now: 0,
            current: Vec::new(),
            sorted: false,
            buckets: vec![Vec::new(); BUCKETS as usize],
            occupied: [0; (BUCKETS / 64) as usize],
            far: BinaryHeap::new(),
            opened: 0,
            found: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, time: Time, key: u32) {
        let bucket = time.as_ps() >> self.shift;
        let entry = Entry::new(time, key);
        if bucket.wrapping_sub(self.now + 1) < MASK {
            self.put(bucket, entry);
        } else {
            self.push_rare(bucket, entry);
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, entry: Entry) {
        let slot = bucket & MASK;
        self.buckets[slot as usize].push(entry);
        self.occupied[(slot / 64) as usize] |= 1 << (slot % 64);
    }

    fn push_rare(&mut self, bucket: u64, entry: Entry) {
        if bucket > self.now {
            self.far.push(Reverse(entry));
        } else if self.sorted {
            let at = self.current.partition_point(|other| *other > entry);
            self.current.insert(at, entry);
        } else {
            self.current.push(entry);
            if self.current.len() > 4 * SHORT {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        self.sorted = true;
        self.current.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        if self.current.len() <= 1 {
            if self.current.is_empty() && !self.turn() {
                return None;
            }
            if self.current.len() == 1 {
                return self.current.pop();
            }
        }
        if self.sorted {
            return self.current.pop();
        }
        let first = first(&self.current);
        Some(self.current.swap_remove(first))
    }

    /// The earliest event, left where it is.
    pub(crate) fn peek(&mut self) -> Option<Entry> {
        if self.current.is_empty() && !self.turn() {
            return None;
        }
        if self.sorted {
            self.current.last().copied()
        } else {
            self.current.get(first(&self.current)).copied()
        }
    }

    /// Whether no event is to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_empty() && self.far.is_empty() && self.occupied.iter().all(|word| *word == 0)
    }

    /// Turns to the next bucket that holds something.
    fn turn(&mut self) -> bool {
        if self.opened >= LOOK {
            self.adapt();
        }
        let Some(bucket) = self.next_occupied().or_else(|| self.first_far()) else { return false };
        self.now = bucket;
        let slot = bucket & MASK;
        std::mem::swap(&mut self.current, &mut self.buckets[slot as usize]);
        self.occupied[(slot / 64) as usize] &= !(1 << (slot % 64));
        if self.first_far().is_some_and(|far| far < self.now + BUCKETS) {
            self.fetch_far();
        }
        self.opened += 1;
        self.found += self.current.len() as u32;
        self.sorted = false;
        if self.current.len() > SHORT {
            self.sort();
        }
        true
    }

    /// Takes over what has come within a turn of the wheel.
    #[cold]
    fn fetch_far(&mut self) {
        while let Some(&Reverse(entry)) = self.far.peek() {
            let bucket = entry.time.as_ps() >> self.shift;
            if bucket >= self.now + BUCKETS {
                break;
            }
            self.far.pop();
            if bucket <= self.now { self.current.push(entry) } else { self.put(bucket, entry) }
        }
    }

    /// Widens buckets that are mostly empty and narrows those that are crowded. The order of events
    /// does not depend on it.
    #[cold]
    fn adapt(&mut self) {
        let (opened, found) = (std::mem::take(&mut self.opened), std::mem::take(&mut self.found));
        let shift = match found / opened {
            0..FEW if self.shift < WIDEST => self.shift + 1,
            MANY.. if self.shift > NARROWEST => self.shift - 1,
            _ => return,
        };
        // The bucket at hand is empty: everything else lies after it.
        let entries: Vec<Entry> = self.buckets.iter_mut().flat_map(std::mem::take).collect();
        self.occupied.fill(0);
        let begin = (self.now + 1) << self.shift;
        self.shift = shift;
        self.now = (begin >> shift).saturating_sub(1);
        for entry in entries {
            self.push(entry.time, entry.key());
        }
    }

    fn first_far(&self) -> Option<u64> {
        self.far.peek().map(|Reverse(entry)| entry.time.as_ps() >> self.shift)
    }

    /// The first bucket after `now`, within a turn, that holds something.
    fn next_occupied(&self) -> Option<u64> {
        let words = self.occupied.len();
        let start = (self.now + 1) & MASK;
        let (first, bit) = ((start / 64) as usize, start % 64);
        let mut word = self.occupied[first] & (!0 << bit);
        for step in 0..=words {
            let index = (first + step) % words;
            if step > 0 {
                word = self.occupied[index];
            }
            if step == words {
                word &= !(!0 << bit);
            }
            if word != 0 {
                let slot = index as u64 * 64 + u64::from(word.trailing_zeros());
                return Some(self.now + 1 + (slot.wrapping_sub(start) & MASK));
            }
        }
        None
    }
}

/// Index of the earliest of a few events.
#[inline]
fn first(entries: &[Entry]) -> usize {
    let (mut first, mut least) = (0, u128::MAX);
    for (index, entry) in entries.iter().enumerate() {
        let order = entry.order();
        if order < least {
            (first, least) = (index, order);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against an ordered map, with pushes between pops as a simulation makes them.
        #[test]
        fn pops_in_order_of_time_and_key(
            shift in 10u64..20,
            delays in proptest::collection::vec((0u64..40, 0u64..1 << 20, 0u32..4), 1..400),
        ) {
            let mut wheel = Wheel::new(Time::from_ps(1 << (shift - 2)));
            let mut model: BTreeMap<(Time, u32), u32> = BTreeMap::new();
            let mut now = Time::ZERO;
            for (exponent, fraction, key) in delays {
                let delay = if exponent < 20 { exponent } else { (fraction << 20) >> (40 - exponent) };
                let time = now + Time::from_ps(delay);
                wheel.push(time, key);
                *model.entry((time, key)).or_default() += 1;
                if fraction % 3 == 0 {
                    let entry = wheel.pop().unwrap();
                    let mut first = model.first_entry().unwrap();
                    prop_assert_eq!((entry.time, entry.key()), *first.key());
                    now = entry.time;
                    *first.get_mut() -= 1;
                    if *first.get() == 0 { first.remove(); }
                }
            }
            let mut rest = Vec::new();
            while let Some(entry) = wheel.pop() { rest.push((entry.time, entry.key())); }
            let expected: Vec<_> = model.into_iter().flat_map(|(k, n)| std::iter::repeat_n(k, n as usize)).collect();
            prop_assert_eq!(rest, expected);
        }
    }
}
