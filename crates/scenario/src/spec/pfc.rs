//! Settings of priority-based flow control (802.1Qbb), and of the watchdog that finds storms of PAUSE frames.

use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// Priority-based flow control (802.1Qbb).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pfc {
    /// Lossless classes, 0–7.
    pub classes: Vec<u8>,
    /// From where on an ingress port and class asks its peer to pause.
    pub xoff: Xoff,
    /// The peer goes on when no more than this is held.
    pub xon: Bytes,
    /// Memory of each ingress port and class for what comes after XOFF; set aside from the buffer.
    pub headroom: Bytes,
    /// Headroom that all ports and classes share; without it, each has its own.
    pub headroom_pool: Option<Bytes>,
    /// Length of a pause in quanta of 512 bit times.
    pub quanta: u16,
    /// Finds storms of PAUSE frames and acts.
    pub watchdog: Option<Watchdog>,
}

/// The XOFF threshold of an ingress port and class, beyond its reserve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Xoff {
    /// So many bytes.
    Static {
        /// The threshold.
        limit: Bytes,
    },
    /// `alpha` times the shared memory that is free.
    Dynamic {
        /// Threshold factor, above zero.
        alpha: f64,
    },
}

/// A PFC watchdog, with SONiC's meaning of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// Time between looks at the queues.
    pub poll: Time,
    /// A queue that is paused and sends nothing for so long is in a storm.
    pub detection: Time,
    /// The storm is over when no PAUSE has come for so long.
    pub restoration: Time,
    /// What happens to the queue's packets meanwhile.
    pub action: WatchdogAction,
}

/// What a watchdog does with a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Its packets are discarded.
    Drop,
    /// It ignores PAUSE.
    Forward,
}
