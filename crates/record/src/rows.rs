//! The rows of every table of a run folder. A field is a column of the same name (without a trailing
//! underscore), its unit is the suffix: `_ps` picoseconds, `_bytes`, `_bps` bits a second.
//!
//! Names of jobs, hosts and ports are given as text and written as a dictionary.

use crate::column::{Column, ColumnData, F64, Label, Labels, Nullable, Text, U8, U64};
use crate::error::Error;
use crate::table::{Columns, Table};
use std::path::Path;

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes were read by the receiver.
    Finished,
    /// The receiver did not listen.
    Refused,
    /// One end aborted.
    Reset,
    /// Retransmissions were given up.
    TimedOut,
    /// The run ended first.
    Unfinished,
}

impl Label for Outcome {
    fn word(&self) -> &'static str {
        match self {
            Outcome::Finished => "finished",
            Outcome::Refused => "refused",
            Outcome::Reset => "reset",
            Outcome::TimedOut => "timed-out",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// It did its work.
    Finished,
    /// It ended, but gave up a part of its work.
    Failed,
    /// The run ended first.
    Unfinished,
    /// The run does not wait for it.
    Background,
}

impl Label for JobOutcome {
    fn word(&self) -> &'static str {
        match self {
            JobOutcome::Finished => "finished",
            JobOutcome::Failed => "failed",
            JobOutcome::Unfinished => "unfinished",
            JobOutcome::Background => "background",
        }
    }
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// It did what it was to do.
    Finished,
    /// Its host crashed.
    Lost,
    /// The run ended first.
    Unfinished,
}

impl Label for TaskOutcome {
    fn word(&self) -> &'static str {
        match self {
            TaskOutcome::Finished => "finished",
            TaskOutcome::Lost => "lost",
            TaskOutcome::Unfinished => "unfinished",
        }
    }
}

/// How a remote procedure call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// All replies came in time.
    Finished,
    /// All replies came, the last of them after the deadline.
    Late,
    /// A connection broke, or the client's host crashed.
    Failed,
    /// The run ended first.
    Unfinished,
}

impl Label for CallOutcome {
    fn word(&self) -> &'static str {
        match self {
            CallOutcome::Finished => "finished",
            CallOutcome::Late => "late",
            CallOutcome::Failed => "failed",
            CallOutcome::Unfinished => "unfinished",
        }
    }
}

/// The kind of node that owns the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// A host's network interface.
    Host,
    /// A switch's port.
    Switch,
}

impl Label for PortKind {
    fn word(&self) -> &'static str {
        match self {
            PortKind::Host => "host",
            PortKind::Switch => "switch",
        }
    }
}

