//! A host's settings: NIC, cores, disk and its TCP.

use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

/// Settings for the hosts whose name matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// A name; `*` stands for any text.
    pub pattern: String,
    /// The settings.
    pub config: Host,
}

/// A host's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Largest IP packet that it sends.
    pub mtu: Bytes,
    /// Bytes that the stack leaves in the NIC's queue before flows wait their turn (Linux: BQL and TSQ).
    pub nic_queue: Bytes,
    /// Cores.
    pub cores: u32,
    /// Disk rate, reads and writes together.
    pub disk: Rate,
    /// What a packet that comes takes of a core before its transport or process has it.
    #[serde(default)]
    pub packet_cost: Time,
    /// While all cores compute, packets that come wait for the end of a time slice of this length; 0: they go ahead.
    #[serde(default)]
    pub time_slice: Time,
    /// TCP's settings.
    pub tcp: Tcp,
}

/// TCP settings of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Congestion control.
    pub congestion: Congestion,
    /// As Linux's `tcp_ecn`.
    pub ecn: Ecn,
    /// A SYN that was lost is sent again without asking for ECN, as Linux's `tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// Selective acknowledgements.
    pub sack: bool,
    /// RACK loss detection (RFC 8985); needs SACK.
    pub rack: bool,
    /// Tail loss probe (RFC 8985); needs RACK.
    pub tail_loss_probe: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgements that mean loss; missing: none do. RACK has a rule of its own.
    pub fast_retransmit: Option<u32>,
    /// Timestamps option (RFC 7323): 12 bytes a segment.
    pub timestamps: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// CUBIC leaves slow start by HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Retransmission timeout before the first round-trip sample.
    pub rto_initial: Span,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Greatest retransmission timeout.
    pub rto_max: Span,
    /// Granularity of the clock that retransmissions are timed with; 0 for a fine one.
    pub clock_tick: Time,
    /// An acknowledgement at least every so many full segments (RFC 5681: 2; 1 is no delay).
    pub ack_every: u32,
    /// A delayed acknowledgement waits at most so long.
    pub delayed_ack: Time,
    /// Receive buffer at the start.
    pub receive_buffer: Bytes,
    /// Receive buffer that autotuning may reach.
    pub receive_buffer_max: Bytes,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// DCTCP's estimation gain g as a shift: 4 is 1/16 (RFC 8257).
    pub dctcp_shift: u32,
    /// H-TCP's increase is scaled by the round-trip time.
    pub htcp_rtt_scaling: bool,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// draft-leith-tcp-htcp-06.
    Htcp,
    /// Version 1: draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
}

/// As Linux's `tcp_ecn`: 0, 1, 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// 0: never.
    Off,
    /// 1: asks for it and agrees to it.
    On,
    /// 2: agrees when asked.
    Passive,
}

/// One time, or one drawn at random for each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// The same on every host.
    Fixed(Time),
    /// Uniform between the two, drawn once for each host.
    Uniform(Time, Time),
    /// So much above the host's `rto_min`; for `rto_max` only.
    AboveMin(Time),
}
