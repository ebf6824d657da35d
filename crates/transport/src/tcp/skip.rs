//! What lets a driver pass over a stretch of time in which a connection does the same again and again: its
//! times move on, what it sent meanwhile is counted, and its application has so much less left to send.
//!
//! The sequence numbers of what is in flight stay as they are. So bytes that are passed over leave the stream
//! at its unsent end.

use super::*;

impl Connection {
    /// Moves all that it does by `by`; timestamps by whole microseconds, which is what their clock counts.
    pub fn shift(&mut self, by: Time) {
        for time in [&mut self.retransmit_at, &mut self.probe_at, &mut self.last_sent] {
            *time = time.saturating_add(by);
        }
        self.ts_recent = self.ts_recent.wrapping_add(by.as_us() as u32);
        self.board.shift(by);
        self.rcv.shift(by);
        self.control.shift(by);
        if let Some(rack) = &mut self.rack {
            rack.shift(by);
        }
    }

    /// Bytes written that have never been sent.
    pub fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.board.nxt)
    }

    /// Takes `bytes` off the end of what is [unsent](Connection::unsent): they count as delivered elsewhere.
    /// [`Event::Writable`] follows at once if the application waits, however little room there is.
    ///
    /// # Panics
    /// When fewer are unsent.
    pub fn forgo(&mut self, bytes: u64) {
        assert!(bytes <= self.unsent(), "only what was never sent can be passed over");
        self.written -= bytes;
        self.update_limit();
        if std::mem::take(&mut self.write_blocked) {
            self.events.push(Event::Writable);
        }
    }

    /// Whether its congestion control is one of rates, which measures from time to time what it could have.
    pub fn is_paced(&self) -> bool {
        self.urgent & urgent::PACED != 0
    }

    /// Whether nothing of it is under way, and nothing is timed.
    pub fn is_quiet(&self) -> bool {
        self.board.is_empty() && self.poll_timer() == Time::MAX
    }

    /// Whether it will do something by itself unless the peer answers.
    pub fn awaits_answer(&self) -> bool {
        self.retransmit_at.min(self.probe_at) != Time::MAX
    }

    /// Whether what comes in order counts as read at once.
    pub fn is_drained(&self) -> bool {
        self.rcv.drained
    }

    /// The congestion window in bytes.
    pub fn window(&self) -> u64 {
        self.control.window.cwnd
    }

    /// What it has counted.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts what it would have done in a stretch of time that is passed over.
    pub fn count(&mut self, more: &Counters) {
        self.counters.add(more);
    }
}

impl Header {
    /// Moves the times that it carries, by whole microseconds.
    pub fn shift(&mut self, by: Time) {
        if self.flags.contains(Flags::TIMESTAMPS) {
            self.ts_val = self.ts_val.wrapping_add(by.as_us() as u32);
            self.ts_ecr = self.ts_ecr.wrapping_add(by.as_us() as u32);
        }
    }
}
