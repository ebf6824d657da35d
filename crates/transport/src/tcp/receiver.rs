//! The receiving half: reassembly, what to acknowledge and when, SACK blocks.
//!
//! It counts bytes only; the contents of the stream live with the driver.
//! Source: RFC 9293 3.10.7.4, RFC 5681 4.2 (delayed ACK), RFC 2018 4 and RFC 2883 (SACK, DSACK).

use crate::tcp::scoreboard::Range;
use crate::tcp::window::RightSizing;
use std::collections::VecDeque;
use units::Time;

/// Ranges beyond a gap that are held at most: far more than an honest sender makes.
const RANGES_MAX: usize = 1 << 14;
/// SACK blocks that fit without timestamps.
pub(crate) const BLOCKS_MAX: usize = 4;

/// The receiver's state. Offsets count from the peer's initial sequence number.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Next offset expected.
    pub next: u64,
    /// When payload last moved it on.
    pub advanced_at: Time,
    /// `next` in the last acknowledgement sent.
    pub acked: u64,
    /// Right edge of the window last advertised.
    pub edge: u64,
    /// First offset that the application has not read.
    pub read: u64,
    /// Offset of the peer's FIN; `u64::MAX` when unknown.
    pub fin: u64,
    /// The FIN has arrived in order.
    pub ended: bool,
    /// In-order data counts as read at once.
    pub drained: bool,
    /// An acknowledgement must go out now.
    pub ack_now: bool,
    /// When a delayed acknowledgement must go out.
    pub ack_deadline: Time,
    /// More unacknowledged bytes than this are acknowledged at once.
    ack_beyond: u64,
    /// The advertised edge moves on by at least so much.
    edge_step: u64,
    pub sizing: RightSizing,
    ranges: VecDeque<Range>,
    /// Starts of the ranges that were reported last, most recent first.
    recent: [u64; BLOCKS_MAX],
    /// A segment that arrived twice, to be reported once.
    duplicate: Option<Range>,
}

impl Receiver {
    /// Acknowledges at once beyond `ack_every - 1` segments of `mss` bytes.
    pub fn new(ack_every: u32, mss: u32, sizing: RightSizing) -> Receiver {
        let mss = u64::from(mss);
        Receiver {
            next: 0,
            advanced_at: Time::ZERO,
            acked: 0,
            edge: sizing.buffer() + 1,
            read: 1,
            fin: u64::MAX,
            ended: false,
            drained: false,
            ack_now: false,
            ack_deadline: Time::MAX,
            ack_beyond: u64::from(ack_every.max(1) - 1) * mss,
            edge_step: mss.min(sizing.buffer() / 2),
            sizing,
            ranges: VecDeque::new(),
            recent: [0; BLOCKS_MAX],
            duplicate: None,
        }
    }

    /// Bytes that wait to be read.
    #[inline]
    pub fn readable(&self) -> u64 {
        (self.next - u64::from(self.ended)).saturating_sub(self.read)
    }

    /// Whether the next `len` bytes may be taken in order: nothing is out of order and they fit.
    #[inline]
    pub fn takes_next(&self, len: u64) -> bool {
        self.next + len <= self.edge && self.ranges.is_empty() && self.fin == u64::MAX
    }

    /// Takes the next segment in order.
    #[inline]
    pub fn advance(&mut self, now: Time, len: u64, delay: Time) {
        self.next += len;
        self.advanced_at = now;
        if self.drained {
            self.read = self.next;
        }
        if self.next - self.acked > self.ack_beyond {
            self.ack_now = true;
        } else if self.ack_deadline == Time::MAX {
            self.ack_deadline = now.saturating_add(delay);
        }
    }

    /// Whether the segment touches the window (RFC 9293 3.10.7.4, the table of four cases).
    pub fn acceptable(&self, start: u64, len: u64) -> bool {
        let window = self.edge.saturating_sub(self.next);
        match (len, window) {
            (0, 0) => start == self.next,
            (0, _) => self.next <= start && start < self.edge,
            (_, 0) => false,
            _ => start < self.edge && start + len > self.next,
        }
    }

    /// Takes a segment that is not simply the next one: a repeat, beyond a gap, filling a gap, or with
    /// the FIN. It is acknowledged at once (RFC 5681 4.2).
    #[cold]
    pub fn reassemble(&mut self, now: Time, start: u64, len: u64, fin: bool) {
        self.ack_now = true;
        if fin && self.fin == u64::MAX {
            self.fin = start + len;
        }
        let end = (start + len).min(self.edge).min(self.fin);
        if end <= self.next && len > 0 {
            self.duplicate = Some(Range { start, end: start + len });
        } else if start > self.next {
            // A FIN beyond a gap is held, and reported, with its sequence number.
            self.hold(Range { start, end: end + u64::from(fin && end == self.fin) });
        } else {
            if end > self.next {
                (self.next, self.advanced_at) = (end, now);
            }
            self.join();
        }
        if self.next >= self.fin && !self.ended {
            self.ended = true;
            self.next = self.fin + 1;
            self.ranges.clear();
        }
        if self.drained {
            self.read = self.next - u64::from(self.ended);
        }
    }

    /// A segment outside of the window is answered at once, and a repeat reported.
    #[cold]
    pub fn refuse(&mut self, start: Option<u64>, len: u64) {
        self.ack_now = true;
        if let Some(start) = start
            && len > 0
            && start + len <= self.next
        {
            self.duplicate = Some(Range { start, end: start + len });
        }
    }

    /// Takes over the ranges that are in order now.
    fn join(&mut self) {
        while let Some(first) = self.ranges.front() {
            if first.start > self.next {
                break;
            }
            self.next = self.next.max(first.end);
            self.ranges.pop_front();
        }
    }

    /// Holds a range beyond a gap.
    fn hold(&mut self, new: Range) {
        if new.start >= new.end {
            return;
        }
        // The first range that ends at or after the new one's start: the one to merge with.
        let at = self.ranges.partition_point(|range| range.end < new.start);
        if let Some(range) = self.ranges.get(at)
            && range.start <= new.start
            && new.end <= range.end
        {
            self.duplicate = Some(new);
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

    /// Whether there is anything to report in SACK blocks.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        !self.ranges.is_empty() || self.duplicate.is_some()
    }

    /// Fills `blocks` (RFC 2018 4: most recent first; RFC 2883: a repeat before all) and returns how many.
    #[cold]
    pub fn blocks(&mut self, blocks: &mut [Range]) -> usize {
        let mut count = 0;
        if let Some(duplicate) = self.duplicate.take() {
            blocks[0] = duplicate;
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

    /// The window to advertise: its right edge never moves back, and moves on only by a worthwhile
    /// step (RFC 9293 3.8.6.2.2).
    #[inline]
    pub fn advertise(&mut self) -> u32 {
        let edge = self.read + self.sizing.buffer();
        if edge >= self.edge + self.edge_step {
            self.edge = edge;
        }
        self.edge.saturating_sub(self.next) as u32
    }

    /// An acknowledgement of all that has arrived goes out.
    #[inline]
    pub fn acknowledge(&mut self) {
        self.acked = self.next;
        self.ack_now = false;
        self.ack_deadline = Time::MAX;
    }

    /// After a read: whether the window grew so much that the peer should hear of it (as Linux: at
    /// least doubled).
    pub fn window_opened(&self) -> bool {
        let offered = self.edge.saturating_sub(self.next);
        let free = (self.read + self.sizing.buffer()).saturating_sub(self.next);
        free >= 2 * offered && free >= offered + self.edge_step && !self.ended
    }
}
