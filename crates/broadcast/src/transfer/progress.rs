//! A node's progress while it runs. The node writes it a few times per second; drivers and views read it.

use process::HostId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use units::Time;

/// Where a node stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It has not begun, or looks for the coordinator.
    #[default]
    Waiting,
    /// It has the source's copy, or fetches one.
    Running,
    /// It has everything, and has checked it; it still serves others.
    Complete,
    /// It can't go on: why, and which host it was.
    Failed(String),
    /// Everybody has everything, has failed or is gone.
    Finished,
}

/// A destination, as the coordinator shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    /// It takes part.
    pub present: bool,
    /// Bytes that it has, in whole chunks.
    pub bytes: u64,
    /// It has everything, and has checked it.
    pub complete: bool,
    /// It can't go on: why.
    pub failed: Option<String>,
    /// It gets nothing though its parent could send.
    pub stalled: bool,
    /// At which rate it received of late, in bit/s.
    pub rate: u64,
    /// At which rate the plan lets it receive, in bit/s.
    pub planned: u64,
}

/// What a node shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Where it stands.
    pub state: State,
    /// Chunks that it has.
    pub chunks: u32,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that it had when it began.
    pub resumed: u64,
    /// Bytes that came in chunks, damaged ones included.
    pub received: u64,
    /// Bytes of chunks sent to children.
    pub sent: u64,
    /// Chunks whose content did not have their hash.
    pub damaged: u64,
    /// At which rate the plan lets it receive, in bit/s.
    pub planned: u64,
    /// Plans that it has had.
    pub plans: u32,
    /// Bytes by parent, as long as it is one.
    pub parents: BTreeMap<HostId, u64>,
    /// The host that it takes its plans from.
    pub coordinator: Option<HostId>,
    /// When it had everything.
    pub completed: Option<Time>,
    /// At the coordinator: all destinations but itself.
    pub receivers: BTreeMap<HostId, Receiver>,
}

/// How far a node was at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// Bytes that it had.
    pub bytes: u64,
    /// Bytes that came in chunks until then, damaged ones included.
    pub received: u64,
    /// Bytes of chunks sent to children until then.
    pub sent: u64,
    /// At which rate the plan let it receive, in bit/s.
    pub planned: u64,
}

/// A node's progress, shared with its observers.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Progress>>, Arc<Mutex<Vec<Sample>>>);

impl Board {
    /// How far the node is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The samples since the last call, if the broadcast takes any ([`super::Config::sample`]).
    #[must_use]
    pub fn take_samples(&self) -> Vec<Sample> {
        std::mem::take(&mut self.1.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn sample(&self, sample: Sample) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