/// A row, its columns and the table's name from one list.
macro_rules! table {
    ($(#[$doc:meta])* $table:literal: $row:ident, $columns:ident {
        $($(#[$field_doc:meta])* $field:ident: $column:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row<'a> {
            $($(#[$field_doc])* pub $field: <$column as Column>::Cell<'a>,)*
        }

        #[doc = concat!("Columns of the table `", $table, "`.")]
        #[derive(Debug, Default)]
        pub struct $columns {
            $(pub(crate) $field: $column,)*
        }

        impl Columns for $columns {
            const TABLE: &'static str = $table;
            type Row<'a> = $row<'a>;
            fn push(&mut self, row: $row<'_>) {
                $(self.$field.push(row.$field);)*
            }
            fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)> {
                vec![$((stringify!($field).trim_end_matches('_'), &self.$field),)*]
            }
            fn clear(&mut self) {
                $(self.$field.clear();)*
            }
        }
    };
}

table! {
    /// A job.
    "jobs": Job, Jobs {
        /// Its name.
        job: Text,
        /// What it does, as the scenario names it (`incast`, `coflows`…).
        kind: Text,
        /// When it began.
        start_ps: U64,
        /// When its work was done; missing unless it finished.
        end_ps: Nullable<U64>,
        /// Flows it opened.
        flows: U64,
        /// Bytes that its receivers read.
        bytes: U64,
        /// How it ended. `failed`: it gave up a part of its work (a flow, a receiver, a program).
        /// `background`: the run does not wait for it.
        outcome: Labels<JobOutcome>,
    }
}

table! {
    /// A task on a job's timeline, as the job reports it. Tasks may overlap and lie within one another.
    "tasks": Task, Tasks {
        /// Its number in the run, from 1; the `group` of the flows that it opened, itself or by another task.
        task: U64,
        /// The job.
        job: Text,
        /// Where it ran.
        host: Text,
        /// What it did: `map`, `shuffle`, `reduce`…
        kind: Text,
        /// Its number among the tasks of its kind.
        number: U64,
        /// When it began.
        start_ps: U64,
        /// When it ended, or its host crashed; missing if it was in progress at the end of the run.
        end_ps: Nullable<U64>,
        /// Bytes that it processed.
        bytes: U64,
        /// How it ended.
        outcome: Labels<TaskOutcome>,
    }
}

table! {
    /// A flow: a stream, `from` the host that sent most of its data.
    "flows": Flow, Flows {
        /// Its number in the run, from 0.
        flow: U64,
        /// The job that opened it.
        job: Text,
        /// Ties flows together: a coflow, a round.
        group: U64,
        /// Sending host.
        from: Text,
        /// Receiving host.
        to: Text,
        /// 802.1p class.
        class: U8,
        /// Bytes of data delivered, in both directions.
        bytes: U64,
        /// When it was opened.
        start_ps: U64,
        /// When the receiver read the last byte; missing when it never did.
        end_ps: Nullable<U64>,
        /// Packets with data sent, retransmissions included; neither acknowledgements nor SYN and FIN alone.
        /// On sockets, sent and received packets as the opening host's kernel counts them.
        sent_packets: U64,
        /// Bytes of these packets with their IP and TCP headers; on sockets without.
        sent_bytes: U64,
        /// Segments sent again, SYN and FIN included.
        retransmits: U64,
        /// Retransmission timeouts.
        timeouts: U64,
        /// Entries into fast recovery.
        fast_recoveries: U64,
        /// Tail loss probes sent.
        tail_loss_probes: U64,
        /// Acknowledgements with ECN-Echo that arrived at either end.
        ece_acks: U64,
        /// Least round-trip time; missing without a sample.
        min_rtt_ps: Nullable<U64>,
        /// Smoothed round-trip time at the end; missing without a sample.
        srtt_ps: Nullable<U64>,
        /// How it ended.
        outcome: Labels<Outcome>,
        /// The ports that its data crossed, in order, separated by spaces; after a link has failed, those of
        /// its last path. Missing if there was no path, or none is known.
        path: Nullable<Text>,
        /// The same for its acknowledgements.
        path_back: Nullable<Text>,
    }
}

table! {
    /// The command of a program on an emulated host.
    "commands": Command, Commands {
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// When it started.
        start_ps: U64,
        /// When it exited; missing if it ran at the end of the run.
        end_ps: Nullable<U64>,
        /// Its exit code, as a shell has it: above 128 for a signal; missing if it ran at the end of the run.
        exit_code: Nullable<U8>,
    }
}

table! {
    /// A remote procedure call.
    "calls": Call, Calls {
        /// The job.
        job: Text,
        /// The client.
        host: Text,
        /// Its number among the client's calls, from 0.
        number: U64,
        /// When it began.
        start_ps: U64,
        /// When its last reply was complete, or its last connection broke; missing if it was in progress at
        /// the end of the run.
        end_ps: Nullable<U64>,
        /// Bytes of its requests, and of the replies that came.
        bytes: U64,
        /// How it ended. `late`: after its deadline.
        outcome: Labels<CallOutcome>,
    }
}

table! {
    /// Datagrams of a job between two hosts.
    "datagrams": Datagrams, DatagramTotals {
        /// The job.
        job: Text,
        /// Sending host.
        from: Text,
        /// Receiving host.
        to: Text,
        /// Datagrams sent.
        sent_packets: U64,
        /// Their bytes with IP and UDP headers; on sockets without.
        sent_bytes: U64,
        /// Datagrams that a process received.
        received_packets: U64,
        /// Their bytes, as in `sent_bytes`.
        received_bytes: U64,
        /// Datagrams that the sender dropped, because no route led to the receiver. Missing on sockets, as
        /// are the next two. The ports count all others that did not arrive.
        drops_no_route: Nullable<U64>,
        /// Datagrams that arrived while the receiver was down, or waited in it when it crashed.
        drops_down: Nullable<U64>,
        /// Datagrams that arrived for a port that no process had bound.
        drops_no_port: Nullable<U64>,
    }
}

table! {
    /// A port: the sending side of one end of a link.
    "ports": Port, Ports {
        /// `node:peer`, with `#2` for a second parallel link.
        port: Text,
        /// The node that sends.
        node: Text,
        /// The node at the other end.
        peer: Text,
        /// The kind of node that owns the port.
        kind: Labels<PortKind>,
        /// Rate at the end of the run.
        rate_bps: U64,
        /// Packets sent.
        sent_packets: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Bytes sent with framing.
        wire_bytes: U64,
        /// Time during which a packet was being sent.
        busy_ps: U64,
        /// `busy_ps` divided by the length of the run, 0 to 1.
        utilisation: F64,
        /// Packets accepted into the queue.
        enqueued_packets: U64,
        /// Packets that arrived from the peer and were discarded before a queue: no route, bad checksum,
        /// `drops_pool`, `drops_headroom`.
        in_discards: U64,
        /// Packets discarded at egress: all other `drops_`.
        out_discards: U64,
        /// No room in the port's or the queue's share.
        drops_tail: U64,
        /// RED, CoDel or step marking of packets that are not ECN-capable, and RED above its thresholds.
        drops_early: U64,
        /// No room in the shared pool for a packet that arrived here.
        drops_pool: U64,
        /// Larger than the link's MTU.
        drops_mtu: U64,
        /// The link was down.
        drops_down: U64,
        /// Lossless packets that arrived here after XOFF and found the PFC headroom full.
        drops_headroom: U64,
        /// Discarded by the PFC watchdog.
        drops_watchdog: U64,
        /// A cell of the packet found the queue full, or the rest was then rejected (ATM).
        drops_cell: U64,
        /// Added by the receiver to the cells of a packet that had lost its last cell (AAL5).
        drops_merged: U64,
        /// Lost on the link by a fault.
        lost: U64,
        /// Corrupted on the link by a fault.
        corrupted: U64,
        /// Packets marked with congestion experienced.
        marks: U64,
        /// PAUSE frames (PFC) sent to the peer.
        pause_sent: U64,
        /// PAUSE frames received from the peer.
        pause_received: U64,
        /// Time during which the peer had paused at least one class.
        paused_ps: U64,
        /// Longest queue in IP bytes; of cells, 53 bytes each.
        queue_max_bytes: U64,
        /// Longest queue in packets; 0 where cells wait.
        queue_max_packets: U64,
        /// Longest single virtual output queue, in IP bytes; missing without them.
        voq_max_bytes: Nullable<U64>,
        /// Cells that arrived for this port (ATM); missing at other ports.
        cells: Nullable<U64>,
        /// Of these, rejected by the queue.
        cells_dropped: Nullable<U64>,
        /// Most cells that waited at a time.
        queue_max_cells: Nullable<U64>,
        /// IP bytes of fluid (background with `model: fluid`) that it accepted.
        fluid_bytes: U64,
        /// IP bytes of fluid that found no room.
        fluid_lost_bytes: U64,
        /// Median of the time waited in the queue; missing when nothing was sent.
        wait_p50_ps: Nullable<U64>,
        /// 99th percentile of the time waited.
        wait_p99_ps: Nullable<U64>,
        /// 99.9th percentile of the time waited.
        wait_p999_ps: Nullable<U64>,
        /// Longest time waited.
        wait_max_ps: Nullable<U64>,
    }
}

table! {
    /// Priority-based flow control of a port in one lossless class.
    "pauses": Pause, Pauses {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// PAUSE frames sent that ask for a pause or renew one.
        xoff_sent: U64,
        /// PAUSE frames sent that end a pause.
        xon_sent: U64,
        /// PAUSE frames received that ask for a pause or renew one.
        xoff_received: U64,
        /// PAUSE frames received that end a pause.
        xon_received: U64,
        /// Time during which the peer had paused the class.
        paused_ps: U64,
        /// Most memory held by packets that arrived at the port (switches).
        held_max_bytes: U64,
        /// Most headroom that they took.
        headroom_max_bytes: U64,
        /// Storms that the watchdog found.
        storms: U64,
        /// Storms that it found to be over.
        restored: U64,
        /// Packets that it discarded.
        storm_drops: U64,
    }
}

/// Why a port asks its peer to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// What had come from the peer waited at a port that was sending.
    Congested,
    /// It waited at a port that was paused itself.
    Paused,
    /// A broken host asks for it.
    Storm,
}

impl Label for PauseCause {
    fn word(&self) -> &'static str {
        match self {
            PauseCause::Congested => "congested",
            PauseCause::Paused => "paused",
            PauseCause::Storm => "storm",
        }
    }
}

table! {
    /// Pauses with one cause, where `measure.interval` is set. A pause lasts from XOFF to XON at the port
    /// that asks for it.
    "pause_causes": PauseCauses, PausesByCause {
        /// The port that asks for pauses: what came in by it crossed XOFF.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// The peer's port that is paused.
        paused: Text,
        /// Why. `congested`: most of the memory was held by packets that waited at `egress`, which was
        /// sending. `paused`: the same, but `egress` was paused itself. `storm`: a broken host asks.
        cause: Labels<PauseCause>,
        /// The port of the switch where most of the memory was held at XOFF; missing in a storm.
        egress: Nullable<Text>,
        /// How many pauses.
        pauses: U64,
        /// Time from XOFF to XON, summed.
        asked_ps: U64,
        /// The longest of these times.
        asked_max_ps: U64,
    }
}

table! {
    /// The queue of a class at a port that has one for each class.
    "queues": Queue, Queues {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Longest queue in IP bytes.
        queue_max_bytes: U64,
    }
}

table! {
    /// The memory that the ports of a switch share.
    "pools": Pool, Pools {
        /// Its name.
        switch: Text,
        /// Shared memory: what reserves and headroom leave.
        size_bytes: U64,
        /// The most of it that was in use, in whole cells.
        used_max_bytes: U64,
        /// Memory set aside as headroom of PFC.
        headroom_size_bytes: U64,
        /// The most of it that was in use.
        headroom_max_bytes: U64,
    }
}

table! {
    /// A way of an ECMP group, where `measure.interval` is set: a port among several that lead to the same
    /// hosts in as few hops. Groups are those of the whole network, before faults.
    "ways": EcmpWay, EcmpWays {
        /// The node that chooses.
        node: Text,
        /// Its groups, from 0.
        group: U64,
        /// `node:peer`; its bytes are in `ports` and `ports_series`.
        port: Text,
        /// Hosts that the group leads to.
        destinations: U64,
    }
}

table! {
    /// A bucket of a port's histogram of waiting times.
    "waits": Wait, Waits {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Lower bound of the bucket, inclusive.
        from_ps: U64,
        /// Upper bound of the bucket, exclusive.
        to_ps: U64,
        /// Packets whose wait is in the bucket.
        packets: U64,
    }
}

table! {
    /// A host.
    "hosts": Host, Hosts {
        /// Its name.
        host: Text,
        /// IP bytes sent.
        sent_bytes: U64,
        /// IP bytes that arrived intact, while the host was up.
        received_bytes: U64,
        /// Packets that it could not send, because no route led to their destination. `flows` and `datagrams`
        /// count them as sent; ports do not. Missing on sockets.
        drops_no_route: Nullable<U64>,
        /// Packets that arrived while it was down, or waited in it when it crashed. Missing on sockets.
        drops_down: Nullable<U64>,
        /// Datagrams that arrived for a port that no process had bound.
        drops_no_port: U64,
        /// Segments sent again.
        retransmits: U64,
        /// Their data in bytes.
        retransmitted_bytes: U64,
        /// Retransmission timeouts.
        timeouts: U64,
        /// Computing time, summed over its cores.
        core_busy_ps: U64,
        /// Time during which its disk was busy.
        disk_busy_ps: U64,
        /// Its crashes.
        crashes: U64,
    }
}

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

/// How a host fared in a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// It has everything, and has checked it.
    Complete,
    /// It could not go on.
    Failed,
    /// The coordinator had given it up: it did not answer any more, and did not come back.
    Gone,
    /// The run ended first.
    Unfinished,
}

