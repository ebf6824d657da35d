//! What can be set at a switch.

use units::{Bytes, Time};

/// A queue length, in bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// IP bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

impl Depth {
    /// As (bytes, packets), the other one unlimited.
    pub(crate) fn limits(self) -> (u64, u32) {
        match self {
            Depth::Bytes(n) => (n, u32::MAX),
            Depth::Packets(n) => (u64::MAX, u32::try_from(n).unwrap_or(u32::MAX)),
        }
    }

    /// Length of a queue in this unit.
    pub(crate) fn of(self, bytes: u64, packets: u32) -> f64 {
        match self {
            Depth::Bytes(_) => bytes as f64,
            Depth::Packets(_) => f64::from(packets),
        }
    }

    pub(crate) fn value(self) -> f64 {
        match self {
            Depth::Bytes(n) | Depth::Packets(n) => n as f64,
        }
    }
}

/// How buffer memory is shared among the queues of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Each port has its own room, not counting the packet that is being sent.
    Static(Depth),
    /// One pool with dynamic thresholds (Choudhury & Hahne 1998).
    Shared {
        /// The pool, reserves included.
        size: Bytes,
        /// Threshold factor.
        alpha: f64,
        /// Guaranteed to each queue.
        reserve: Bytes,
        /// Memory is given in multiples of it.
        cell: Bytes,
    },
    /// Virtual output queues: one for each port that packets come in by (or the processor that it shares with
    /// others), port that they leave by, and class.
    Voq {
        /// Memory for all of them, what is guaranteed included.
        size: Bytes,
        /// Threshold factor on what is not guaranteed (Choudhury & Hahne 1998).
        alpha: f64,
        /// Guaranteed to each virtual output queue.
        reserve: Bytes,
        /// Most that one virtual output queue may hold.
        cap: Bytes,
        /// Packet processors, to which the ports are dealt out in order; without a value each port is on its own.
        processors: Option<u32>,
        /// Memory is given in multiples of it.
        cell: Bytes,
    },
    /// An ATM switch: cells wait, not packets. All its links have one rate, and hosts at their other ends.
    Cells(CellsConfig),
}

/// A switch that forwards ATM cells (ITU-T I.361), which carry packets by AAL5 (I.363.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellsConfig {
    /// Cells that a port may hold, not counting the one that is being sent; at least 1.
    pub limit: u32,
    /// Which cells are dropped.
    pub discard: CellDiscard,
    /// Bytes that are put before each packet: 8 with LLC/SNAP (RFC 2684).
    pub encapsulation: u32,
    /// The link's rate is that of the line (SONET, SDH), of which 26/27 are for cells.
    pub sonet: bool,
    /// A receiver forgets the beginning of a packet whose last cell has not come for so long.
    pub reassembly_timeout: Time,
}

/// Which cells a switch drops when there is no room (Romanow & Floyd 1995).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellDiscard {
    /// Each cell that finds the queue full.
    Tail,
    /// Partial packet discard: then also the rest of the packet, but for its last cell.
    Partial,
    /// Early packet discard: whole packets whose first cell finds so many waiting; else as the former.
    Early(u32),
}

/// What happens to a packet on entering a queue, or (CoDel) on leaving it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// Accept while there is room.
    TailDrop,
    /// Mark above an instantaneous length: RFC 8257's K.
    Step(Depth),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay: decides when a packet leaves.
    Codel(CodelConfig),
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// `TARGET`: a standing wait up to this is accepted.
    pub target: Time,
    /// `INTERVAL`: waits above the target for so long are a standing queue.
    pub interval: Time,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Random early detection (Floyd & Jacobson 1993).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// `min_th`.
    pub min: Depth,
    /// `max_th`, in the unit of `min`.
    pub max: Depth,
    /// `max_p`.
    pub max_p: f64,
    /// `w_q`.
    pub weight: f64,
    /// Probability rises from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Marks ECN-capable packets between the thresholds instead of dropping them.
    pub ecn: bool,
}

