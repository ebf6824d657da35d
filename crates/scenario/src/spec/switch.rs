//! A switch's settings: where packets wait, what happens on entering a queue, which queue is served next.

use super::Pfc;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// A switch's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Where packets wait.
    pub buffer: Buffer,
    /// What happens on entering or leaving a queue.
    pub queue: Queue,
    /// Queues of single classes where they differ from `queue`: (class 0–7, queue).
    pub class_queues: Vec<(u8, Queue)>,
    /// Which queue is served next.
    pub scheduler: Scheduler,
    /// Priority-based flow control; needs a shared buffer and the scheduler `ets`.
    pub pfc: Option<Pfc>,
}

/// How buffer memory is shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Buffer {
    /// Each port has its own memory.
    Static {
        /// Room of a port, not counting the packet that is being sent.
        limit: Depth,
    },
    /// One pool with dynamic thresholds (Choudhury & Hahne 1998): a queue may hold
    /// `reserve + alpha × (free shared memory)`.
    Shared {
        /// The pool, reserves included.
        size: Bytes,
        /// Threshold factor, above zero.
        alpha: f64,
        /// Guaranteed to each queue.
        reserve: Bytes,
        /// Memory is given in multiples of it (1: exact bytes).
        cell: Bytes,
    },
    /// Virtual output queues: one for each port of entry, port of exit and class. A queue may hold its even
    /// share of the reserved part, and beyond it up to `alpha × (free dynamic memory)`, in all up to `cap`.
    Voq {
        /// The memory.
        size: Bytes,
        /// Part of it that is shared out evenly as a guaranteed minimum, 0 to 1.
        reserved: f64,
        /// Part of it that is kept for multicast, which unicast can't use, 0 to 1.
        multicast: f64,
        /// Most that one queue may hold.
        cap: Bytes,
        /// Packet processors, at least one; the ports of entry of one share its queues. Missing: each port has its own.
        processors: Option<u32>,
        /// Threshold factor on the dynamic part, above zero.
        alpha: f64,
        /// Memory is given in multiples of it (1: exact bytes).
        cell: Bytes,
    },
    /// An ATM switch: cells of 53 bytes wait, not packets (AAL5). Its links have one rate, and hosts at their other ends.
    Cells {
        /// Cells that a port may hold, not counting the one that is being sent; at least 1.
        limit: u32,
        /// Which cells are dropped when there is no room.
        discard: CellDiscard,
        /// From so many waiting cells on `early` drops packets, up to `limit`.
        threshold: u32,
        /// Put before each packet: 8 with LLC/SNAP (RFC 2684).
        encapsulation: Bytes,
        /// The links' rate is that of the line (SONET, SDH), of which 26/27 are for cells.
        sonet: bool,
        /// A receiver forgets the beginning of a packet whose last cell has not come for so long.
        reassembly_timeout: Time,
    },
}

/// Which cells an ATM switch drops when there is no room (Romanow & Floyd 1995).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellDiscard {
    /// Each cell that finds the queue full.
    Tail,
    /// Partial packet discard: then also the rest of the packet, but for its last cell.
    Partial,
    /// Early packet discard: whole packets whose first cell finds `threshold` cells waiting; else as `partial`.
    Early,
}

/// A queue length, in the unit that the operator thinks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// IP bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// What happens on entering a queue, or on leaving it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// Accept while there is room.
    TailDrop {},
    /// Mark (drop where not ECN-capable) when the instantaneous length exceeds `threshold` (RFC 8257's K).
    Step {
        /// K.
        threshold: Depth,
    },
    /// Random early detection (Floyd & Jacobson 1993).
    Red {
        /// Below: nothing happens.
        min: Depth,
        /// From here on every packet is marked or dropped; with `gentle`, from twice this length. Same unit as `min`.
        max: Depth,
        /// Probability reached at `max`.
        max_p: f64,
        /// Weight of a new sample in the average; 1 is the instantaneous length.
        weight: f64,
        /// Rise from `max_p` to 1 between `max` and twice `max`.
        gentle: bool,
        /// Mark ECN-capable packets instead of dropping them (between the thresholds; above, they are dropped).
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): drops on leaving.
    Codel {
        /// A standing wait up to this is accepted.
        target: Time,
        /// Waits above the target for so long are a standing queue; at least `target`.
        interval: Time,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
    },
}

/// Which queue of a port is served next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// One queue for all classes.
    Fifo {},
    /// 802.1Qaz: strict classes first, highest number first; the others share by deficit round robin.
    Ets {
        /// Strict classes.
        strict: Vec<u8>,
        /// (class, weight) of every other class.
        weights: Vec<(u8, u32)>,
    },
}