impl Label for CopyOutcome {
    fn word(&self) -> &'static str {
        match self {
            CopyOutcome::Complete => "complete",
            CopyOutcome::Failed => "failed",
            CopyOutcome::Gone => "gone",
            CopyOutcome::Unfinished => "unfinished",
        }
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

/// How a program on remote memory fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramOutcome {
    /// It has done all its accesses.
    Finished,
    /// Its memory node was gone.
    Lost,
    /// The run ended first.
    Unfinished,
}

impl Label for ProgramOutcome {
    fn word(&self) -> &'static str {
        match self {
            ProgramOutcome::Finished => "finished",
            ProgramOutcome::Lost => "lost",
            ProgramOutcome::Unfinished => "unfinished",
        }
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

table! {
    /// A sample of a port; counters count since the previous sample.
    "ports_series": PortSample, PortsSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class; missing: all classes together.
        class: Nullable<U8>,
        /// Queue length now, in IP bytes.
        queue_bytes: U64,
        /// Queue length now, in packets.
        queue_packets: U64,
        /// Watermark: the longest queue since the previous sample, in IP bytes.
        queue_max_bytes: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Packets discarded.
        drops: U64,
        /// Of these, at ingress.
        in_discards: U64,
        /// Of these, at egress.
        out_discards: U64,
        /// Packets marked.
        marks: U64,
        /// PAUSE frames (PFC) sent.
        pause_sent: U64,
        /// PAUSE frames received.
        pause_received: U64,
        /// Time during which PFC paused at least one class.
        paused_ps: U64,
    }
}