/// Which queue of a port is served next.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduler {
    /// One queue for all classes.
    Fifo,
    /// Enhanced transmission selection, 802.1Qaz.
    Ets {
        /// Bit c set: class c is strict; higher classes go first.
        strict: u8,
        /// Weights of the other classes, above zero.
        weights: [u32; 8],
    },
}

/// A switch's settings, the same on all its ports.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Where packets wait.
    pub buffer: Buffer,
    /// Queue discipline a class (under [`Scheduler::Fifo`] that of class 0 counts for all).
    pub queues: [Queue; 8],
    /// Which queue is served next.
    pub scheduler: Scheduler,
    /// Priority-based flow control; needs [`Buffer::Shared`] and [`Scheduler::Ets`].
    pub pfc: Option<PfcConfig>,
}

/// Priority-based flow control of a switch (802.1Qbb).
#[derive(Clone, Debug, PartialEq)]
pub struct PfcConfig {
    /// Bit c set: class c is lossless.
    pub classes: u8,
    /// From where on an ingress group asks its peer to pause.
    pub xoff: Xoff,
    /// The peer goes on when the group holds no more than this.
    pub xon: Bytes,
    /// Memory of each ingress port and class for what comes after XOFF.
    pub headroom: Bytes,
    /// Headroom that all share; without it, each has its own.
    pub headroom_pool: Option<Bytes>,
    /// Length of a pause in quanta of 512 bit times.
    pub quanta: u16,
    /// Storm detection.
    pub watchdog: Option<WatchdogConfig>,
}

impl Default for PfcConfig {
    /// As SONiC has it for Trident 3 class switches: classes 3 and 4, alpha 1, XON at 4,608 B, 160,000 B of headroom.
    fn default() -> PfcConfig {
        PfcConfig {
            classes: 0b0001_1000,
            xoff: Xoff::Dynamic(1.0),
            xon: Bytes::new(4_608),
            headroom: Bytes::new(160_000),
            headroom_pool: None,
            quanta: u16::MAX,
            watchdog: None,
        }
    }
}

/// The threshold of an ingress group, beyond its reserve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Xoff {
    /// So many bytes.
    Static(Bytes),
    /// This factor times the shared memory that is free.
    Dynamic(f64),
}

/// What finds and ends storms of PAUSE frames, as SONiC's PFC watchdog does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// Time between looks at the queues.
    pub poll: Time,
    /// A queue that is paused and sends nothing for so long is in a storm.
    pub detection: Time,
    /// The storm is over when no PAUSE has come for so long.
    pub restoration: Time,
    /// What happens to the queue's packets meanwhile.
    pub action: WatchdogAction,
}

/// What a watchdog does with the packets of a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// They are discarded.
    Drop,
    /// They are sent: the queue ignores PAUSE.
    Forward,
}

impl Default for SwitchConfig {
    /// Tail drop, first in first out, without a limit.
    fn default() -> SwitchConfig {
        SwitchConfig {
            buffer: Buffer::Static(Depth::Bytes(u64::MAX)),
            queues: [Queue::TailDrop; 8],
            scheduler: Scheduler::Fifo,
            pfc: None,
        }
    }
}

/// What a packet costs on the wire: `max(ip_bytes, min_payload) + overhead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes beyond the payload.
    pub overhead: u32,
    /// A shorter payload is padded to it.
    pub min_payload: u32,
}

impl Framing {
    /// Ethernet: preamble and delimiter 8, header 14, FCS 4, gap 12; payloads of at least 46 bytes (802.3).
    pub const ETHERNET: Framing = Framing { overhead: 38, min_payload: 46 };

    /// Bytes on the wire for an IP packet.
    #[inline]
    pub fn wire_bytes(self, ip_bytes: u16) -> u32 {
        u32::from(ip_bytes).max(self.min_payload) + self.overhead
    }
}
