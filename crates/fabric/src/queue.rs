//! A queue of a scheduled port: the packets of a class, or of a class and a port of entry (`voq.rs`).

use crate::buffer::Pool;
use crate::discipline::Discipline;
use crate::ids::PortId;
use crate::packet::{Discard, Packet};
use crate::peak::Peak;
use crate::ring::Ring;
use units::Time;

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting<B> {
    pub since: Time,
    pub packet: Packet<B>,
    /// The switch's port that it came in by and that PFC counts it for; else [`PortId::NONE`].
    pub own: PortId,
}

/// A queue of packets.
#[derive(Debug)]
pub(crate) struct ClassQueue<B> {
    pub ring: Ring<Waiting<B>>,
    /// Memory held, in whole cells.
    pub held: u64,
    pub bytes: u64,
    pub packets: u32,
    pub max_bytes: Peak,
    pub deficit: u64,
    pub discipline: Discipline,
}

impl<B: Copy + Default> ClassQueue<B> {
    pub(crate) fn new(discipline: Discipline) -> ClassQueue<B> {
        let (ring, max_bytes) = (Ring::default(), Peak::default());
        ClassQueue { ring, held: 0, bytes: 0, packets: 0, max_bytes, deficit: 0, discipline }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.packets += 1;
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.packets -= 1;
    }

    /// Whether there is memory for `cells` more, up to `cap`; how much of it is taken beyond the reserve.
    #[inline(always)]
    pub(crate) fn room(&self, cells: u64, cap: u64, pool: &Pool) -> Result<u64, Discard> {
        if self.held + cells > cap {
            return Err(Discard::Tail);
        }
        pool.admit(self.held, cells)
    }

    /// Length of the first packet; nothing when there is none.
    #[inline(always)]
    pub(crate) fn head(&self) -> u64 {
        self.ring.front().map_or(0, |waiting| u64::from(waiting.packet.bytes))
    }

    /// Forgets its packets but for the memory that they hold.
    pub(crate) fn clear(&mut self) {
        (self.bytes, self.packets, self.deficit) = (0, 0, 0);
    }
}
