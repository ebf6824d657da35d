//! A program's published state: its counts, and its faults since they were last read.

use crate::replay::Counts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Time;

/// How a program fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is under way.
    #[default]
    Unfinished,
    /// It has done all its accesses.
    Finished,
    /// Its memory node is gone, and its pages with it.
    Lost,
}

/// A program so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How it fared.
    pub outcome: Outcome,
    /// When it was connected and began to compute.
    pub begin: Option<Time>,
    /// When it was done.
    pub end: Option<Time>,
    /// Its accesses, and what they exchanged.
    pub counts: Counts,
    /// Bytes that its memory node sent, all messages, and that it sent.
    pub received_bytes: u64,
    /// See there.
    pub sent_bytes: u64,
    /// Time in faults, their handling included.
    pub stall: Time,
    /// Starts after a crash of its host.
    pub restarts: u64,
}

/// A fault that exchanged something with remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When the program touched the page.
    pub start: Time,
    /// When it went on.
    pub end: Time,
    /// The page's number.
    pub page: u64,
    /// Pages fetched; none at the first access to a page.
    pub fetched: u32,
    /// Pages that left for it and had been written to.
    pub written_back: u32,
}

#[derive(Debug, Default)]
struct Shown {
    totals: Totals,
    faults: Vec<Fault>,
}

/// Where a program shows itself.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Shown>>);

impl Board {
    fn hold(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn show(&self, totals: Totals) {
        self.hold().totals = totals;
    }

    pub(super) fn fault(&self, fault: Fault) {
        self.hold().faults.push(fault);
    }

    /// Its counts.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.hold().totals
    }

    /// Its faults since the last call.
    #[must_use]
    pub fn take_faults(&self) -> Vec<Fault> {
        std::mem::take(&mut self.hold().faults)
    }
}
