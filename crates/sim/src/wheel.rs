//! The event queue: a wheel of short buckets for what comes soon, a heap for what comes late.
//!
//! Events are ordered by time and then by a key of the model, never by when they were put in. So the order
//! does not depend on how it is computed. Nothing is removed: code that reschedules ignores the
//! old event when it comes.

use crate::buckets::{Buckets, Short};
use crate::key::kind_of;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use units::Time;

/// Least and greatest number of buckets. Many, for many ports: then narrow ones still reach as far as a
/// packet takes. In a small network the timers of transports are within a turn.
const BUCKETS: (usize, usize) = (1 << 13, 1 << 16);

/// An event: when, and the key of what is to happen. Compares by time, then key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub time: Time,
    key: u32,
}

impl Entry {
    /// What is to happen.
    #[inline]
    pub(crate) fn key(self) -> u32 {
        self.key
    }
}

#[inline]
fn shorten(time: Time, key: u32) -> Short {
    (time.as_ps() << 32) | u64::from(key)
}

/// The event that was [shortened](shorten); `upper` is its time but for the lower half.
#[inline]
fn restore(upper: u64, short: Short) -> Entry {
    Entry { time: Time::from_ps(upper | (short >> 32)), key: short as u32 }
}

/// Turns after which the width of buckets is looked at.
const LOOK: u32 = 256;
/// Events a bucket for which the width is right, in small networks and in large ones, where they are looked
/// at together beforehand.
const RIGHT: [Range<u32>; 2] = [8..32, 24..96];
/// A turn reaches as far as so many events of each port, at least.
const TURN: u64 = 4;
/// From so many events on it pays to look at what they need together.
const CROWD: usize = 5;
/// With more ports than this, what packets need is rarely in a cache, and looking ahead pays.
const CACHED_PORTS: usize = 4000;
/// Least and greatest width of a bucket, as powers of two in picoseconds: 64 ps to 67 µs.
const NARROWEST: u32 = 6;
const WIDEST: u32 = 26;

/// Events to come.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// A bucket is `2^shift` ps wide.
    shift: u32,
    /// The least shift with which a turn is still as long as a packet takes to the next port.
    narrowest: u32,
    /// The bucket that is being emptied, counted from time zero.
    now: u64,
    /// Where it begins, but for the lower half.
    upper: u64,
    /// Its events in order; those before `next` have been.
    current: Vec<Short>,
    next: usize,
    /// Events a bucket for which the width is right.
    right: Range<u32>,
    /// Whether anybody wants to look ahead.
    looks: bool,
    buckets: Buckets,
    /// Events more than a turn of the wheel ahead.
    far: BinaryHeap<Reverse<Entry>>,
    /// From this bucket on, the first of them is within a turn.
    far_due: u64,
    /// Buckets opened since the width was looked at, and the events in them.
    opened: u32,
    found: u32,
}

impl Wheel {
    /// A wheel for so many ports, whose buckets hold a few events each when `spacing` lies between two
    /// events.
    pub(crate) fn new(spacing: Time, ports: usize) -> Wheel {
        let buckets = ports.next_power_of_two().clamp(BUCKETS.0, BUCKETS.1);
        let looks = ports > CACHED_PORTS;
        let right = RIGHT[usize::from(looks)].clone();
        let width = spacing.as_ps().saturating_mul(u64::from(right.start)).max(1);
        let turn = spacing.as_ps().saturating_mul(TURN * ports as u64);
        let narrowest = (turn / buckets as u64).max(1).ilog2().clamp(NARROWEST, WIDEST);
        Wheel {
            shift: width.ilog2().clamp(narrowest, WIDEST),
            narrowest,
            now: 0,
            upper: 0,
            current: Vec::new(),
            next: 0,
            right,
            looks,
            buckets: Buckets::new(buckets),
            far: BinaryHeap::new(),
            far_due: u64::MAX,
            opened: 0,
            found: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, key: u32) {
        let bucket = time.as_ps() >> self.shift;
        if bucket.wrapping_sub(self.now + 1) < self.buckets.mask {
            self.buckets.put(bucket, shorten(time, key));
        } else if bucket == self.now {
            self.insert(shorten(time, key));
        } else {
            self.push_rare(bucket, Entry { time, key });
        }
    }

    #[cold]
    fn push_rare(&mut self, bucket: u64, entry: Entry) {
        if bucket > self.now {
            self.far.push(Reverse(entry));
            self.far_due = self.far_due.min(bucket - self.buckets.mask);
            return;
        }
        // The wheel was turned on by a look at what comes next.
        if self.upper_of(bucket) == self.upper {
            return self.insert(shorten(entry.time, entry.key));
        }
        self.rebuild(self.shift, bucket);
        self.insert(shorten(entry.time, entry.key));
    }

    /// Puts an event into the bucket that is being emptied, most often as its last.
    #[inline(always)]
    fn insert(&mut self, short: Short) {
        match self.current.last() {
            Some(&last) if last > short => self.insert_before_last(short),
            _ => self.current.push(short),
        }
    }

    #[inline(never)]
    fn insert_before_last(&mut self, short: Short) {
        self.current.push(short);
        let Some((mut slot, others)) = self.current[self.next..].split_last_mut() else { return };
        for other in others.iter_mut().rev() {
            if *other <= short {
                break;
            }
            *slot = *other;
            slot = other;
        }
        *slot = short;
    }

    /// The earliest event of the bucket at hand. When there is none, [`Wheel::turn`].
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let &short = self.current.get(self.next)?;
        self.next += 1;
        Some(restore(self.upper, short))
    }

