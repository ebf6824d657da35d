//! The calls of a client as the run shows them: those that have ended, and those under way.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use units::Time;

/// A call, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its number among the client's calls, from 0.
    pub number: u64,
    /// When it began.
    pub start: Time,
    /// When its last reply was complete, or its last connection broke; none: the run ended first.
    pub end: Option<Time>,
    /// A connection broke.
    pub failed: bool,
    /// Bytes of its requests and of the replies that came.
    pub bytes: u64,
}

/// Where a client shows its calls.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) ended: Vec<Call>,
    pub(super) open: BTreeMap<u64, Call>,
    pub(super) failed: u64,
}

impl Board {
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Shown) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The calls that have ended since the last time, by their ends.
    pub fn take_ended(&self) -> Vec<Call> {
        self.change(|shown| std::mem::take(&mut shown.ended))
    }

    /// How many calls have failed.
    pub fn failed(&self) -> u64 {
        self.change(|shown| shown.failed)
    }

    /// The calls that are under way, by number.
    pub fn open(&self) -> Vec<Call> {
        self.change(|shown| shown.open.values().copied().collect())
    }
}
