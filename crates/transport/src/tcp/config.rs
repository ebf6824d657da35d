//! The settings of one end of a connection.
//!
//! Plain data: the caller derives them from its scenario or its host.

use crate::cc::{Congestion, Settings};
use units::Time;

/// When ECN is used (RFC 3168 6.1.1), as Linux's `tcp_ecn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// 0: never.
    Off,
    /// 1: asks for it and agrees to it.
    On,
    /// 2: agrees when asked.
    Passive,
}

/// The settings of one end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Congestion control.
    pub congestion: Congestion,
    /// ECN negotiation; DCTCP always asks and agrees.
    pub ecn: EcnMode,
    /// A SYN that was lost is sent again without asking for ECN (RFC 3168 6.1.1.1), as Linux's
    /// `tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// RACK loss detection (RFC 8985); has effect with SACK only.
    pub rack: bool,
    /// Tail loss probe (RFC 8985); has effect with SACK only.
    pub tail_loss_probe: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgements that mean loss (RFC 5681, RFC 6675); `u32::MAX` for never. RACK has its own rule.
    pub dup_thresh: u32,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Largest payload of a segment in bytes, the timestamps' 12 bytes already taken off, for the
    /// smallest MTU of the path: there is no negotiation. At most 65535.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Retransmission timeout before there is a round-trip sample.
    pub rto_initial: Time,
    /// Least retransmission timeout.
    pub rto_min: Time,
    /// Greatest retransmission timeout.
    pub rto_max: Time,
    /// Granularity G of the clock that retransmissions are timed with (RFC 6298): timers expire at its ticks. Zero
    /// for one that is fine.
    pub tick: Time,
    /// When its first tick is, less than `tick`.
    pub tick_phase: Time,
    /// An acknowledgement at least every so many full segments; 1 is no delay.
    pub ack_every: u32,
    /// A delayed acknowledgement waits at most so long.
    pub delayed_ack: Time,
    /// Receive buffer at the start, in bytes.
    pub receive_buffer: u64,
    /// Receive buffer that autotuning may reach, in bytes.
    pub receive_buffer_max: u64,
    /// Send buffer in bytes.
    pub send_buffer: u64,
    /// DCTCP's estimation gain g as a shift: 4 is 1/16.
    pub dctcp_shift: u32,
    /// H-TCP's increase is scaled by the round-trip time.
    pub htcp_rtt_scaling: bool,
}

impl Config {
    /// What congestion control is told of it, for segments of `mss`.
    pub(crate) fn control(&self, mss: u32) -> Settings {
        Settings {
            congestion: self.congestion,
            mss,
            initial_window: self.initial_window,
            hystart: self.hystart,
            dctcp_shift: self.dctcp_shift,
            htcp_rtt_scaling: self.htcp_rtt_scaling,
        }
    }
}

impl Default for Config {
    /// RFC and Linux defaults for a 1500-byte MTU without timestamps.
    fn default() -> Config {
        Config {
            congestion: Congestion::Cubic,
            ecn: EcnMode::Passive,
            ecn_fallback: true,
            sack: true,
            rack: true,
            tail_loss_probe: true,
            limited_transmit: true,
            dup_thresh: 3,
            timestamps: false,
            mss: 1460,
            initial_window: 10,
            hystart: false,
            rto_initial: Time::from_secs(1),
            rto_min: Time::from_ms(200),
            rto_max: Time::from_secs(120),
            tick: Time::ZERO,
            tick_phase: Time::ZERO,
            ack_every: 2,
            delayed_ack: Time::from_ms(40),
            receive_buffer: 128 << 10,
            receive_buffer_max: 6 << 20,
            send_buffer: 4 << 20,
            dctcp_shift: 4,
            htcp_rtt_scaling: true,
        }
    }
}
