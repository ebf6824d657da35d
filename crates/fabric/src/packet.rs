//! A packet as the network sees it.

use crate::ids::Route;
use crate::pause::PAUSE_FRAME;

/// The ECN field of the IP header (RFC 3168, section 5). ECT(1) is not used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: dropped where others are marked.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// A packet: what switches look at, and the driver's `body`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<B> {
    /// Where it goes next.
    pub route: Route,
    /// Length of the IP packet in bytes.
    pub bytes: u16,
    /// Part of the five-tuple's hash, to choose again among equal-cost routes when a link is down.
    pub hash: u16,
    /// Traffic class (802.1p), 0–7.
    pub class: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// What the driver put in.
    pub body: B,
}

impl<B> Packet<B> {
    /// Whether it is a PAUSE frame, which has neither route nor body.
    pub fn is_pause(&self) -> bool {
        self.class == PAUSE_FRAME
    }
}

/// A queue discipline's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    Mark,
    Drop,
}

/// Why a packet did not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Discard {
    /// The queue or the port's buffer was full, or over its dynamic threshold.
    Tail,
    /// The queue discipline dropped it early (RED), or could not mark it for lack of ECT.
    Early,
    /// The switch's shared memory was exhausted.
    Pool,
    /// Larger than the link's MTU.
    Mtu,
    /// The link is down, or went down under it.
    Down,
    /// No route is left to its destination.
    NoRoute,
    /// Lost on the link by an injected fault.
    Lost,
    /// Failed its checksum on arrival, by an injected fault.
    Corrupt,
    /// Came after XOFF and found its ingress group's headroom full.
    Headroom,
    /// The PFC watchdog discards what the queue holds, for a storm of PAUSE frames.
    Watchdog,
    /// A cell of it found the queue full (ATM).
    Cell,
    /// All its cells got through, but its receiver took them for the rest of a packet whose last cell was
    /// lost (AAL5).
    Merged,
}

impl Discard {
    /// In words, for captures and messages.
    pub fn name(self) -> &'static str {
        match self {
            Discard::Tail => "tail drop",
            Discard::Early => "early drop",
            Discard::Pool => "shared buffer exhausted",
            Discard::Mtu => "larger than the MTU",
            Discard::Down => "link down",
            Discard::NoRoute => "no route",
            Discard::Lost => "lost on the link",
            Discard::Corrupt => "bad checksum",
            Discard::Headroom => "PFC headroom exhausted",
            Discard::Watchdog => "PFC watchdog",
            Discard::Cell => "cell lost",
            Discard::Merged => "merged with a packet that had lost its last cell",
        }
    }
}
