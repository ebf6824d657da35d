//! The settings of one end of a connection.
//!
//! Plain data, in the form in which scenarios have it.

use crate::cc::{Congestion, Settings};
use serde::{Deserialize, Serialize};
use units::{Bytes, Problem, Time};

/// When ECN is used (RFC 3168 6.1.1), as Linux's `tcp_ecn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// 0: never.
    Off,
    /// 1: asks for it and agrees to it.
    On,
    /// 2: agrees when asked.
    Passive,
}

/// One time, or one that is drawn for each host before its first connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// The same on every host.
    Fixed(Time),
    /// Uniform between the two.
    Uniform(Time, Time),
    /// So much above the host's `rto_min`; for `rto_max` only.
    AboveMin(Time),
}

impl Span {
    pub(crate) fn drawn(self) -> Time {
        match self {
            Span::Fixed(time) => time,
            Span::Uniform(..) | Span::AboveMin(_) => unreachable!("drawn before the host's first connection"),
        }
    }
}

impl From<Time> for Span {
    fn from(time: Time) -> Span {
        Span::Fixed(time)
    }
}

/// The settings of one end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// A tail loss probe waits so much longer than RFC 8985 says; Linux: 2 ms (`TCP_TIMEOUT_MIN_US`).
    #[serde(default)]
    pub probe_slack: Time,
    /// How long a receiver may delay an acknowledgement, as the sender takes it: a tail loss probe of a
    /// single segment waits so much longer (RFC 8985, 7.2). Without a value: `delayed_ack`. Linux: its least
    /// retransmission timeout (`tcp_schedule_loss_probe`).
    #[serde(default)]
    pub max_ack_delay: Option<Time>,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Proportional rate reduction (RFC 6937), as in Linux; has effect with SACK only.
    #[serde(default)]
    pub prr: bool,
    /// Duplicate acknowledgements that mean loss (RFC 5681, RFC 6675); without it, none do. RACK has its own
    /// rule.
    pub fast_retransmit: Option<u32>,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Largest payload of a segment in bytes, the timestamps' 12 bytes already taken off, for the
    /// smallest MTU of the path: there is no negotiation. At most 65535.
    #[serde(skip)]
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// HyStart++ (RFC 9406), under CUBIC.
    pub hystart: bool,
    /// With HyStart++: a train of acknowledgements as long as half of the least round trip ends slow start,
    /// as in Linux (S. Ha and I. Rhee 2011, section 3.1).
    #[serde(default)]
    pub ack_train: bool,
    /// CUBIC grows as Linux computes it, not as RFC 9438 does: by 5 % per round trip until the first loss,
    /// and at a speed that is computed again only when the window has changed or after 1/32 s.
    #[serde(default)]
    pub cubic_linux_growth: bool,
    /// Retransmission timeout before there is a round-trip sample.
    pub rto_initial: Span,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Greatest retransmission timeout.
    pub rto_max: Span,
    /// Granularity G of the clock that retransmissions are timed with (RFC 6298): timers expire at its ticks.
    /// Zero for one that is fine.
    pub clock_tick: Time,
    /// When its first tick is, less than `clock_tick`.
    #[serde(skip)]
    pub tick_phase: Time,
    /// An acknowledgement at least every so many full segments; 1 is no delay.
    pub ack_every: u32,
    /// So many acknowledgements are not delayed at the beginning of a connection, after a long silence and
    /// after a repeat, until data is sent in answer; with any, the handshake ends with an empty segment.
    /// Linux: 16 (`tcp_enter_quickack_mode`).
    #[serde(default)]
    pub quick_acks: u16,
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
    /// Refuses settings that no connection can have. Times are drawn by now.
    ///
    /// # Errors
    /// The first setting that can't be as it is.
    pub fn check(&self) -> Result<(), Problem> {
        let problem = |field: &'static str, message: String| Err(Problem::new(field, message));
        let (rto_min, rto_max) = (self.rto_min.drawn(), self.rto_max.drawn());
        if rto_min > rto_max {
            return problem("rto_min", format!("{rto_min} is above rto_max, {rto_max}"));
        }
        if rto_min == Time::ZERO {
            return problem("rto_min", "0s: a retransmission timeout is above zero".into());
        }
        for (field, zero) in [
            ("initial_window", self.initial_window == 0),
            ("ack_every", self.ack_every == 0),
            ("receive_buffer", self.receive_buffer == 0),
            ("send_buffer", self.send_buffer == 0),
        ] {
            if zero {
                return problem(field, "0: at least 1".into());
            }
        }
        if self.fast_retransmit == Some(0) {
            return problem("fast_retransmit", "0: at least 1 duplicate, or none at all".into());
        }
        if self.rack && self.sack && self.fast_retransmit != Some(3) {
            return problem("fast_retransmit", "RACK counts no duplicates: it needs rack false".into());
        }
        if self.receive_buffer > self.receive_buffer_max {
            let most = Bytes::new(self.receive_buffer_max);
            return problem("receive_buffer", format!("above receive_buffer_max, {most}"));
        }
        if self.dctcp_shift > 16 {
            return problem("dctcp_shift", format!("{}: 0 to 16 are allowed", self.dctcp_shift));
        }
        Ok(())
    }

    /// [`Config::fast_retransmit`] as a number that is compared with.
    pub(crate) fn dup_thresh(&self) -> u32 {
        self.fast_retransmit.unwrap_or(u32::MAX)
    }

    /// What congestion control is told of it, for segments of `mss`.
    pub(crate) fn control(&self, mss: u32) -> Settings {
        Settings {
            congestion: self.congestion,
            mss,
            initial_window: self.initial_window,
            hystart: self.hystart,
            ack_train: self.ack_train,
            cubic_linux_growth: self.cubic_linux_growth,
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
            probe_slack: Time::ZERO,
            max_ack_delay: None,
            limited_transmit: true,
            prr: false,
            fast_retransmit: Some(3),
            timestamps: false,
            mss: 1460,
            initial_window: 10,
            hystart: false,
            ack_train: false,
            cubic_linux_growth: false,
            rto_initial: Time::from_secs(1).into(),
            rto_min: Time::from_ms(200).into(),
            rto_max: Time::from_secs(120).into(),
            clock_tick: Time::ZERO,
            tick_phase: Time::ZERO,
            ack_every: 2,
            quick_acks: 0,
            delayed_ack: Time::from_ms(40),
            receive_buffer: 128 << 10,
            receive_buffer_max: 6 << 20,
            send_buffer: 4 << 20,
            dctcp_shift: 4,
            htcp_rtt_scaling: true,
        }
    }
}
