//! What a run of one node had finished when it ended early, and where memory was full.

use crate::items::Level;
use crate::progress::Pass;
use serde::{Deserialize, Serialize};

/// What a run had finished when it was asked to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Of which transactions and settings.
    pub digest: u64,
    /// What each pass found.
    pub levels: Vec<Level>,
    /// What each did.
    pub passes: Vec<Pass>,
    /// Of sparse transactions: levels behind the first one hold only itemsets whose first item is one of so
    /// many.
    pub rows: Option<u32>,
}

/// Where large itemsets did not fit into memory any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Full {
    /// Items of the itemset that did not fit.
    pub length: usize,
    /// Large itemsets that did.
    pub before: u64,
}
