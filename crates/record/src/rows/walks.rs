//! Servers of random walks.

use super::table;
use crate::column::{Column, ColumnData, Nullable, Text, U64};
use crate::table::Columns;

table! {
    /// Random walks at a server. Drops are counted where they happen, losses at their source.
    "walks": WalkServer, Walks {
        /// The job.
        job: Text,
        /// The server.
        host: Text,
        /// Nodes that it owns.
        nodes: U64,
        /// Walks to be finished.
        required: U64,
        /// Walkers generated, lost ones again included.
        generated: U64,
        /// Of these, walkers of walks that had been begun before: the additional runs of Takizawa's paper.
        additional: U64,
        /// Walks finished, each counted once.
        finished: U64,
        /// Walks given up because all allowed attempts timed out: they are not finished.
        given_up: U64,
        /// Of the finished walks, those that an attempt finished after it had been given up.
        late: U64,
        /// Confirmations of walks that were already finished.
        again: U64,
        /// Walkers given up by timeout.
        lost_timeout: U64,
        /// Walkers given up because this server, where they were born, dropped them.
        lost_direct: U64,
        /// Walkers given up because another server reported their drop.
        lost_remote: U64,
        /// Checks before generation that found a loss.
        loss_checks: U64,
        /// Sleeps between generations.
        sleeps: U64,
        /// Walkers that came from other servers, dropped ones included.
        arrived: U64,
        /// Walkers served.
        served: U64,
        /// Steps walked here.
        steps: U64,
        /// Walkers dropped at random by RED.
        drops_early: U64,
        /// Walkers dropped at RED's upper threshold.
        drops_forced: U64,
        /// Walkers dropped because the queue was full.
        drops_full: U64,
        /// Walkers dropped because they had waited for too long.
        drops_wait: U64,
        /// Of all dropped walkers, those born here.
        drops_own: U64,
        /// Datagrams sent.
        sent_datagrams: U64,
        /// Their bytes, UDP and IP headers not counted.
        sent_bytes: U64,
        /// Datagrams received and understood.
        received_datagrams: U64,
        /// Datagrams refused: not of random walks, of another version or job, or malformed.
        refused_datagrams: U64,
        /// Datagrams refused: without the job's tag, or not from a member's address.
        refused_strangers: U64,
        /// Records refused: for nodes or walks of other servers.
        refused_records: U64,
        /// Batches of changes of the graph that could not be applied.
        refused_changes: U64,
        /// Finished walks that could not be kept, or not be read back after a crash: they were repeated.
        refused_snapshots: U64,
        /// Starts after a crash.
        restarts: U64,
        /// Of the finished walks, those kept from before the last crash.
        restored: U64,
        /// When its last walk was finished; missing while unfinished.
        finished_ps: Nullable<U64>,
    }
}

table! {
    /// A sample of a server of random walks; counters count since the previous sample.
    "walks_series": WalkSample, WalksSeries {
        /// When.
        time_ps: U64,
        /// The job.
        job: Text,
        /// The server.
        host: Text,
        /// Walkers that wait now.
        queue: U64,
        /// Most that waited since the previous sample.
        queue_max: U64,
        /// Age from which walkers count as lost now.
        timeout_ps: U64,
        /// Walkers generated, lost ones again included.
        generated: U64,
        /// Walks finished, each counted once.
        finished: U64,
        /// Steps walked here.
        steps: U64,
        /// Walkers that came from other servers, dropped ones included.
        arrived: U64,
        /// Walkers served.
        served: U64,
        /// Walkers dropped at random by RED.
        drops_early: U64,
        /// Walkers dropped at RED's upper threshold.
        drops_forced: U64,
        /// Walkers dropped because the queue was full.
        drops_full: U64,
        /// Walkers dropped because they had waited for too long.
        drops_wait: U64,
        /// Of all dropped walkers, those born here.
        drops_own: U64,
        /// Walkers given up by timeout.
        lost_timeout: U64,
        /// Walkers given up because this server, where they were born, dropped them.
        lost_direct: U64,
        /// Sleeps between generations.
        sleeps: U64,
    }
}
