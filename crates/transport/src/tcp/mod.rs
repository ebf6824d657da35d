//! A TCP connection as a state machine: segments in, segments out, time as an argument.
//!
//! No I/O, no clock, no contents: bytes are counted, the stream itself lives with the driver. Sequence
//! numbers are offsets of 64 bits from the initial one: 0 is the SYN, 1 the first byte.
//! Not here: TIME_WAIT, urgent data, MSS negotiation, PAWS, simultaneous open.
//! Source: RFC 9293; the modules name the RFCs of their parts.

mod api;
mod config;
mod ecn;
mod events;
mod gaps;
mod handshake;
mod header;
mod input;
mod output;
mod pacing;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod rto;
mod scoreboard;
mod skip;
mod stats;
mod timers;
mod window;

pub use crate::cc::Congestion;
pub use config::{Config, EcnMode, Span};
pub use events::{CloseReason, Event};
pub use header::{Flags, Header, Notes, SackBlock, Transmit};
pub use stats::{Counters, Stats};

use crate::cc::{Control, Phase};
use ecn::Ecn;
use events::Events;
use gaps::BLOCKS_MAX;
use prr::Prr;
use rack::Rack;
use receiver::Receiver;
use rto::RttEstimator;
use scoreboard::Scoreboard;
use std::sync::Arc;
use units::Time;

/// RFC 9293's states; what the FINs did is told by `fin_sent` and the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    /// ESTABLISHED and all states after it until both FINs are acknowledged.
    Open,
    Closed,
}

/// Segments that wait for `poll_transmit` beside data and acknowledgements.
mod urgent {
    pub const RST: u8 = 1;
    pub const SYN: u8 = 2;
    /// An acknowledgement of what came before DCTCP's state changed.
    pub const EARLIER_ACK: u8 = 4;
    pub const TAIL_LOSS_PROBE: u8 = 8;
    pub const WINDOW_PROBE: u8 = 16;
    /// The first retransmission of a recovery, whatever the window says (RFC 6675 5, step 4.3).
    pub const FIRST_RESEND: u8 = 32;
    /// The peer's window is closed and nothing is in flight: no segment, but a timer to set.
    pub const PERSIST: u8 = 64;
    /// The congestion control paces: set for good, for it must be told of each segment, and has a timer to
    /// set.
    pub const PACED: u8 = 128;
}

/// One end of a TCP connection. See the crate's documentation for the order of calls.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    phase: Phase,
    urgent: u8,
    /// Nothing goes out before the deadline of pacing.
    held: bool,
    events: Events,
    /// SACK was agreed.
    sack: bool,
    /// Timestamps were agreed.
    timestamps: bool,
    /// The application will write no more.
    closing: bool,
    fin_sent: bool,
    /// A write was cut short.
    write_blocked: bool,
    /// The window, not the application or the NIC, limited the sender lately.
    cwnd_limited: bool,
    /// `probe_at` is for a tail loss probe, else for RACK's reordering.
    probe_is_tlp: bool,
    tlp_is_retransmission: bool,
    /// Tail loss probes may be armed now.
    probes: bool,
    /// The one rescue retransmission of this recovery was sent.
    rescued: bool,
    /// Without SACK: this recovery has had a partial acknowledgement.
    partial_seen: bool,
    block_count: u8,
    isn: u32,
    irs: u32,
    mss: u32,
    /// Headers of a segment without SACK blocks.
    header_bytes: u32,
    ts_recent: u32,
    dupacks: u32,
    /// Timeouts, SYNs or window probes in a row without an answer.
    attempts: u32,

    board: Scoreboard,
    /// Offset after the last byte written.
    written: u64,
    /// New data may go out while `nxt` is below: what window, peer and application allow.
    send_limit: u64,
    /// Right edge of the peer's window; it never moves back.
    edge: u64,
    /// Acknowledgement and window of the last segment.
    heard: (u32, u32),
    /// The largest window that the peer has offered.
    max_window: u64,
    /// What to add to the pipe: duplicates without SACK, or what limited transmit may not use.
    pipe_bias: i64,
    /// Recovery, loss or reduction lasts until this offset is acknowledged.
    recover: u64,
    /// RFC 6582's guard: no fast retransmit below it after a timeout.
    timeout_guard: u64,
    /// NextSeg rule 3 goes on from here.
    high_rxt: u64,
    usage_end: u64,
    max_pipe: u64,
    /// Zero for none.
    tlp_end: u64,
    retransmit_at: Time,
    probe_at: Time,
    last_sent: Time,
    control: Control,
    rtt: RttEstimator,
    /// When it is on.
    rack: Option<Box<Rack>>,
    /// While the window shrinks in proportion.
    prr: Option<Box<Prr>>,

    rcv: Receiver,
    ecn: Ecn,
    /// Offset and echo of an [`urgent::EARLIER_ACK`].
    earlier_ack: (u64, bool),
    blocks: [SackBlock; BLOCKS_MAX],

    counters: Counters,
    config: Arc<Config>,
}
