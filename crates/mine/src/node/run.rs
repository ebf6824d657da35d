//! How far a stage that is being sent is.

use super::stage::Stage;
use crate::work::Outbox;
use units::Time;

/// A stage on its way out.
pub(super) struct Run {
    pub(super) out: Outbox,
    /// A step is under way: what it will take once the disk has read.
    pub(super) under_way: Option<Time>,
    /// Transactions have all been gone over.
    pub(super) generated: bool,
    /// Somebody's stream is full.
    pub(super) blocked: bool,
}

impl Run {
    /// Whether this stage is under way.
    pub(super) fn is_of(&self, stage: Stage) -> bool {
        self.out.stage() == stage
    }
}