    /// The next event, if it is of the time and kind of `entry`.
    #[inline]
    pub(crate) fn pop_alike(&mut self, entry: Entry) -> Option<Entry> {
        let next = self.current.get(self.next).map(|&short| restore(self.upper, short));
        let is_alike = |next: &Entry| next.time == entry.time && kind_of(next.key) == kind_of(entry.key);
        next.filter(is_alike).inspect(|_| self.next += 1)
    }

    /// Keys of the events in the bucket just turned to, where it is crowded: one that looks at what they need
    /// beforehand waits for memory once, not for each.
    pub(crate) fn crowd(&self) -> Option<impl Iterator<Item = u32>> {
        let crowded = self.looks && self.current.len() >= CROWD;
        crowded.then(|| self.current.iter().map(|&short| short as u32))
    }

    /// The earliest event, left where it is.
    pub(crate) fn peek(&mut self) -> Option<Entry> {
        if self.next == self.current.len() && !self.turn() {
            return None;
        }
        self.current.get(self.next).map(|&short| restore(self.upper, short))
    }

    /// Whether no event is to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.current.len() && self.far.is_empty() && self.buckets.is_empty()
    }

    /// Turns to the next bucket that holds something; false when none does.
    pub(crate) fn turn(&mut self) -> bool {
        if self.opened >= LOOK {
            self.adapt();
        }
        self.current.clear();
        self.next = 0;
        if let Some(bucket) = self.buckets.next_occupied(self.now) {
            self.open(bucket);
            self.buckets.empty(bucket, &mut self.current);
        } else if let Some(bucket) = self.first_far() {
            self.open(bucket);
        } else {
            return false;
        }
        let bucket = self.now;
        if bucket >= self.far_due {
            self.fetch_far();
        }
        self.opened += 1;
        self.found += self.current.len() as u32;
        if self.current.len() > 1 {
            self.current.sort_unstable();
        }
        if self.looks
            && let Some(next) = self.buckets.next_occupied(bucket)
        {
            self.buckets.prefetch(next);
        }
        true
    }

    #[inline]
    fn open(&mut self, bucket: u64) {
        self.now = bucket;
        self.upper = self.upper_of(bucket);
    }

    /// What the times of all events in a bucket have in common.
    #[inline]
    fn upper_of(&self, bucket: u64) -> u64 {
        (bucket << self.shift) & !u64::from(u32::MAX)
    }

    /// Takes over what has come within a turn of the wheel.
    #[cold]
    fn fetch_far(&mut self) {
        while let Some(&Reverse(Entry { time, key })) = self.far.peek() {
            let bucket = time.as_ps() >> self.shift;
            if bucket > self.now + self.buckets.mask {
                break;
            }
            self.far.pop();
            if bucket == self.now {
                self.current.push(shorten(time, key));
            } else {
                self.buckets.put(bucket, shorten(time, key));
            }
        }
        self.look_far();
    }

    /// Works out when the first far event is within a turn.
    fn look_far(&mut self) {
        self.far_due = self.first_far().map_or(u64::MAX, |bucket| bucket.saturating_sub(self.buckets.mask));
    }

    /// Widens buckets that are mostly empty and narrows those that are crowded. The order of events
    /// does not depend on it.
    #[cold]
    fn adapt(&mut self) {
        let (opened, found) = (std::mem::take(&mut self.opened), std::mem::take(&mut self.found));
        let shift = match found / opened {
            few if few < self.right.start && self.shift < WIDEST => {
                (self.shift + (self.right.start / few.max(1)).ilog2().max(1)).min(WIDEST)
            }
            many if many >= self.right.end && self.shift > self.narrowest => self.shift - 1,
            _ => return,
        };
        // The bucket at hand is empty: everything else lies after it.
        let begin = (self.now + 1) << self.shift;
        self.rebuild(shift, (begin >> shift).saturating_sub(1));
    }

    /// Lays the wheel out again with buckets of `2^shift` ps, at the bucket `now`, which is not later than
    /// any event.
    fn rebuild(&mut self, shift: u32, now: u64) {
        let entries = self.take_near();
        self.shift = shift;
        self.open(now);
        self.look_far();
        for entry in entries {
            self.push(entry.time, entry.key);
        }
    }

    /// Gives each event the time that `time_of` says, not before `now`.
    pub(crate) fn retime(&mut self, now: Time, mut time_of: impl FnMut(Entry) -> Time) {
        let mut entries = self.take_near();
        entries.extend(self.far.drain().map(|Reverse(entry)| entry));
        self.open(now.as_ps() >> self.shift);
        self.look_far();
        for entry in entries {
            self.push(time_of(entry), entry.key);
        }
    }

    /// Takes out all events but the far ones.
    fn take_near(&mut self) -> Vec<Entry> {
        let mut entries: Vec<Entry> =
            self.current.drain(..).skip(self.next).map(|short| restore(self.upper, short)).collect();
        let mut at = self.now;
        while let Some(bucket) = self.buckets.next_occupied(at) {
            at = bucket;
            let upper = self.upper_of(bucket);
            self.buckets.empty(bucket, &mut self.current);
            entries.extend(self.current.drain(..).map(|short| restore(upper, short)));
        }
        self.next = 0;
        entries
    }

    fn first_far(&self) -> Option<u64> {
        self.far.peek().map(|Reverse(entry)| entry.time.as_ps() >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn next(wheel: &mut Wheel) -> Option<Entry> {
        wheel.pop().or_else(|| if wheel.turn() { wheel.pop() } else { None })
    }

    #[test]
    fn what_comes_before_the_event_that_was_looked_at_comes_first() {
        let mut wheel = Wheel::new(Time::from_ns(1), 10_000);
        let times = [40, 50, 9_000_000_000].map(Time::from_ns);
        for time in times {
            wheel.push(time, 1);
        }
        assert_eq!(wheel.peek().map(|entry| entry.time), Some(times[0]));
        wheel.push(Time::ZERO, 2);
        let order: Vec<Time> = std::iter::from_fn(|| next(&mut wheel)).map(|entry| entry.time).collect();
        assert_eq!(order, [Time::ZERO, times[0], times[1], times[2]]);
    }

    proptest! {
        /// Against an ordered map, with pushes between pops as a simulation makes them.
        #[test]
        fn pops_in_order_of_time_and_key(
            shift in 10u64..20,
            delays in proptest::collection::vec((0u64..40, 0u64..1 << 20, 0u32..4), 1..400),
        ) {
            let mut wheel = Wheel::new(Time::from_ps(1 << (shift - 2)), 10_000);
            let mut model: BTreeMap<(Time, u32), u32> = BTreeMap::new();
            let mut now = Time::ZERO;
            for (exponent, fraction, key) in delays {
                let delay = if exponent < 20 { exponent } else { (fraction << 20) >> (40 - exponent) };
                let time = now + Time::from_ps(delay);
                wheel.push(time, key);
                *model.entry((time, key)).or_default() += 1;
                if fraction % 3 == 0 {
                    let entry = next(&mut wheel).unwrap();
                    let mut first = model.first_entry().unwrap();
                    prop_assert_eq!((entry.time, entry.key()), *first.key());
                    now = entry.time;
                    *first.get_mut() -= 1;
                    if *first.get() == 0 { first.remove(); }
                }
            }
            let mut rest = Vec::new();
            while let Some(entry) = next(&mut wheel) { rest.push((entry.time, entry.key())); }
            let expected: Vec<_> = model.into_iter().flat_map(|(k, n)| std::iter::repeat_n(k, n as usize)).collect();
            prop_assert_eq!(rest, expected);
        }
    }
}
