//! What a member says of itself: now and then while it runs, and at the end.
//!
//! Plain data that can be sent between machines. Times are picoseconds since the start of the run.

use crate::settings::Datagrams;
use serde::{Deserialize, Serialize};

/// Counts since the start. What is dropped is counted under its reason, never silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Datagrams that the kernel took.
    pub sent_datagrams: u64,
    /// Their content in bytes.
    pub sent_bytes: u64,
    /// System calls that sent datagrams.
    pub send_calls: u64,
    /// Datagrams handed to processes.
    pub received_datagrams: u64,
    /// Their content in bytes.
    pub received_bytes: u64,
    /// System calls that brought datagrams.
    pub receive_calls: u64,
    /// Datagrams from an address outside of the job.
    pub foreign_datagrams: u64,
    /// Datagrams to a port that no process has bound.
    pub unbound_datagrams: u64,
    /// Datagrams longer than allowed, on the way in.
    pub truncated_datagrams: u64,
    /// Datagrams longer than allowed or than the path carries, on the way out.
    pub oversized_datagrams: u64,
    /// Datagrams to or from a port that the table doesn't have.
    pub unroutable_datagrams: u64,
    /// Datagrams that found the queue to the kernel full.
    pub queue_drops: u64,
    /// Datagrams that the kernel had no room for on the way in; those that it has joined count as one.
    pub kernel_drops: u64,
    /// Datagrams that the kernel refused for another reason.
    pub send_errors: u64,
    /// Times that the kernel's send buffer was full.
    pub send_waits: u64,
    /// Streams that began with something else than a member's greeting, or with nothing in time.
    pub foreign_streams: u64,
    /// Streams that ended because something on them was changed on the way.
    pub damaged_streams: u64,
    /// Streams that were one too many, on either side.
    pub refused_streams: u64,
    /// Bytes that processes wrote to streams and the kernel took.
    pub stream_sent_bytes: u64,
    /// Bytes that streams brought.
    pub stream_received_bytes: u64,
    /// Events that processes have handled.
    pub events: u64,
}

/// How far a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The member's host.
    pub host: u32,
    /// Time.
    pub time_ps: u64,
    /// Every process of this member that the run waits for has finished.
    pub finished: bool,
    /// Processor time of this operating system process.
    pub cpu_ps: u64,
    /// Streams open now.
    pub streams: u64,
    /// Totals.
    pub counters: Counters,
}

/// How a member's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It was told that the run is over.
    Stopped,
    /// A signal, or whoever is told of progress, ended it.
    Interrupted,
}

/// How a flow ended; the words are those of the table `flows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Both sides finished.
    Finished,
    /// Nobody listened.
    Refused,
    /// One end aborted, or is gone.
    Reset,
    /// No answer for too long.
    TimedOut,
    /// The run ended first.
    Unfinished,
}

/// A stream, reported by the side that opened it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Index of the job.
    pub job: u32,
    /// Which of its opener's streams it is.
    pub number: u64,
    /// What ties flows together.
    pub group: u64,
    /// The host that sent more.
    pub from: u32,
    /// The other.
    pub to: u32,
    /// Bytes of both directions.
    pub bytes: u64,
    /// When it was opened.
    pub start_ps: u64,
    /// When the opener knew that both sides were done.
    pub end_ps: Option<u64>,
    /// Segments with data that the opener sent.
    pub sent_packets: u64,
    /// Bytes of data in these.
    pub sent_bytes: u64,
    /// Segments with data that came to the opener.
    pub received_packets: u64,
    /// Bytes of data in these.
    pub received_bytes: u64,
    /// When the last byte came to the opener; missing when none has.
    pub received_ps: Option<u64>,
    /// Segments that the opener sent again.
    pub retransmits: u64,
    /// Its retransmission timeouts.
    pub timeouts: u64,
    /// Least round-trip time; missing without a sample.
    pub min_rtt_ps: Option<u64>,
    /// Smoothed round-trip time; missing without a sample.
    pub srtt_ps: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The side of a stream that did not open it, with [`crate::Settings::one_clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarEnd {
    /// The host that opened it.
    pub opener: u32,
    /// Which of that host's streams it is.
    pub number: u64,
    /// When the last byte came to this side; missing when none has.
    pub received_ps: Option<u64>,
    /// Segments with data that it sent.
    pub sent_packets: u64,
    /// Bytes of data in these.
    pub sent_bytes: u64,
    /// Segments that it sent again.
    pub retransmits: u64,
    /// Its retransmission timeouts.
    pub timeouts: u64,
    /// Least round-trip time; missing without a sample.
    pub min_rtt_ps: Option<u64>,
    /// Smoothed round-trip time; missing without a sample.
    pub srtt_ps: Option<u64>,
}

/// A stream at a moment, as the kernel of the side that has sent more says, with
/// [`crate::Settings::sample_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowSample {
    /// When.
    pub time_ps: u64,
    /// The host that opened it.
    pub opener: u32,
    /// Which of that host's streams it is.
    pub number: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Sent and not known to have left the network.
    pub in_flight_bytes: u64,
    /// Smoothed round-trip time; missing without a sample.
    pub srtt_ps: Option<u64>,
    /// Content acknowledged.
    pub acked_bytes: u64,
}

/// Datagrams of a job between this host and another; each side counts its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramRow {
    /// Index of the job.
    pub job: u32,
    /// The other host.
    pub peer: u32,
    /// Sent to it.
    pub sent_packets: u64,
    /// IP bytes of these.
    pub sent_bytes: u64,
    /// Came from it.
    pub received_packets: u64,
    /// IP bytes of these.
    pub received_bytes: u64,
}

/// A task on a job's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Its number, unique in the run.
    pub task: u64,
    /// Index of the job.
    pub job: u32,
    /// Where it ran.
    pub host: u32,
    /// What it did.
    pub kind: String,
    /// Its number among those of its kind.
    pub number: u64,
    /// When it began.
    pub start_ps: u64,
    /// When it ended; missing while under way.
    pub end_ps: Option<u64>,
    /// Bytes that it dealt with.
    pub bytes: u64,
}

/// A job, as far as this member goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its index.
    pub job: u32,
    /// When it began.
    pub start_ps: u64,
    /// When this member's process finished.
    pub end_ps: Option<u64>,
}

/// What a member has to say at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The member's host.
    pub host: u32,
    /// How its run ended.
    pub end: End,
    /// How datagrams went: what was used in the end, not what was asked for.
    pub datagrams: Datagrams,
    /// When it ended.
    pub time_ps: u64,
    /// Processor time of the thread that ran it.
    pub cpu_ps: u64,
    /// Totals.
    pub counters: Counters,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Streams that it opened.
    pub flows: Vec<FlowRow>,
    /// Streams that others opened.
    #[serde(default)]
    pub far_ends: Vec<FarEnd>,
    /// Samples of its open streams, in the order of time.
    #[serde(default)]
    pub flow_samples: Vec<FlowSample>,
    /// Flows that there was no memory to keep a row of.
    pub flows_not_kept: u64,
    /// Its datagrams by peer.
    pub datagram_rows: Vec<DatagramRow>,
    /// Its tasks.
    pub tasks: Vec<TaskRow>,
}
