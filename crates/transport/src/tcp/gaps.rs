//! What a receiver holds beyond gaps, and what it says of it in SACK blocks.
//!
//! Few connections have any at a time. What arrives in order is not its business.
//! Source: RFC 2018 4 (most recent first), RFC 2883 (a segment that arrived twice, before all).

use crate::tcp::scoreboard::Range;
use std::collections::VecDeque;

/// SACK blocks that fit without timestamps.
pub(crate) const BLOCKS_MAX: usize = 4;
/// Ranges beyond a gap that are held at most: far more than an honest sender makes.
const RANGES_MAX: usize = 1 << 14;

/// Ranges beyond gaps, in order. Offsets count from the peer's initial sequence number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    ranges: VecDeque<Range>,
    /// Starts of the ranges that were reported last, most recent first.
    recent: [u64; BLOCKS_MAX],
    /// A segment that arrived twice, to be reported once.
    repeat: Option<Range>,
}

impl Gaps {
    /// Whether nothing is held.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether nothing is held, nor to be reported.
    pub fn is_quiet(&self) -> bool {
        self.ranges.is_empty() && self.repeat.is_none()
    }

    /// A segment has arrived twice.
    pub fn note_repeat(&mut self, range: Range) {
        self.repeat = Some(range);
    }

    /// Forgets what is held.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Gives up the ranges that are in order when all up to `next` is; returns up to where that is then.
    pub fn join(&mut self, mut next: u64) -> u64 {
        while let Some(first) = self.ranges.front().filter(|first| first.start <= next) {
            next = next.max(first.end);
            self.ranges.pop_front();
        }
        next
    }

    /// Holds a range beyond a gap.
    pub fn hold(&mut self, new: Range) {
        if new.start >= new.end {
            return;
        }
        // The first range that ends at or after the new one's start: the one to merge with.
        let at = self.ranges.partition_point(|range| range.end < new.start);
        if let Some(range) = self.ranges.get(at)
            && range.start <= new.start
            && new.end <= range.end
        {
            self.repeat = Some(new);
            self.report(self.ranges[at].start);
            return;
        }
        let mut merged = new;
        let mut last = at;
        while let Some(range) = self.ranges.get(last).filter(|range| range.start <= merged.end) {
            merged = Range { start: merged.start.min(range.start), end: merged.end.max(range.end) };
            last += 1;
        }
        if last > at {
            self.ranges[at] = merged;
            self.ranges.drain(at + 1..last);
        } else if self.ranges.len() < RANGES_MAX {
            self.ranges.insert(at, merged);
        }
        self.report(merged.start);
    }

    /// Puts the range that begins at `start` first among those reported.
    fn report(&mut self, start: u64) {
        let old = self.recent.iter().position(|&other| other == start).unwrap_or(BLOCKS_MAX - 1);
        self.recent.copy_within(0..old, 1);
        self.recent[0] = start;
    }

    /// Fills `blocks` and returns how many.
    pub fn blocks(&mut self, blocks: &mut [Range]) -> usize {
        let mut count = 0;
        if let Some(repeat) = self.repeat.take() {
            blocks[0] = repeat;
            count = 1;
        }
        for start in self.recent {
            let at = self.ranges.partition_point(|range| range.start < start);
            match self.ranges.get(at) {
                Some(&range) if range.start == start && count < blocks.len() => {
                    blocks[count] = range;
                    count += 1;
                }
                _ => {}
            }
        }
        count
    }
}
