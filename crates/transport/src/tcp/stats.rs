//! What a connection has counted, for tables and tests.

use units::Time;

/// Counters of one end of a connection since its start, and its present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments with data sent, retransmissions included.
    pub sent_segments: u64,
    /// Bytes of their IP packets.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Their data in bytes.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// Tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Acknowledgements received with ECE.
    pub ece_acks: u64,
    /// Segments received with CE.
    pub ce_received: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Time,
    /// Least round-trip time; zero before the first sample.
    pub min_rtt: Time,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes thought to be in the network (RFC 6675's pipe).
    pub in_flight: u64,
}

/// The counters among [`Stats`]. Those that each segment adds to lie apart: side by side they would be added
/// to as a vector, which takes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    pub(crate) sent_segments: u64,
    pub(crate) retransmits: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) timeouts: u32,
    pub(crate) fast_recoveries: u32,
    pub(crate) tail_loss_probes: u32,
    pub(crate) ece_acks: u64,
    pub(crate) ce_received: u64,
    pub(crate) retransmitted_bytes: u64,
}

impl Counters {
    pub(crate) fn add(&mut self, more: &Counters) {
        self.sent_segments += more.sent_segments;
        self.retransmits += more.retransmits;
        self.sent_bytes += more.sent_bytes;
        self.timeouts += more.timeouts;
        self.fast_recoveries += more.fast_recoveries;
        self.tail_loss_probes += more.tail_loss_probes;
        self.ece_acks += more.ece_acks;
        self.ce_received += more.ce_received;
        self.retransmitted_bytes += more.retransmitted_bytes;
    }

    /// `each` of what grew since `before`.
    pub fn since(&self, before: &Counters, each: impl Fn(u64) -> u64) -> Counters {
        let short = |now: u32, before: u32| each(u64::from(now - before)) as u32;
        Counters {
            sent_segments: each(self.sent_segments - before.sent_segments),
            retransmits: each(self.retransmits - before.retransmits),
            sent_bytes: each(self.sent_bytes - before.sent_bytes),
            timeouts: short(self.timeouts, before.timeouts),
            fast_recoveries: short(self.fast_recoveries, before.fast_recoveries),
            tail_loss_probes: short(self.tail_loss_probes, before.tail_loss_probes),
            ece_acks: each(self.ece_acks - before.ece_acks),
            ce_received: each(self.ce_received - before.ce_received),
            retransmitted_bytes: each(self.retransmitted_bytes - before.retransmitted_bytes),
        }
    }
}
