//! What is in flight: a ring of segments with what became of each, and RFC 6675's pipe.
//!
//! It knows nothing of windows or timers. In order and without loss it only pushes and pops.
//! Source: RFC 6675 (IsLost, SetPipe, NextSeg), RFC 2018.

use std::collections::VecDeque;
use units::Time;

/// The receiver holds the segment.
pub(crate) const SACKED: u8 = 1;
/// The last transmission of the segment is thought lost, or was until it was sent again.
pub(crate) const LOST: u8 = 2;
/// A retransmission of the segment is in flight.
pub(crate) const RESENT: u8 = 4;
/// The segment was sent more than once (Karn).
pub(crate) const RESENT_EVER: u8 = 8;
/// The segment ends with the FIN, which takes one sequence number.
pub(crate) const FIN: u8 = 16;

/// A segment in flight. Offsets count from the initial sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub start: u64,
    /// Of its last transmission.
    pub sent: Time,
    /// In sequence numbers.
    pub len: u32,
    pub flags: u8,
}

impl Segment {
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
    #[inline]
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// What the segment adds to the pipe.
    fn in_pipe(&self) -> u64 {
        let copies = match self.flags & (SACKED | LOST | RESENT) {
            0 => 1,
            LOST => 0,
            RESENT => 2,
            flags if flags & SACKED != 0 => 0,
            _ => 1,
        };
        copies * u64::from(self.len)
    }
}

/// A segment that has just been acknowledged or SACKED.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub sent: Time,
    pub end: u64,
    pub resent: bool,
}

impl Delivered {
    #[inline]
    pub fn of(segment: &Segment) -> Delivered {
        Delivered { sent: segment.sent, end: segment.end(), resent: segment.is(RESENT_EVER) }
    }
}

/// A range of offsets that the peer reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

/// What a cumulative acknowledgement took off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Bytes that were not known to be delivered before.
    pub delivered: u64,
    /// When the newest segment of them was sent.
    pub newest_sent: Time,
    /// Flags of that segment.
    pub newest_flags: u8,
    /// Flags of all of them.
    pub any_flags: u8,
}

/// All segments from `una` to `nxt`.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// First offset that is not acknowledged.
    pub una: u64,
    /// First offset that was never sent.
    pub nxt: u64,
    /// Bytes thought to be in the network.
    pub pipe: u64,
    segments: VecDeque<Segment>,
    /// Bytes of SACKED segments.
    pub sacked: u64,
    pub sacked_segments: u32,
    /// Bytes that are LOST and not yet sent again.
    pub to_resend: u64,
    /// End of the highest SACKED segment ever.
    pub highest_sacked: u64,
    /// Below here nothing waits to be sent again.
    resend_from: u64,
    /// Below here every segment has been judged by the loss rule (or was sent again).
    pub judged: u64,
    /// Blocks of the last acknowledgement that had any, so that repeated ones cost nothing.
    known: Option<Box<[Range; 4]>>,
}

impl Scoreboard {
    /// Moves the times of all segments.
    pub fn shift(&mut self, by: Time) {
        self.segments.iter_mut().for_each(|segment| segment.sent += by);
    }

    /// Nothing in flight; `start` is the offset of the first byte to be sent.
    pub fn new(start: u64) -> Scoreboard {
        Scoreboard {
            una: start,
            nxt: start,
            pipe: 0,
            segments: VecDeque::new(),
            sacked: 0,
            sacked_segments: 0,
            to_resend: 0,
            highest_sacked: start,
            resend_from: start,
            judged: start,
            known: None,
        }
    }

