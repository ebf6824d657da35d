//! The receiving half: reassembly, what to acknowledge and when, SACK blocks.
//!
//! It counts bytes only; the contents of the stream live with the driver.
//! Source: RFC 9293 3.10.7.4, RFC 5681 4.2 (delayed ACK), RFC 2018 4 and RFC 2883 (SACK, DSACK).

use crate::tcp::gaps::Gaps;
use crate::tcp::scoreboard::Range;
use crate::tcp::window::RightSizing;
use units::Time;

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
    /// So many acknowledgements are not delayed.
    quick: u16,
    /// What that is set to again.
    quick_most: u16,
    /// More unacknowledged bytes than this are acknowledged at once.
    ack_beyond: u64,
    /// The advertised edge moves on by at least so much.
    edge_step: u64,
    pub sizing: RightSizing,
    /// What has arrived beyond gaps or twice, while there is any.
    gaps: Option<Box<Gaps>>,
}

impl Receiver {
    /// Acknowledges at once beyond `ack_every - 1` segments of `mss` bytes, and so many times in any case.
    pub fn new(ack_every: u32, quick_acks: u16, mss: u32, sizing: RightSizing) -> Receiver {
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
            quick: quick_acks,
            quick_most: quick_acks,
            ack_beyond: u64::from(ack_every.max(1) - 1) * mss,
            edge_step: mss.min(sizing.buffer() / 2),
            sizing,
            gaps: None,
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
        self.next + len <= self.edge
            && self.gaps.as_ref().is_none_or(|gaps| gaps.is_whole())
            && self.fin == u64::MAX
    }

    /// Takes the next segment in order.
    #[inline]
    pub fn advance(&mut self, now: Time, len: u64, delay: Time) {
        self.next += len;
        self.advanced_at = now;
        if self.drained {
            self.read = self.next;
        }
        if self.next - self.acked > self.ack_beyond || self.quick > 0 {
            self.ack_now = true;
        } else if self.ack_deadline == Time::MAX {
            self.ack_deadline = now.saturating_add(delay);
        }
    }

    /// Whether the segment touches the window (RFC 9293 3.10.7.4, the table of four cases). Without data it
    /// may also lie at the window's right edge, as Linux has it (`tcp_sequence`): there are the
    /// acknowledgements of a peer whose last full window was lost. Two such ends would answer each other's
    /// for ever.
    pub fn acceptable(&self, start: u64, len: u64) -> bool {
        match len {
            0 => self.next <= start && start <= self.edge,
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
            self.quick = self.quick_most;
            self.gaps().note_repeat(Range { start, end: start + len });
        } else if start > self.next {
            // A FIN beyond a gap is held, and reported, with its sequence number.
            let end = end + u64::from(fin && end == self.fin);
            self.gaps().hold(Range { start, end });
        } else {
            if end > self.next {
                (self.next, self.advanced_at) = (end, now);
            }
            if let Some(gaps) = &mut self.gaps {
                self.next = gaps.join(self.next);
            }
        }
        if self.next >= self.fin && !self.ended {
            self.ended = true;
            self.next = self.fin + 1;
            if let Some(gaps) = &mut self.gaps {
                gaps.clear();
            }
        }
        self.forget_gaps();
        if self.drained {
            self.read = self.next - u64::from(self.ended);
        }
    }

    /// A segment outside of the window is answered at once, and a repeat reported.
    #[cold]
    pub fn refuse(&mut self, start: Option<u64>, len: u64) {
        self.ack_now = true;
        self.quick = self.quick_most;
        if let Some(start) = start
            && len > 0
            && start + len <= self.next
        {
            self.gaps().note_repeat(Range { start, end: start + len });
        }
    }

    fn gaps(&mut self) -> &mut Gaps {
        self.gaps.get_or_insert_default()
    }

    /// Whether there is anything to report in SACK blocks.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        self.gaps.is_some()
    }

    /// Fills `blocks` (RFC 2018 4: most recent first; RFC 2883: a repeat before all) and returns how many.
    #[cold]
    pub fn blocks(&mut self, blocks: &mut [Range]) -> usize {
        let Some(gaps) = &mut self.gaps else { return 0 };
        let count = gaps.blocks(blocks);
        self.forget_gaps();
        count
    }

    /// Gives up the memory for what is beyond gaps when there is nothing.
    fn forget_gaps(&mut self) {
        self.gaps.take_if(|gaps| gaps.is_quiet());
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
        if self.quick > 0 {
            self.quick -= 1;
        }
    }

    /// Data goes out: soon after some has come it is an answer, and will have acknowledged it.
    #[inline(always)]
    pub fn answer(&mut self, now: Time, delay: Time) {
        if self.quick > 0 {
            self.answer_quickly(now, delay);
        }
    }

    #[cold]
    fn answer_quickly(&mut self, now: Time, delay: Time) {
        if self.next > 1 && now < self.advanced_at.saturating_add(delay) {
            self.quick = 0;
        }
    }

    /// Moves its times, but not that of the last byte, which may be that of the stream.
    pub fn shift(&mut self, by: Time) {
        self.ack_deadline = self.ack_deadline.saturating_add(by);
        self.sizing.round_end = self.sizing.round_end.saturating_add(by);
    }

    /// Whether acknowledgements are not delayed at present.
    pub fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// The peer was silent for longer than a timeout.
    #[cold]
    pub fn hurry(&mut self) {
        self.quick = self.quick_most;
    }

    /// After a read: whether the window grew so much that the peer should hear of it (as Linux: at
    /// least doubled).
    pub fn window_opened(&self) -> bool {
        let offered = self.edge.saturating_sub(self.next);
        let free = (self.read + self.sizing.buffer()).saturating_sub(self.next);
        free >= 2 * offered && free >= offered + self.edge_step && !self.ended
    }
}
