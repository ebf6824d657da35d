//! Jobs and their processes inside the simulator.

use process::{HostId, Process};
use rand_pcg::Pcg64;
use units::Time;

/// A job as handed to the simulator.
pub struct JobSetup {
    /// Unique name.
    pub name: String,
    /// For the results: `bulk`, `incast`…
    pub kind: String,
    /// Its processes get their start event then.
    pub start: Time,
    /// Class of its packets, 0–7.
    pub class: u8,
    /// The run doesn't wait for it.
    pub background: bool,
    /// One process a host at most.
    pub processes: Vec<(HostId, Box<dyn Process>)>,
}

/// A job's state.
#[derive(Debug)]
pub(crate) struct Job {
    pub name: String,
    pub kind: String,
    pub start: Time,
    /// What its routes depend on.
    pub home_port: u16,
    pub class: u8,
    pub background: bool,
    pub processes: Vec<u32>,
    pub unfinished: usize,
    pub end: Option<Time>,
    pub flows: u64,
    pub flows_done: u64,
    pub flows_broken: u64,
    pub bytes: u64,
}

/// A process and what belongs to it.
pub(crate) struct Slot {
    pub job: u32,
    pub host: u32,
    /// Absent while it is handling an event.
    pub process: Option<Box<dyn Process>>,
    pub rng: Pcg64,
    pub finished: bool,
}
