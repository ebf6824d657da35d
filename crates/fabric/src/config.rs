//! What can be set at a switch, in the form in which scenarios have it.

use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// A queue length, in bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Virtual output queues: one for each ingress port, egress port and class. A queue may hold its even
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
        /// Packet processors, at least one, to which ports are dealt out in order; the ingress ports of a
        /// processor share its queues. Without a value each port has its own.
        processors: Option<u32>,
        /// Threshold factor on the dynamic part, above zero.
        alpha: f64,
        /// Memory is given in multiples of it (1: exact bytes).
        cell: Bytes,
    },
    /// An ATM switch: cells wait, not packets. All its links have one rate, and hosts at their other ends.
    Cells(CellsConfig),
}

impl Buffer {
    /// The memory that queues of a switch with so many ports and classes share, and what is guaranteed to
    /// each queue; nothing where each port has its own.
    pub fn pool(&self, ports: u64, classes: u64) -> Option<(Bytes, Bytes)> {
        match *self {
            Buffer::Static { .. } | Buffer::Cells(_) => None,
            Buffer::Shared { size, reserve, .. } => Some((size, reserve)),
            Buffer::Voq { size, reserved, multicast, cap, .. } => {
                let part = |part: f64| (size.get() as f64 * part) as u64;
                let queues = self.queues(ports, classes).max(1);
                // A minimum above the cap would lie idle.
                let reserve = (part(reserved) / queues).min(cap.get());
                Some((Bytes::new(size.get() - part(multicast)), Bytes::new(reserve)))
            }
        }
    }

    /// Queues of a switch with so many ports and classes.
    pub(crate) fn queues(&self, ports: u64, classes: u64) -> u64 {
        match self {
            Buffer::Voq { processors, .. } => {
                processors.map_or(ports, |processors| ports.min(u64::from(processors))) * ports * classes
            }
            _ => ports * classes,
        }
    }
}

/// A switch that forwards ATM cells of 53 bytes (ITU-T I.361), which carry packets by AAL5 (I.363.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsConfig {
    /// Cells that a port may hold, not counting the one that is being sent; at least 1.
    pub limit: u32,
    /// Which cells are dropped when there is no room.
    pub discard: CellDiscard,
    /// From so many waiting cells on [`CellDiscard::Early`] drops packets, up to `limit`.
    pub threshold: u32,
    /// Bytes that are put before each packet: 8 with LLC/SNAP (RFC 2684).
    pub encapsulation: u32,
    /// The link's rate is that of the line (SONET, SDH), of which 26/27 are for cells.
    pub sonet: bool,
    /// A receiver forgets the beginning of a packet whose last cell has not come for so long.
    pub reassembly_timeout: Time,
}

impl CellsConfig {
    /// Cells that carry an IP packet of `bytes`.
    pub fn cells(&self, bytes: u16) -> u32 {
        crate::aal5::cells(bytes, self.encapsulation)
    }
}

/// Which cells a switch drops when there is no room (Romanow & Floyd 1995).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellDiscard {
    /// Each cell that finds the queue full.
    Tail,
    /// Partial packet discard: then also the rest of the packet, but for its last cell.
    Partial,
    /// Early packet discard: whole packets whose first cell finds `threshold` cells waiting; else as
    /// `Partial`.
    Early,
}

/// What happens to a packet on entering a queue, or (CoDel) on leaving it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// Accept while there is room.
    TailDrop {},
    /// Mark (drop where not ECN-capable) above an instantaneous length.
    Step {
        /// RFC 8257's K.
        threshold: Depth,
    },
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay: decides when a packet leaves.
    Codel(CodelConfig),
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// `TARGET`: a standing wait up to this is accepted.
    pub target: Time,
    /// `INTERVAL`: waits above the target for so long are a standing queue; at least `target`.
    pub interval: Time,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Random early detection (Floyd & Jacobson 1993).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// `min_th`.
    pub min: Depth,
    /// `max_th`, in the unit of `min`.
    pub max: Depth,
    /// `max_p`.
    pub max_p: f64,
    /// `w_q`; 1 is the instantaneous length.
    pub weight: f64,
    /// Probability rises from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Marks ECN-capable packets between the thresholds instead of dropping them.
    pub ecn: bool,
}

/// Which queue of a port is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// One queue for all classes.
    Fifo {},
    /// Enhanced transmission selection (802.1Qaz): strict classes first, highest number first; the others
    /// share by deficit round robin.
    Ets {
        /// Bit c set: class c is strict. Written as a list of classes.
        #[serde(with = "classes::set")]
        strict: u8,
        /// Weights of the other classes; 0: none is given, and it is 1. Written as a list of (class, weight).
        #[serde(with = "classes::weights")]
        weights: [u32; 8],
    },
}

impl Scheduler {
    /// Classes that have queues of their own.
    pub fn classes(&self) -> usize {
        if *self == (Scheduler::Fifo {}) { 1 } else { 8 }
    }
}

