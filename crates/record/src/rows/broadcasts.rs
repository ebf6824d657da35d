//! Hosts of broadcasts.

use super::{labels, table};
use crate::column::{Column, ColumnData, Label, Labels, Nullable, Text, U64};
use crate::table::Columns;

labels! {
    /// How a host fared in a broadcast.
    CopyOutcome {
        /// It has everything, and has checked it.
        Complete = "complete",
        /// It could not go on.
        Failed = "failed",
        /// The coordinator had given it up: it did not answer any more, and did not come back.
        Gone = "gone",
        /// The run ended first.
        Unfinished = "unfinished",
    }
}

table! {
    /// A host of a broadcast, the source included.
    "broadcasts": BroadcastHost, Broadcasts {
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// How it ended: `complete`, `failed`, `gone` (its coordinator had given it up), `unfinished`.
        outcome: Labels<CopyOutcome>,
        /// Why it failed; missing otherwise.
        reason: Nullable<Text>,
        /// When it had everything; missing for the source, and while unfinished.
        complete_ps: Nullable<U64>,
        /// Bytes of the file that it had at the end, in whole chunks.
        bytes: U64,
        /// Bytes that it had when it was last started.
        resumed_bytes: U64,
        /// Bytes received in chunks, damaged ones included.
        received_bytes: U64,
        /// Bytes of chunks sent to others.
        sent_bytes: U64,
        /// Chunks whose content did not match their hash.
        damaged: U64,
        /// Plans that it received.
        plans: U64,
    }
}

table! {
    /// A sample of a host of a broadcast, taken at its first report after each interval and when it has
    /// everything.
    "broadcasts_series": BroadcastSample, BroadcastsSeries {
        /// When.
        time_ps: U64,
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// Bytes of the file that it has now, in whole chunks.
        bytes: U64,
        /// Bytes received in chunks since the previous sample.
        received_bytes: U64,
        /// Bytes of chunks sent to others since the previous sample.
        sent_bytes: U64,
        /// Rate at which the plan lets it receive.
        planned_bps: U64,
    }
}
