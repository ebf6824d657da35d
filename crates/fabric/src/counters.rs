//! What an operator reads off a port.

use crate::fluid::FluidTotals;
use crate::packet::Discard;
use units::Time;

/// A port's totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered the queue and were or will be sent: without those that a link that went down
    /// found there.
    pub enqueued_packets: u64,
    /// Packets that were let into the queue and lost there when the link went down; [`Discard::Down`] counts
    /// them too.
    pub abandoned_packets: u64,
    /// Packets whose sending has begun.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Bytes of all enqueued packets on the wire, framing included.
    pub wire_bytes: u64,
    /// Time that the transmitter has been busy.
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
    /// Cells; none at ports of other switches than those of cells.
    pub cells: Option<CellTotals>,
}

/// Cells at the port of a switch of cells, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellTotals {
    /// Cells that came in.
    pub came: u64,
    /// Of these, not let into the queue.
    pub dropped: u64,
    /// Of these, let in and lost there when the link went down.
    pub abandoned: u64,
    /// Most cells that waited, without the one that is being sent.
    pub queue_max: u64,
}

/// Discards of a port, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discards([u64; 12]);

impl Discards {
    #[inline]
    pub(crate) fn count(&mut self, reason: Discard) {
        self.0[reason as usize] += 1;
    }

    /// Adds what was counted elsewhere.
    pub(crate) fn add(&mut self, other: &Discards) {
        self.0.iter_mut().zip(other.0).for_each(|(own, more)| *own += more);
    }

    /// `each` of those since `before`.
    pub(crate) fn since(&self, before: &Discards, each: impl Fn(u64) -> u64) -> Discards {
        Discards(std::array::from_fn(|reason| each(self.0[reason] - before.0[reason])))
    }

    /// Packets discarded for `reason`.
    pub fn of(&self, reason: Discard) -> u64 {
        self.0[reason as usize]
    }

    /// Discarded on the way in: damaged, no route, no shared memory or headroom left.
    pub fn inbound(&self) -> u64 {
        [Discard::Corrupt, Discard::NoRoute, Discard::Pool, Discard::Headroom]
            .map(|of| self.of(of))
            .iter()
            .sum()
    }

    /// Discarded on the way out: by the queue, the MTU, the link's state or the PFC watchdog, or for lost
    /// cells.
    pub fn outbound(&self) -> u64 {
        use Discard::{Cell, Down, Early, Merged, Mtu, Tail, Watchdog};
        let reasons = [Tail, Early, Mtu, Down, Watchdog, Cell, Merged];
        reasons.map(|of| self.of(of)).iter().sum()
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
    /// Longest queue in bytes since the watermarks were restarted.
    pub queue_max_bytes: u64,
    /// IP bytes whose sending has begun, in all.
    pub sent_bytes: u64,
    /// Packets discarded at this port, in all.
    pub discards: u64,
    /// Of these, on the way in.
    pub in_discards: u64,
    /// Of these, on the way out.
    pub out_discards: u64,
    /// Packets marked, in all.
    pub marks: u64,
    /// PAUSE frames sent, in all.
    pub pause_sent: u64,
    /// PAUSE frames received, in all.
    pub pause_received: u64,
    /// Time during which at least one class was paused, in all.
    pub paused: Time,
}

/// Priority-based flow control of a port and class, totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounters {
    /// PAUSE frames sent that ask for a pause or renew one.
    pub xoff_sent: u64,
    /// PAUSE frames sent that end a pause.
    pub xon_sent: u64,
    /// PAUSE frames received that ask for a pause or renew one.
    pub xoff_received: u64,
    /// PAUSE frames received that end a pause.
    pub xon_received: u64,
    /// Time that the class was paused.
    pub paused: Time,
    /// Most memory held of what came in by the port.
    pub held_max: u64,
    /// Most headroom taken.
    pub headroom_max: u64,
    /// Storms that the watchdog found.
    pub storms: u64,
    /// Storms that it found to be over.
    pub restored: u64,
    /// Packets that it discarded.
    pub storm_drops: u64,
}
