//! What a node shows of itself: where it is, and what each pass did. Others read it while the node runs.

use crate::begun::Full;
use crate::items::Level;
use crate::progress::Outlook;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Time;

/// What a pass did at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassReport {
    /// Its number: the length of its itemsets.
    pub pass: u32,
    /// Candidates of all nodes together; none in pass 1, which counts what comes.
    pub candidates: Option<u64>,
    /// Large itemsets that it found.
    pub large: u64,
    /// Times that the node went over its transactions.
    pub scans: u64,
    /// Bytes that the node sent, and that it received.
    pub sent_bytes: u64,
    /// See there.
    pub received_bytes: u64,
    /// Things in the messages that it sent the owners of candidates.
    pub sent_entries: u64,
    /// When it began, and when it ended.
    pub begin: Time,
    /// See there.
    pub end: Time,
}

/// How far a node is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The pass that it is in.
    pub pass: u32,
    /// Transactions that it has gone over in this pass, over all scans.
    pub done: u64,
    /// Of so many.
    pub of: u64,
    /// Passes that it has finished since it was started.
    pub passes: Vec<PassReport>,
    /// What may follow, when that is more than fits into memory.
    pub outlook: Option<Outlook>,
    /// Where large itemsets did not fit: it has ended without a result.
    pub full: Option<Full>,
    /// It has finished.
    pub finished: bool,
    /// Starts after a crash.
    pub restarts: u64,
    /// Streams that it ended because what came was no message.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Shown {
    progress: Progress,
    levels: Arc<Vec<Level>>,
}

/// Where a node shows itself.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Shown>>);

impl Board {
    fn hold(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.hold().progress);
    }

    pub(crate) fn finished(&self, levels: Arc<Vec<Level>>) {
        let mut shown = self.hold();
        shown.progress.finished = true;
        shown.levels = levels;
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.hold().progress.clone()
    }

    /// The large itemsets, once it has finished; none of them is empty.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        let levels = Arc::clone(&self.hold().levels);
        levels.iter().filter(|level| !level.is_empty()).cloned().collect()
    }
}
