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
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Counters {
    pub sent_segments: u64,
    pub retransmits: u64,
    pub sent_bytes: u64,
    pub timeouts: u32,
    pub fast_recoveries: u32,
    pub tail_loss_probes: u32,
    pub ece_acks: u64,
    pub ce_received: u64,
    pub retransmitted_bytes: u64,
}
