//! What an operator reads off a port.

use crate::fluid::FluidTotals;
use crate::packet::Discard;
use units::Time;

/// A port's totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered the queue (and were or will be sent).
    pub enqueued_packets: u64,
    /// Packets whose sending has begun.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Bytes of all enqueued packets on the wire, framing included.
    pub wire_bytes: u64,
    /// Time that the transmitter was or will be busy with the enqueued packets.
    pub busy: Time,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets discarded, by reason.
    pub discards: Discards,
    /// Highest queue length in bytes.
    pub queue_max_bytes: u64,
    /// Highest queue length in packets.
    pub queue_max_packets: u32,
    /// Highest length of a single virtual output queue in bytes; none without them.
    pub voq_max_bytes: Option<u64>,
    /// Traffic as a fluid.
    pub fluid: FluidTotals,
}

/// Discards of a port, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discards([u64; 8]);

impl Discards {
    #[inline]
    pub(crate) fn count(&mut self, reason: Discard) {
        self.0[reason as usize] += 1;
    }

    /// Packets discarded for `reason`.
    pub fn of(&self, reason: Discard) -> u64 {
        self.0[reason as usize]
    }

    /// Discarded on the way in: damaged, no route, no shared memory left.
    pub fn inbound(&self) -> u64 {
        self.of(Discard::Corrupt) + self.of(Discard::NoRoute) + self.of(Discard::Pool)
    }

    /// Discarded on the way out: by the queue, the MTU or the link's state.
    pub fn outbound(&self) -> u64 {
        self.of(Discard::Tail) + self.of(Discard::Early) + self.of(Discard::Mtu) + self.of(Discard::Down)
    }

    /// All discards, those on the link included.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// A port at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Queue length in bytes, without the packet that is being sent.
    pub queue_bytes: u64,
    /// Queue length in packets.
    pub queue_packets: u32,
    /// IP bytes whose sending has begun, in all.
    pub sent_bytes: u64,
    /// Packets discarded at this port, in all.
    pub discards: u64,
    /// Packets marked, in all.
    pub marks: u64,
}