/// A switch's settings, the same on all its ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchConfig {
    /// Where packets wait.
    pub buffer: Buffer,
    /// What happens on entering or leaving a queue.
    pub queue: Queue,
    /// Queues of single classes where they differ from `queue`: (class 0–7, queue); none under
    /// [`Scheduler::Fifo`].
    pub class_queues: Vec<(u8, Queue)>,
    /// Which queue is served next.
    pub scheduler: Scheduler,
    /// Priority-based flow control; needs [`Buffer::Shared`] and [`Scheduler::Ets`].
    pub pfc: Option<PfcConfig>,
}

impl SwitchConfig {
    /// The queue of each class.
    pub(crate) fn queues(&self) -> [Queue; 8] {
        let mut queues = [self.queue; 8];
        self.class_queues.iter().for_each(|(class, queue)| queues[usize::from(*class)] = *queue);
        queues
    }
}

/// Priority-based flow control of a switch (802.1Qbb).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PfcConfig {
    /// Bit c set: class c is lossless. Written as a list of classes.
    #[serde(with = "classes::set")]
    pub classes: u8,
    /// From where on an ingress group asks its peer to pause.
    pub xoff: Xoff,
    /// The peer goes on when the group holds no more than this.
    pub xon: Bytes,
    /// Memory of each ingress port and class for what comes after XOFF, set aside from the buffer.
    pub headroom: Bytes,
    /// Headroom that all share; without it, each has its own.
    pub headroom_pool: Option<Bytes>,
    /// Length of a pause in quanta of 512 bit times.
    pub quanta: u16,
    /// Storm detection.
    pub watchdog: Option<WatchdogConfig>,
}

impl Default for PfcConfig {
    /// As SONiC has it for Trident 3 class switches: classes 3 and 4, alpha 1, XON at 4,608 B, 160,000 B of
    /// headroom.
    fn default() -> PfcConfig {
        PfcConfig {
            classes: 0b0001_1000,
            xoff: Xoff::Dynamic { alpha: 1.0 },
            xon: Bytes::new(4_608),
            headroom: Bytes::new(160_000),
            headroom_pool: None,
            quanta: u16::MAX,
            watchdog: None,
        }
    }
}

/// The threshold of an ingress group, beyond its reserve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Xoff {
    /// So many bytes.
    Static {
        /// The threshold.
        limit: Bytes,
    },
    /// A factor times the shared memory that is free.
    Dynamic {
        /// The factor, above zero.
        alpha: f64,
    },
}

/// What finds and ends storms of PAUSE frames, as SONiC's PFC watchdog does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
            buffer: Buffer::Static { limit: Depth::Bytes(u64::MAX) },
            queue: Queue::TailDrop {},
            class_queues: Vec::new(),
            scheduler: Scheduler::Fifo {},
            pfc: None,
        }
    }
}

/// What a packet costs on the wire: `max(ip_bytes, min_payload) + overhead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// The forms that scenarios have of sets and weights of classes.
mod classes {
    use serde::de::{Deserialize, Deserializer, Error};

    fn known<E: Error>(class: u8) -> Result<usize, E> {
        let why = || E::custom(format!("class {class}: 0 to 7 are allowed"));
        (class < 8).then_some(usize::from(class)).ok_or_else(why)
    }

    pub mod set {
        use super::*;
        use serde::Serializer;

        pub fn serialize<S: Serializer>(set: &u8, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq((0u8..8).filter(|class| set & (1 << class) != 0))
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
            let classes = Vec::<u8>::deserialize(from)?;
            classes.into_iter().try_fold(0, |set, class| Ok(set | (1 << known::<D::Error>(class)?)))
        }
    }

    pub mod weights {
        use super::*;
        use serde::Serializer;

        pub fn serialize<S: Serializer>(weights: &[u32; 8], to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq((0u8..).zip(weights).filter(|(_, weight)| **weight > 0))
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u32; 8], D::Error> {
            let mut weights = [0; 8];
            for (class, weight) in Vec::<(u8, u32)>::deserialize(from)? {
                weights[known::<D::Error>(class)?] = weight;
            }
            Ok(weights)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_virtual_output_queues_is_shared_out() {
        let voq = |cap| Buffer::Voq {
            size: Bytes::new(8_000_000_000),
            reserved: 0.3,
            multicast: 0.15,
            cap: Bytes::new(cap),
            processors: None,
            alpha: 1.0,
            cell: Bytes::new(1),
        };
        // Of 8 GB, 30 % for 100 queues; 15 % are not there for unicast.
        let (size, reserve) = (Bytes::new(6_800_000_000), Bytes::new(24_000_000));
        assert_eq!(voq(125_000_000).pool(10, 1), Some((size, reserve)));
        // A minimum above the cap would lie idle.
        assert_eq!(voq(1_000_000).pool(10, 1), Some((size, Bytes::new(1_000_000))));
    }
}
