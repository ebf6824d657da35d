//! What the simulator has measured: handed out in slices, so that memory stays bounded.

use fabric::{Discard, Ecn, GroupLevel, Level, PoolLevel, PortId, Route, Sample};
use process::Addr;
use transport::tcp::{Header, SackBlock};
use units::Time;

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes were delivered.
    Finished,
    /// Nobody listened.
    Refused,
    /// One end aborted, or its host crashed.
    Reset,
    /// Retransmissions were given up.
    TimedOut,
    /// The run ended first.
    Unfinished,
}

/// A stream from its opening to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Running number.
    pub flow: u32,
    /// Index of its job.
    pub job: u32,
    /// What ties flows together.
    pub group: u64,
    /// The host that sent most of its bytes.
    pub from: Addr,
    /// The host that received them.
    pub to: Addr,
    /// Traffic class.
    pub class: u8,
    /// Application bytes delivered, both ways.
    pub bytes: u64,
    /// When it was opened.
    pub start: Time,
    /// When the last byte was delivered; `None` when it did not come to its end.
    pub end: Option<Time>,
    /// Segments with data, of both ends.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Acknowledgements with ECE.
    pub ece_acks: u64,
    /// Least round-trip time of the sender of data.
    pub min_rtt: Time,
    /// Its smoothed round-trip time at the end.
    pub srtt: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// The routes that its packets took at the end: to the receiver, and back.
    pub ways: [Option<(PortId, Route)>; 2],
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// Its process said so.
    Finished,
    /// Its host crashed.
    Lost,
    /// The run ended first.
    Unfinished,
}

/// A task on a job's timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Running number, from 1.
    pub task: u64,
    /// Index of its job.
    pub job: u32,
    /// Where it ran.
    pub host: u32,
    /// What it did.
    pub kind: &'static str,
    /// Its number among those of its kind.
    pub number: u64,
    /// When it began.
    pub start: Time,
    /// When it ended, or its host crashed; `None` while it is under way.
    pub end: Option<Time>,
    /// Bytes that it says it has dealt with.
    pub bytes: u64,
    /// How it ended.
    pub outcome: TaskOutcome,
}

/// A flow at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Running number.
    pub flow: u32,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Time,
    /// Bytes acknowledged so far.
    pub acked: u64,
}

/// PFC of a port and class at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSample {
    /// The port.
    pub port: PortId,
    /// 802.1p class.
    pub class: u8,
    /// What a switch holds of what came in by the port; nothing at hosts.
    pub group: GroupLevel,
    /// PAUSE frames sent that ask for a pause or renew one, since the sample before.
    pub xoff_sent: u64,
    /// Time that the class was paused, since the sample before.
    pub paused: Time,
}

/// A host at a moment: totals so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSample {
    /// IP bytes sent.
    pub sent_bytes: u64,
    /// IP bytes that its transports and processes were given.
    pub received_bytes: u64,
    /// Time of work given to cores, summed.
    pub core_busy: Time,
    /// Time of work given to the disk.
    pub disk_busy: Time,
}

/// Packets that a host could not send, or was not there to take. No port counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// Not sent: no route led to their destination.
    pub no_route: u64,
    /// Came while the host was down, or waited in it when it crashed.
    pub down: u64,
    /// Datagrams that came for a port that no process had bound.
    pub no_port: u64,
}

/// Totals of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// As sampled.
    pub totals: HostSample,
    /// Packets that its transports and processes were given.
    pub received_packets: u64,
    /// Packets that it did not send or take.
    pub drops: HostDrops,
    /// Packets to itself that were discarded on its loopback, which is not among the network's ports.
    pub loopback_drops: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Their data in bytes.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// How often it crashed.
    pub crashes: u64,
}

/// A job's totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// When it started.
    pub start: Time,
    /// When its last process was done.
    pub end: Option<Time>,
    /// The run does not wait for it.
    pub background: bool,
    /// Flows opened.
    pub flows: u64,
    /// Flows that were given up: refused, reset or timed out.
    pub flows_broken: u64,
    /// Application bytes delivered.
    pub bytes: u64,
}

/// Datagrams of a job between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramRecord {
    /// Index of the job.
    pub job: u32,
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Datagrams delivered.
    pub received_packets: u64,
    /// Their IP bytes.
    pub received_bytes: u64,
    /// Datagrams that either host dropped.
    pub drops: HostDrops,
}

/// What a captured packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A TCP segment.
    Tcp {
        /// Its header.
        header: Header,
        /// Its SACK blocks.
        sacks: Vec<SackBlock>,
        /// What its sender's MSS option says.
        mss: u32,
    },
    /// A datagram.
    Udp {
        /// Length of its content in bytes.
        len: u64,
    },
    /// A whole IP packet, of a host that is not simulated.
    Raw(Box<[u8]>),
}

/// A packet at a captured port.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSeen {
    /// When its first bit left, or when it was discarded.
    pub time: Time,
    /// The port.
    pub port: PortId,
    /// Sender.
    pub from: Addr,
    /// Receiver.
    pub to: Addr,
    /// Traffic class.
    pub class: u8,
    /// ECN field as it left.
    pub ecn: Ecn,
    /// The rest of it.
    pub transport: Transport,
    /// Why it was discarded, and the bytes in the queue then.
    pub discard: Option<(Discard, u64)>,
}

/// What was measured since it was last asked for.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Flows that ended.
    pub flows: Vec<FlowRecord>,
    /// Tasks that ended.
    pub tasks: Vec<TaskRecord>,
    /// Samples of ports; `sent_bytes`, `discards` and `marks` since the sample before.
    pub ports: Vec<(Time, PortId, Sample)>,
    /// Samples of the queues of a port's classes, once a packet has waited there.
    pub queues: Vec<(Time, PortId, u8, Level)>,
    /// Samples of PFC, once it has held or paused something.
    pub pauses: Vec<(Time, PauseSample)>,
    /// Samples of the memory that the ports of a switch share.
    pub pools: Vec<(Time, u32, PoolLevel)>,
    /// Samples of flows.
    pub flow_samples: Vec<(Time, FlowSample)>,
    /// Samples of hosts, each since the sample before.
    pub hosts: Vec<(Time, u32, HostSample)>,
    /// Captured packets, nearly in order of time.
    pub packets: Vec<PacketSeen>,
    /// What was done to the cluster: time, what, where.
    pub events: Vec<(Time, &'static str, String)>,
}
