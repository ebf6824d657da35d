//! What the tables of a run come to: how long its flows and groups of flows took, what its ports lost, which
//! tasks were under way at its end.
//!
//! What follows from the kinds of jobs (whose flows are timed, which groups count) is told, not known.
//! Times are picoseconds, sizes bytes, as in the tables.

mod flows;
mod jobs;
mod ports;
mod sample;
mod tasks;

use record::stored::ReadError;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub use flows::{Flows, FlowsOfJob, Groups};
pub use jobs::{Job, jobs};
pub use ports::Ports;
pub use tasks::{OpenTask, OpenTasks};

/// What figures depend on beside the tables.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Incomplete jobs: their flows and groups that did not finish count as longer than any.
    pub incomplete: BTreeSet<String>,
    /// Jobs whose flows belong to groups, and the first number of a group.
    pub first_groups: BTreeMap<String, u64>,
    /// Jobs whose flows are counted together.
    pub timed: BTreeSet<String>,
    /// So many open tasks are listed at most.
    pub tasks: usize,
}

/// The figures of a run.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Of flows.
    pub flows: Flows,
    /// Of all ports together.
    pub ports: Ports,
    /// Tasks that the run's end found under way.
    pub tasks: OpenTasks,
}

impl Figures {
    /// Reads the tables of the run in a folder.
    ///
    /// # Errors
    /// When a table is not there, can't be read, or is damaged.
    pub fn of(run: &Path, asked: &Asked) -> Result<Figures, ReadError> {
        Ok(Figures {
            flows: Flows::of(run, asked)?,
            ports: Ports::of(run)?,
            tasks: OpenTasks::of(run, asked.tasks)?,
        })
    }
}