table! {
    /// Samples of a port in a longer step, in `ports_levels`. A step that two parts share has a row in both.
    "ports_levels": PortLevel, PortsLevels {
        /// Length of the level's steps, from time 0 on.
        step_ps: U64,
        /// When the last of its samples was taken.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// The shortest sampled queue, in IP bytes.
        queue_min_bytes: U64,
        /// The longest sampled queue.
        queue_max_bytes: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Packets discarded.
        drops: U64,
        /// Packets marked.
        marks: U64,
        /// Time during which PFC paused at least one class.
        paused_ps: U64,
    }
}

table! {
    /// A sample of the queue of a class. A queue's rows begin when a packet has waited there.
    "queues_series": QueueSample, QueuesSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Queue length now, in IP bytes.
        queue_bytes: U64,
        /// Watermark: the longest queue since the previous sample.
        queue_max_bytes: U64,
    }
}

table! {
    /// A sample of the memory that the ports of a switch share.
    "pools_series": PoolSample, PoolsSeries {
        /// When.
        time_ps: U64,
        /// The switch.
        switch: Text,
        /// Shared memory in use now.
        used_bytes: U64,
        /// Watermark: the most in use since the previous sample.
        used_max_bytes: U64,
        /// Headroom of PFC in use now.
        headroom_bytes: U64,
        /// Watermark: the most headroom in use since the previous sample.
        headroom_max_bytes: U64,
    }
}

