//! A scenario as plain data, and what is done with it: checked, built into a simulation, run into a
//! run folder.
//!
//! People write YAML; the Python package reads it, checks it and hands over this crate's [`spec`] as
//! JSON. Whatever is wrong with it is a [`Problem`] that names the field.

mod build;
mod error;
pub mod kinds;
pub mod live;
mod names;
mod run;
pub mod spec;
mod tables;
mod topology;

pub use build::build;
pub use error::Error;
pub use run::{End, Outcome, Progress, diverge, measure, run};
pub use spec::Scenario;
pub use topology::{GraphView, LinkView, NodeView, expand};
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

/// Refuses a scenario that can't run.
///
/// # Errors
/// The first problem.
pub fn check(json: &str) -> Result<(), Problem> {
    build(&parse(json)?).map(drop)
}
