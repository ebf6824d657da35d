//! A scenario as plain data, and what is done with it: checked, built into a simulation, run into a
//! run folder.
//!
//! People write YAML; the Python package reads it, checks it and hands over this crate's [`lab`] as
//! JSON. Whatever is wrong with it is a [`Problem`] that names the field.

mod build;
mod error;
pub mod kinds;
pub mod lab;
pub mod live;
mod names;
mod run;
mod tables;

pub use build::build;
pub use error::Error;
pub use lab::{GraphView, LinkView, NodeView, Scenario, expand};
pub use run::{End, Outcome, Progress, diverge, measure, run};
pub use units::{Problem, Step};

/// The tables of a run folder.
pub const TABLES: &[&str] = record::Tables::NAMES;

/// Reads a scenario from JSON.
///
/// # Errors
/// When it isn't a scenario: the field's path and what was expected.
pub fn parse(json: &str) -> Result<Scenario, Problem> {
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