table! {
    /// A sample of PFC at a port in a lossless class; counters count since the previous sample. Rows begin
    /// when something was held or paused.
    "pauses_series": PauseSample, PausesSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Memory held now by packets that arrived at the port (switches).
        held_bytes: U64,
        /// Watermark: the most since the previous sample.
        held_max_bytes: U64,
        /// Headroom that they take now.
        headroom_bytes: U64,
        /// Watermark: the most headroom since the previous sample.
        headroom_max_bytes: U64,
        /// PAUSE frames sent that ask for a pause or renew one.
        xoff_sent: U64,
        /// Time during which the peer had paused the class.
        paused_ps: U64,
    }
}

table! {
    /// A sample of a flow.
    "flows_series": FlowSample, FlowsSeries {
        /// When.
        time_ps: U64,
        /// Its number, as in `flows`.
        flow: U64,
        /// Congestion window now.
        cwnd_bytes: U64,
        /// Sent and not known to have left the network.
        in_flight_bytes: U64,
        /// Smoothed round-trip time; missing without a sample.
        srtt_ps: Nullable<U64>,
        /// Bytes acknowledged since the flow began.
        acked_bytes: U64,
    }
}

table! {
    /// A sample of a host; counters count since the previous sample.
    "hosts_series": HostSample, HostsSeries {
        /// When.
        time_ps: U64,
        /// Its name.
        host: Text,
        /// IP bytes sent.
        sent_bytes: U64,
        /// IP bytes that arrived intact, while the host was up.
        received_bytes: U64,
        /// Computing time, summed over its cores.
        core_busy_ps: U64,
        /// Time during which its disk was busy.
        disk_busy_ps: U64,
    }
}

