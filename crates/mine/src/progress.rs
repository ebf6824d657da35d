//! How far mining is, for who looks from another thread; and the wish that it ends.

use crate::candidate::to_come;
use crate::items::Level;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Its number: the length of its itemsets.
    pub number: usize,
    /// Candidates that it counted; none in pass 1 and of sparse transactions, where what comes is counted.
    pub candidates: Option<u64>,
    /// Large itemsets that it found.
    pub large: u64,
    /// Times that it went over the transactions.
    pub scans: u64,
}

/// What may follow, when that is more than fits into memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// The last pass that is finished.
    pub pass: usize,
    /// The large itemsets that it found.
    pub large: u64,
    /// Longer ones that may follow, at most.
    pub most: f64,
}

impl Outlook {
    /// After `last`, the newest of large itemsets that take `held` bytes together and may take `room`: when
    /// they have become many, and those that follow may be more than fit.
    pub(crate) fn behind(last: &Level, held: usize, room: usize) -> Option<Outlook> {
        if last.length() < 2 || held < room / 16 {
            return None;
        }
        let most = to_come(last);
        let bytes = ((last.length() + 1) * size_of::<u32>() + size_of::<u64>()) as f64;
        let outlook = Outlook { pass: last.length(), large: last.len() as u64, most };
        (most * bytes > room.saturating_sub(held) as f64).then_some(outlook)
    }
}

/// Shared by who mines and who looks.
#[derive(Debug, Default)]
pub struct Progress {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    passes: Mutex<Vec<Pass>>,
    outlook: Mutex<Option<Outlook>>,
}

impl Progress {
    /// Asks it to end soon: only passes that are finished by then count.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether somebody asked.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Transactions that the pass has looked at, and that it will have in the end: those of all its scans.
    pub fn of_pass(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }

    /// Passes that are finished.
    pub fn passes(&self) -> Vec<Pass> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What may follow, when that is more than fits into memory; the newest of several.
    pub fn outlook(&self) -> Option<Outlook> {
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn say(&self, outlook: Outlook) {
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner) = Some(outlook);
    }

    /// A pass begins, which will look at so many transactions.
    pub(crate) fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// So many transactions come next; false when there is no need to.
    pub(crate) fn next(&self, transactions: usize) -> bool {
        self.done.fetch_add(transactions as u64, Relaxed);
        !self.stopped()
    }

    /// A pass is finished; false when no other is wanted.
    pub(crate) fn finish(&self, pass: Pass) -> bool {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner).push(pass);
        !self.stopped()
    }
}
