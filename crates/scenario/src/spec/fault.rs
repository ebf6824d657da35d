//! What goes wrong, or comes right again, at a time.

use serde::{Deserialize, Serialize};
use units::{Rate, Time};

/// Something that goes wrong at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What goes wrong, or comes right again. A link is named by its two ends and means all parallel links, both
/// ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// The host loses its processes and connections, silently.
    Crash {
        /// The host.
        host: String,
    },
    /// A crashed host comes back; its processes start again.
    Restart {
        /// The host.
        host: String,
    },
    /// Cores and disk of the host run at `speed` times their rate.
    Slow {
        /// The host.
        host: String,
        /// 1 is normal.
        speed: f64,
    },
    /// The link carries nothing; routes avoid it.
    LinkDown {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// The link is back.
    LinkUp {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// Packets vanish with this probability.
    Loss {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// Packets arrive with a bad checksum with this probability, and are discarded on arrival.
    Corrupt {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// The host asks its switch to pause a class, again and again.
    PauseStorm {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The host does so no more.
    PauseStormEnd {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The link's rate changes.
    Rate {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The new rate.
        rate: Rate,
    },
}