table! {
    /// An event in the cluster: a fault that was applied, or a PFC storm or deadlock that was found. Drops of
    /// packets are counted, not listed.
    "events": Event, Events {
        /// When.
        time_ps: U64,
        /// What happened, in the scenario's words (`link-down`).
        what: Text,
        /// Host, or link as `a:b`.
        where_: Text,
    }
}

macro_rules! tables {
    ($($(#[$doc:meta])* $field:ident: $columns:ty,)*) => {
        /// Every table of a run. Each can be pushed to on its own; all are written by [`Tables::finish`].
        #[derive(Debug)]
        pub struct Tables {
            $($(#[$doc])* pub $field: Table<$columns>,)*
        }

        impl Tables {
            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$(<$columns>::TABLE,)*];

            pub(crate) fn new(run: &Path, part_rows: usize) -> Tables {
                Tables { $($field: Table::new(run, part_rows),)* }
            }

            /// Writes what waits, small tables first, so that a disk that is nearly full takes as many
            /// tables as possible. All are tried.
            ///
            /// # Errors
            /// The first failure.
            pub fn finish(mut self) -> Result<(), Error> {
                let mut result = Ok(());
                $(result = result.and(self.$field.finish());)*
                result
            }
        }
    };
}

tables! {
    /// Jobs.
    jobs: Jobs,
    /// Hosts.
    hosts: Hosts,
    /// Ports.
    ports: Ports,
    /// Events.
    events: Events,
    /// Datagrams.
    datagrams: DatagramTotals,
    /// Tasks.
    tasks: Tasks,
    /// Waiting times.
    waits: Waits,
    /// Pauses.
    pauses: Pauses,
    /// Pauses by cause.
    pause_causes: PausesByCause,
    /// Queues of classes.
    queues: Queues,
    /// Shared memory of switches.
    pools: Pools,
    /// Ways of ECMP.
    ways: EcmpWays,
    /// Flows.
    flows: Flows,
    /// Remote procedure calls.
    calls: Calls,
    /// Commands on emulated hosts.
    commands: Commands,
    /// Random walks at servers.
    walks: Walks,
    /// Hosts of broadcasts.
    broadcasts: Broadcasts,
    /// Passes of mining.
    passes: MinePasses,
    /// Programs on remote memory.
    programs: RemotePrograms,
    /// Page faults.
    faults: PageFaults,
    /// Samples of hosts.
    hosts_series: HostsSeries,
    /// Samples of servers of random walks.
    walks_series: WalksSeries,
    /// Samples of hosts of broadcasts.
    broadcasts_series: BroadcastsSeries,
    /// Samples of shared memory.
    pools_series: PoolsSeries,
    /// Samples of PFC.
    pauses_series: PausesSeries,
    /// Samples of queues of classes.
    queues_series: QueuesSeries,
    /// Samples of ports.
    ports_series: PortsSeries,
    /// Samples of flows.
    flows_series: FlowsSeries,
}