    /// Bytes sent and not acknowledged (RFC 5681's FlightSize).
    #[inline]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }
    /// Segments sent and not acknowledged.
    #[inline]
    pub fn len(&self) -> usize {
        self.segments.len()
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }
    /// Whether everything in flight was sent once and nothing of it is SACKED or lost.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked | (self.pipe ^ self.flight()) == 0
    }
    pub fn first(&self) -> Option<&Segment> {
        self.segments.front()
    }
    pub fn get(&self, index: usize) -> Option<&Segment> {
        self.segments.get(index)
    }

    /// New data of `len` sequence numbers goes out.
    #[inline]
    pub fn push(&mut self, now: Time, len: u32, flags: u8) {
        if self.segments.len() == self.segments.capacity() {
            self.make_room();
        }
        self.segments.push_back(Segment { start: self.nxt, sent: now, len, flags });
        self.nxt += u64::from(len);
        self.pipe += u64::from(len);
    }

    /// Begins with room for an initial window, and doubles it.
    #[cold]
    fn make_room(&mut self) {
        self.segments.reserve_exact(self.segments.len().max(16));
    }

    /// Takes off all up to `ack`, which lies within `una..=nxt`. `seen` is called for each segment
    /// that was not SACKED.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, mut seen: impl FnMut(Delivered)) -> Acked {
        let mut acked = Acked::default();
        while let Some(&segment) = self.segments.front() {
            if segment.end() > ack {
                if segment.start < ack {
                    self.trim_front(ack, &mut acked);
                }
                break;
            }
            self.segments.pop_front();
            if segment.flags & (SACKED | LOST | RESENT) == 0 {
                self.pipe -= u64::from(segment.len);
            } else {
                self.forget(&segment);
            }
            if !segment.is(SACKED) {
                acked.delivered += u64::from(segment.len);
                seen(Delivered::of(&segment));
                acked.newest_sent = segment.sent;
                acked.newest_flags = segment.flags;
            }
            acked.any_flags |= segment.flags;
        }
        self.una = ack;
        acked
    }

    /// The same while the board [is clean](Self::is_clean) and `ack` is above `una`: nothing to sort out.
    /// Returns when the newest segment was sent, and its flags.
    #[inline(always)]
    pub fn acknowledge_clean(&mut self, ack: u64) -> (Time, u8) {
        let mut newest = (Time::ZERO, 0);
        while let Some(segment) = self.segments.front_mut() {
            let end = segment.end();
            newest = (segment.sent, segment.flags);
            if end > ack {
                // Only a part of it, if any.
                if segment.start < ack {
                    segment.len = (end - ack) as u32;
                    segment.start = ack;
                }
                break;
            }
            self.segments.pop_front();
            if end == ack {
                break;
            }
        }
        self.una = ack;
        self.pipe = self.nxt - ack;
        newest
    }

    /// Takes a segment that leaves the ring out of the sums.
    #[cold]
    fn forget(&mut self, segment: &Segment) {
        self.pipe -= segment.in_pipe();
        if segment.is(SACKED) {
            self.sacked -= u64::from(segment.len);
            self.sacked_segments -= 1;
        } else if segment.flags & (LOST | RESENT) == LOST {
            self.to_resend -= u64::from(segment.len);
        }
    }

    /// The acknowledgement ends within the first segment.
    #[cold]
    fn trim_front(&mut self, ack: u64, acked: &mut Acked) {
        let Some(mut segment) = self.segments.pop_front() else { return };
        self.forget(&segment);
        let cut = ack - segment.start;
        if !segment.is(SACKED) {
            acked.delivered += cut;
        }
        segment.start = ack;
        segment.len -= cut as u32;
        self.remember(&segment);
        self.segments.push_front(segment);
    }

    /// Adds a segment to the sums.
    fn remember(&mut self, segment: &Segment) {
        self.pipe += segment.in_pipe();
        if segment.is(SACKED) {
            self.sacked += u64::from(segment.len);
            self.sacked_segments += 1;
        } else if segment.flags & (LOST | RESENT) == LOST {
            self.to_resend += u64::from(segment.len);
        }
    }

    /// Sets and clears flags of a segment and keeps the sums right.
    pub fn change(&mut self, index: usize, set: u8, clear: u8) {
        let before = self.segments[index];
        self.forget(&before);
        let segment = &mut self.segments[index];
        segment.flags = (segment.flags | set) & !clear;
        let after = *segment;
        self.remember(&after);
        if after.flags & (SACKED | LOST | RESENT) == LOST {
            self.resend_from = self.resend_from.min(after.start);
        }
    }

    /// Index of the segment that holds `offset`, or of the first one after it.
    pub fn index_of(&self, offset: u64) -> usize {
        // Mostly segments are as long as the first.
        if let Some(first) = self.segments.front() {
            let guess = (offset.saturating_sub(first.start) / u64::from(first.len.max(1))) as usize;
            let holds = |segment: &Segment| segment.start <= offset && offset < segment.end();
            if self.segments.get(guess).is_some_and(holds) {
                return guess;
            }
        }
        self.segments.partition_point(|segment| segment.end() <= offset)
    }

    /// Marks what lies within the blocks (already sorted out: each within `una..=nxt`). `seen` is
    /// called for each segment newly SACKED. Returns the bytes newly delivered.
    pub fn sack(&mut self, blocks: &[Range], mut seen: impl FnMut(Delivered)) -> u64 {
        if blocks.is_empty() {
            return 0;
        }
        let mut delivered = 0;
        let known = self.known.as_deref().copied().unwrap_or_default();
        for &block in blocks {
            let old = known
                .iter()
                .copied()
                .find(|k| block.start <= k.start && k.end <= block.end && k.start < k.end);
            match old {
                Some(old) => {
                    delivered += self.sack_part(block, block.start, old.start, &mut seen);
                    delivered += self.sack_part(block, old.end, block.end, &mut seen);
                }
                None => delivered += self.sack_part(block, block.start, block.end, &mut seen),
            }
        }
        for (slot, &block) in self.known.get_or_insert_default().iter_mut().zip(blocks) {
            *slot = block;
        }
        delivered
    }

    /// Marks the segments within `block` that touch `from..to`.
    fn sack_part(&mut self, block: Range, from: u64, to: u64, seen: &mut impl FnMut(Delivered)) -> u64 {
        if from >= to {
            return 0;
        }
        let mut delivered = 0;
        for index in self.index_of(from)..self.segments.len() {
            let segment = self.segments[index];
            if segment.start >= to || segment.end() > block.end {
                break;
            }
            if segment.start < block.start || segment.is(SACKED) {
                continue;
            }
            self.change(index, SACKED, 0);
            delivered += u64::from(segment.len);
            self.highest_sacked = self.highest_sacked.max(segment.end());
            seen(Delivered::of(&segment));
        }
        delivered
    }

    /// The offset below which every segment that is not SACKED is lost by RFC 6675's IsLost: at least
    /// `dup_thresh` discontiguous ranges, or more than the bytes of one full segment less, are SACKED above.
    pub fn lost_below(&self, mss: u32, dup_thresh: u32) -> u64 {
        let bytes_thresh = u64::from(dup_thresh - 1) * u64::from(mss);
        let (mut bytes, mut ranges, mut next) = (0u64, 0, u64::MAX);
        let top = self.index_of(self.highest_sacked.saturating_sub(1));
        for index in (0..self.segments.len().min(top + 1)).rev() {
            let segment = self.segments[index];
            if !segment.is(SACKED) {
                continue;
            }
            bytes += u64::from(segment.len);
            ranges += u32::from(segment.end() != next);
            next = segment.start;
            if ranges >= dup_thresh || bytes > bytes_thresh {
                return segment.start;
            }
        }
        self.una
    }

    /// Marks as lost every segment below `end` that is not SACKED nor sent again. Returns whether there was
    /// one.
    pub fn mark_lost_below(&mut self, end: u64) -> bool {
        let mut found = false;
        let from = self.judged.max(self.una);
        for index in self.index_of(from)..self.segments.len() {
            let segment = self.segments[index];
            if segment.start >= end {
                break;
            }
            if segment.flags & (SACKED | LOST | RESENT) == 0 {
                self.change(index, LOST, 0);
                found = true;
            }
        }
        self.judged = self.judged.max(end);
        found
    }

    /// A timeout: everything that is not SACKED is lost, its retransmissions too. When the first
    /// segment is SACKED, the receiver has reneged (RFC 2018 8) and nothing counts as SACKED.
    pub fn mark_all_lost(&mut self) {
        let reneged = self.segments.front().is_some_and(|segment| segment.is(SACKED));
        for index in 0..self.segments.len() {
            if reneged {
                self.change(index, LOST, SACKED | RESENT);
            } else if !self.segments[index].is(SACKED) {
                self.change(index, LOST, RESENT);
            }
        }
        if reneged {
            self.known = None;
            self.highest_sacked = self.una;
        }
        self.judged = self.nxt;
    }

    /// The first lost segment that was not sent again (NextSeg rule 1), as an index.
    pub fn next_lost(&self) -> Option<usize> {
        if self.to_resend == 0 {
            return None;
        }
        for index in self.index_of(self.resend_from.max(self.una))..self.segments.len() {
            let segment = &self.segments[index];
            if segment.flags & (SACKED | LOST | RESENT) == LOST {
                return Some(index);
            }
        }
        None
    }

    /// A segment goes out again, lost or not.
    pub fn resend(&mut self, now: Time, index: usize) -> Segment {
        let lost = self.segments[index].is(LOST);
        self.change(index, RESENT | RESENT_EVER, 0);
        self.segments[index].sent = now;
        if lost {
            // Lost segments are sent again in their order.
            self.resend_from = self.segments[index].end();
        }
        self.segments[index]
    }

    /// The last segment that is not SACKED, as an index.
    pub fn last_unsacked(&self) -> Option<usize> {
        (0..self.segments.len()).rev().find(|&index| !self.segments[index].is(SACKED))
    }

    /// The first segment at or above `from` and below the highest SACKED one that is neither SACKED nor
    /// sent again (NextSeg rule 3), as an index.
    pub fn next_unsacked(&self, from: u64) -> Option<usize> {
        (self.index_of(from)..self.segments.len())
            .take_while(|&index| self.segments[index].end() <= self.highest_sacked)
            .find(|&index| self.segments[index].flags & (SACKED | RESENT) == 0)
    }
}

#[cfg(test)]
mod tests;
