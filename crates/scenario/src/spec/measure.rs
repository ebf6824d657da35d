//! What is recorded beyond the totals.

use serde::{Deserialize, Serialize};
use units::Time;

/// What is recorded beyond the totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Time between samples of the series; without it, no series.
    pub interval: Option<Time>,
    /// Ports in the series, `node:peer` (`#2` for a second parallel link), `*` for any text; hosts at their
    /// ends are in the series of hosts.
    pub ports: Vec<String>,
    /// Whether every flow's window and round-trip time are in the series too.
    pub flows: bool,
    /// Ports whose packets are captured as pcapng.
    pub capture: Vec<String>,
}
