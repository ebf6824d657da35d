//! Passes of mining.

use super::table;
use crate::column::{Column, ColumnData, Nullable, Text, U64};
use crate::table::Columns;

table! {
    /// A pass of mining at a node. After a crash, only what the node did since its restart.
    "passes": MinePass, MinePasses {
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// Its number: the length of its itemsets.
        pass: U64,
        /// Candidates of all nodes together; missing in pass 1, which has none.
        candidates: Nullable<U64>,
        /// Large itemsets that it found.
        large: U64,
        /// Scans of the node's transactions.
        scans: U64,
        /// Bytes that the node sent to others.
        sent_bytes: U64,
        /// Bytes that it received.
        received_bytes: U64,
        /// Candidates, counts or itemsets sent to the owners of candidates.
        sent_entries: U64,
        /// When it began.
        begin_ps: U64,
        /// When it ended; missing while unfinished.
        end_ps: Nullable<U64>,
    }
}
