//! Programs on remote memory.

use super::{labels, table};
use crate::column::{Column, ColumnData, Label, Labels, Nullable, Text, U64};
use crate::table::Columns;

labels! {
    /// How a program on remote memory fared.
    ProgramOutcome {
        /// It has done all its accesses.
        Finished = "finished",
        /// Its memory node was gone.
        Lost = "lost",
        /// The run ended first.
        Unfinished = "unfinished",
    }
}

table! {
    /// A program on remote memory. After a crash of its host, only what it did since its restart.
    "programs": RemoteProgram, RemotePrograms {
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// Its memory node.
        memory: Text,
        /// How it ended: `finished`, `lost` (its memory node was gone), `unfinished`.
        outcome: Labels<ProgramOutcome>,
        /// Size of a page.
        page_bytes: U64,
        /// Most pages in use at a time.
        pages: U64,
        /// Pages that fit into its local memory.
        local_pages: U64,
        /// Its threads, whose waits overlap.
        threads: U64,
        /// Its run time with all memory local, and a core for each thread.
        all_local_ps: U64,
        /// When it was connected to its memory node and began; missing before that.
        start_ps: Nullable<U64>,
        /// When it was done; missing otherwise.
        end_ps: Nullable<U64>,
        /// Time in faults, their handling included, of all threads together.
        stall_ps: U64,
        /// Accesses to pages.
        accesses: U64,
        /// Of these, to pages that were local.
        hits: U64,
        /// Of these, to pages that were never written before: nothing is fetched.
        cold: U64,
        /// Of these, to pages that are fetched.
        faults: U64,
        /// Pages fetched, with those read ahead.
        fetched: U64,
        /// Requests that fetched them.
        requests: U64,
        /// Pages written back.
        written_back: U64,
        /// Requests that carried them.
        sends: U64,
        /// Bytes received from the memory node: pages as they travel, and messages.
        received_bytes: U64,
        /// Bytes sent to it.
        sent_bytes: U64,
        /// Starts after a crash of its host.
        restarts: U64,
    }
}

table! {
    /// A page fault that exchanged pages with remote memory.
    "faults": PageFault, PageFaults {
        /// When the program touched the page.
        start_ps: U64,
        /// The job.
        job: Text,
        /// The program's host.
        host: Text,
        /// The page's number.
        page: U64,
        /// How long the program waited.
        latency_ps: U64,
        /// Pages fetched, with those read ahead; 0 if a page's first access only waited for another page to
        /// leave.
        fetched: U64,
        /// Pages evicted for them and written back.
        written_back: U64,
    }
}
