//! What a simulated packet carries besides what switches look at.

use process::{Addr, Payload};
use transport::tcp::{Header, SackBlock};

/// A TCP segment, or a datagram when `to` is [`DATAGRAM`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub header: Header,
    /// The endpoint that it goes to.
    pub to: u32,
    /// Slot of its [`Extra`] plus one; 0 without.
    pub extra: u32,
}

/// The `to` of a datagram: all about it is in its [`Extra`].
pub(crate) const DATAGRAM: u32 = u32::MAX;

/// What few packets carry.
#[derive(Clone, Debug)]
pub(crate) enum Extra {
    /// SACK blocks of a segment.
    Sack(Vec<SackBlock>),
    /// A datagram.
    Datagram { from: Addr, to: Addr, data: Payload, pair: u32 },
}
