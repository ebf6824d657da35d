//! What a simulated packet carries besides what switches look at.

use process::{Addr, HostId, Payload};
use transport::tcp::{Header, SackBlock};
use units::Time;

/// A TCP segment, or a datagram when `to` is [`DATAGRAM`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub header: Header,
    /// The endpoint that it goes to.
    pub to: u32,
    /// Slot of its [`Extra`] plus one; 0 without.
    pub extra: u32,
}

/// The `to` of a datagram, which is no flow's: all about it is in its [`Extra`].
pub(crate) const DATAGRAM: u32 = u32::MAX;

/// The SACK blocks that fit a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sacks {
    blocks: [SackBlock; 4],
    count: u8,
}

impl Sacks {
    pub(crate) fn new(blocks: &[SackBlock]) -> Sacks {
        let mut kept = [SackBlock::default(); 4];
        kept[..blocks.len()].copy_from_slice(blocks);
        Sacks { blocks: kept, count: blocks.len() as u8 }
    }

    pub(crate) fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// What few packets carry.
#[derive(Clone, Debug)]
pub(crate) enum Extra {
    /// SACK blocks of a segment.
    Sack(Sacks),
    /// A datagram.
    Datagram { from: Addr, to: Addr, data: Payload, pair: u32 },
    /// A packet of a host that is not simulated.
    Raw { from: HostId, to: HostId, ports: (u16, u16), data: Box<[u8]>, late: Time },
}
