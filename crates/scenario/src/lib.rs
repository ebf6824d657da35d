//! A scenario as plain data, and what is done with it: checked, built into a simulation, run into a
//! run folder.
//!
//! People write YAML; the Python package reads it, checks it and hands over this crate's [`lab`] as
//! JSON. Whatever is wrong with it is a [`Problem`] that names the field.
//!
//! Two hosts send to a third host at the same time. JSON has no defaults for the settings of switches and
//! hosts, so the example takes those of the Rust types:
//!
//! ```
//! use std::num::NonZeroUsize;
//! use scenario::{End, check, measure};
//! use serde_json::json;
//!
//! let text = json!({
//!     "name": "two to one", "seed": 1,
//!     "topology": {"kind": "single-switch", "hosts": 3,
//!         "host_link": {"rate": 10_000_000_000_u64, "delay": 1_000_000, "mtu": 1500}},
//!     "framing": fabric::Framing::ETHERNET,
//!     "switches": [{"pattern": "*", "config": fabric::SwitchConfig::default()}],
//!     "hosts": [{"pattern": "*", "config": sim::HostConfig::default()}],
//!     "jobs": [{"name": "flows", "start": 0, "class": 0, "work": {"kind": "incast",
//!         "senders": ["host0", "host1"], "receiver": "host2", "bytes": 1_000_000, "rounds": 1}}],
//!     "faults": [],
//!     "measure": {"interval": null, "ports": [], "flows": false, "capture": []},
//!     "until": null
//! });
//! let outcome = measure(&check(&text.to_string())?, NonZeroUsize::MIN)?;
//! assert_eq!(outcome.end, End::Finished);
//! assert!(outcome.sim_time_ps > 1_600_000_000, "2 MB take 1.6 ms at 10 Gb/s");
//!
//! let problem = check(&text.to_string().replace("host2", "host9")).expect_err("there are three hosts");
//! assert!(problem.to_string().starts_with("jobs[0].work.receiver: "), "{problem}");
//! # Ok::<(), scenario::Problem>(())
//! ```

mod buffers;
mod build;
mod emulate;
mod engine;
mod error;
pub mod kinds;
pub mod lab;
pub mod live;
mod names;
mod reports;
mod run;
mod tables;

pub use build::build;
pub use emu::setting::Registered;
pub use emulate::{Answer, Linux, Operator, is_needed as needs_linux, member};
pub use engine::cut;
pub use error::Error;
pub use lab::{GraphView, LinkView, NodeView, Scenario, expand};
pub use run::{Computing, End, Outcome, Progress, diverge, measure, run};
use serde::de::DeserializeOwned;
pub use units::{Problem, Step};

/// The tables of a run folder.
pub const TABLES: &[&str] = record::Tables::NAMES;

/// Reads a scenario from JSON.
///
/// # Errors
/// When it isn't a scenario: the field's path and what was expected.
pub fn parse(json: &str) -> Result<Scenario, Problem> {
    read(json)
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, Problem> {
    serde_json::from_str(json).map_err(|error| Problem::whole(error.to_string()))
}

/// Reads a scenario from JSON, and refuses one that can't run.
///
/// The simulation that is built to check it is not kept. Many variants and seeds are checked before the first
/// one runs, and their simulations would all be in memory at the same time.
///
/// # Errors
/// The first problem.
pub fn check(json: &str) -> Result<Scenario, Problem> {
    let scenario = parse(json)?;
    build(&scenario)?;
    Ok(scenario)
}
