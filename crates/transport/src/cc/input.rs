//! What a connection tells its congestion control: the settings, what is acknowledged, and why the window
//! shrinks.

use serde::{Deserialize, Serialize};
use units::Time;

/// The congestion control algorithm.
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

/// The settings of a congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub congestion: Congestion,
    /// Largest payload of a segment in bytes.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// HyStart++ (RFC 9406), under CUBIC.
    pub hystart: bool,
    /// Trains of acknowledgements end slow start too.
    pub ack_train: bool,
    /// CUBIC grows as Linux computes it.
    pub cubic_linux_growth: bool,
    /// DCTCP's estimation gain g as a shift.
    pub dctcp_shift: u32,
    /// H-TCP's increase is scaled by the round-trip time.
    pub htcp_rtt_scaling: bool,
}

/// What every algorithm reads and writes, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub mss: u64,
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub now: Time,
    /// Bytes newly known to be delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// First offset not acknowledged, after this one.
    pub una: u64,
    /// First offset not sent.
    pub nxt: u64,
    /// The round-trip sample it gave; zero for none.
    pub rtt: Time,
    /// Smoothed round-trip time.
    pub srtt: Time,
    /// Bytes thought to be in the network, after this one.
    pub in_flight: u64,
}

/// Why the window shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Loss found by duplicates, SACK or RACK.
    Loss,
    /// ECE, once a window.
    Ecn,
    /// The retransmission timer.
    Timeout,
}

/// What the sender is doing about congestion, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Open,
    /// The window was reduced for ECE and stays until what was in flight is acknowledged.
    Reduced,
    /// Fast recovery (RFC 6675, RFC 6582).
    Recovery,
    /// After a timeout.
    Loss,
}
