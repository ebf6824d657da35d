//! A scenario as plain data, checked and in base units: what the Python package hands over as JSON.
//!
//! Times are picoseconds, sizes bytes, rates bits per second. Names of hosts and switches are the
//! topology's. A file has the settings of one subject, their checks, and what the simulation is built from.
//! Unknown fields are refused here too, so the two sides can't drift apart unseen.

pub(crate) mod clock;
pub(crate) mod faults;
pub(crate) mod fidelity;
pub(crate) mod hosts;
mod job;
pub(crate) mod measure;
mod rule;
pub(crate) mod switches;
pub(crate) mod topology;

pub use clock::Clock;
use fabric::{Framing, SwitchConfig};
pub use faults::{Change, Fault};
pub use fidelity::Fidelity;
pub use job::Job;
pub use measure::Measure;
pub use rule::Rule;
use serde::{Deserialize, Serialize};
use sim::HostConfig;
pub use topology::{GraphLink, GraphView, LinkView, NodeKind, NodeSpec, NodeView, Topology, expand};
use units::Time;

/// One run: a cluster, what it is asked to do, what goes wrong, what is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Shown in results.
    pub name: String,
    /// All randomness of the run derives from it.
    pub seed: u64,
    /// Nodes and links.
    pub topology: Topology,
    /// Bytes a packet costs on the wire beyond its IP length.
    pub framing: Framing,
    /// Settings of switches; the last rule whose pattern matches a switch counts.
    pub switches: Vec<Rule<SwitchConfig>>,
    /// Settings of hosts; the last rule whose pattern matches a host counts.
    pub hosts: Vec<Rule<HostConfig>>,
    /// What the cluster does.
    pub jobs: Vec<Job>,
    /// What goes wrong, in any order.
    pub faults: Vec<Fault>,
    /// What is recorded beyond the totals.
    pub measure: Measure,
    /// Whose time the run keeps; without it its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What is not computed event by event; without it, everything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// The run ends here at the latest; without it, when all jobs have ended (`background` jobs don't count).
    pub until: Option<Time>,
}
