//! A scenario as plain data, checked and in base units: what the Python package hands over as JSON.
//!
//! Times are picoseconds, sizes bytes, rates bits per second. Names of hosts and switches are the
//! topology's. Unknown fields are refused here too, so the two sides can't drift apart unseen.

use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

/// One run: a cluster, what it is asked to do, what goes wrong, what is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Shown in results.
    pub name: String,
    /// All randomness of the run derives from it.
    pub seed: u64,
    /// Who is connected to whom.
    pub topology: Topology,
    /// Bytes a packet costs on the wire beyond its IP length.
    pub framing: Framing,
    /// Settings of switches; the last rule whose pattern matches a switch counts.
    pub switches: Vec<SwitchRule>,
    /// Settings of hosts; the last rule whose pattern matches a host counts.
    pub hosts: Vec<HostRule>,
    /// What the cluster does.
    pub jobs: Vec<Job>,
    /// What goes wrong, in any order.
    pub faults: Vec<Fault>,
    /// What is recorded beyond the totals.
    pub measure: Measure,
    /// The run ends here at the latest; without it, when all jobs have ended (`background` jobs don't count).
    pub until: Option<Time>,
}

/// Who is connected to whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// `hosts` hosts `host0…` on one switch `switch0`.
    SingleSwitch {
        /// Number of hosts.
        hosts: u32,
        /// Every host's link.
        host_link: LinkSpec,
    },
    /// `left` hosts `left0…` on `switch0`, `right` hosts `right0…` on `switch1`, one link between the switches.
    Dumbbell {
        /// Hosts on the left.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// The link between the switches.
        bottleneck: LinkSpec,
    },
    /// Leaves `leaf0…` of the given sizes, each connected to every spine `spine0…`; hosts `host0…` in order of leaves.
    LeafSpine {
        /// Hosts on each leaf.
        leaves: Vec<u32>,
        /// Number of spines.
        spines: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// Each link between a leaf and a spine.
        uplink: LinkSpec,
        /// Parallel links between a leaf and a spine.
        uplinks_per_spine: u32,
    },
    /// The three-tier fat tree of Al-Fares et al. 2008 from switches of `k` ports: k³/4 hosts `host0…`,
    /// switches `edge0…`, `agg0…`, `core0…`.
    FatTree {
        /// Ports a switch; even.
        k: u32,
        /// Every host's link.
        host_link: LinkSpec,
        /// Each link between switches.
        fabric_link: LinkSpec,
    },
    /// Any graph.
    Graph {
        /// Hosts and switches.
        nodes: Vec<NodeSpec>,
        /// Links between them.
        links: Vec<GraphLink>,
    },
}

/// A link's properties, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Data rate on the wire.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Largest IP packet that it carries; larger ones are discarded.
    pub mtu: Bytes,
}

/// A node of a graph topology.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// Hosts run processes, switches forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives, never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A link of a graph topology, by the names of its ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// From `a` to `b`.
    pub ab: LinkSpec,
    /// From `b` to `a`.
    pub ba: LinkSpec,
}

/// What a packet costs on the wire: `max(ip_bytes, min_payload) + overhead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Ethernet: preamble 8, header 14, FCS 4, gap 12: 38.
    pub overhead: Bytes,
    /// Ethernet: 46.
    pub min_payload: Bytes,
}

/// Settings for the switches whose name matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRule {
    /// A name; `*` stands for any text.
    pub pattern: String,
    /// The settings.
    pub config: Switch,
}

/// A switch's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Where packets wait.
    pub buffer: Buffer,
    /// What happens on entering or leaving a queue.
    pub queue: Queue,
    /// Queues of single classes where they differ from `queue`: (class 0–7, queue).
    pub class_queues: Vec<(u8, Queue)>,
    /// Which queue is served next.
    pub scheduler: Scheduler,
    /// Priority-based flow control; needs a shared buffer and the scheduler `ets`.
    pub pfc: Option<Pfc>,
}

/// Priority-based flow control (802.1Qbb).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pfc {
    /// Lossless classes, 0–7.
    pub classes: Vec<u8>,
    /// From where on an ingress port and class asks its peer to pause.
    pub xoff: Xoff,
    /// The peer goes on when no more than this is held.
    pub xon: Bytes,
    /// Memory of each ingress port and class for what comes after XOFF; set aside from the buffer.
    pub headroom: Bytes,
    /// Headroom that all ports and classes share; without it, each has its own.
    pub headroom_pool: Option<Bytes>,
    /// Length of a pause in quanta of 512 bit times.
    pub quanta: u16,
    /// Finds storms of PAUSE frames and acts.
    pub watchdog: Option<Watchdog>,
}

/// The XOFF threshold of an ingress port and class, beyond its reserve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Xoff {
    /// So many bytes.
    Static {
        /// The threshold.
        limit: Bytes,
    },
    /// `alpha` times the shared memory that is free.
    Dynamic {
        /// Threshold factor, above zero.
        alpha: f64,
    },
}

/// A PFC watchdog, with SONiC's meaning of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// Time between looks at the queues.
    pub poll: Time,
    /// A queue that is paused and sends nothing for so long is in a storm.
    pub detection: Time,
    /// The storm is over when no PAUSE has come for so long.
    pub restoration: Time,
    /// What happens to the queue's packets meanwhile.
    pub action: WatchdogAction,
}

/// What a watchdog does with a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Its packets are discarded.
    Drop,
    /// It ignores PAUSE.
    Forward,
}

/// How buffer memory is shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Buffer {
    /// Each port has its own memory.
    Static {
        /// Room of a port, not counting the packet that is being sent.
        limit: Depth,
    },
    /// One pool with dynamic thresholds (Choudhury & Hahne 1998): a queue may hold
    /// `reserve + alpha × (free shared memory)`.
    Shared {
        /// The pool, reserves included.
        size: Bytes,
        /// Threshold factor, above zero.
        alpha: f64,
        /// Guaranteed to each queue.
        reserve: Bytes,
        /// Memory is given in multiples of it (1: exact bytes).
        cell: Bytes,
    },
    /// Virtual output queues: one for each port of entry, port of exit and class. A queue may hold its even
    /// share of the reserved part, and beyond it up to `alpha × (free dynamic memory)`, in all up to `cap`.
    Voq {
        /// The memory.
        size: Bytes,
        /// Part of it that is shared out evenly as a guaranteed minimum, 0 to 1.
        reserved: f64,
        /// Part of it that is kept for multicast, which unicast can't use, 0 to 1.
        multicast: f64,
        /// Most that one queue may hold.
        cap: Bytes,
        /// Threshold factor on the dynamic part, above zero.
        alpha: f64,
        /// Memory is given in multiples of it (1: exact bytes).
        cell: Bytes,
    },
}

/// A queue length, in the unit that the operator thinks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// IP bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// What happens on entering a queue, or on leaving it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// Accept while there is room.
    TailDrop {},
    /// Mark (drop where not ECN-capable) when the instantaneous length exceeds `threshold` (RFC 8257's K).
    Step {
        /// K.
        threshold: Depth,
    },
    /// Random early detection (Floyd & Jacobson 1993).
    Red {
        /// Below: nothing happens.
        min: Depth,
        /// From here on every packet is marked or dropped; with `gentle`, from twice this length. Same unit as `min`.
        max: Depth,
        /// Probability reached at `max`.
        max_p: f64,
        /// Weight of a new sample in the average; 1 is the instantaneous length.
        weight: f64,
        /// Rise from `max_p` to 1 between `max` and twice `max`.
        gentle: bool,
        /// Mark ECN-capable packets instead of dropping them (between the thresholds; above, they are dropped).
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): drops on leaving.
    Codel {
        /// A standing wait up to this is accepted.
        target: Time,
        /// Waits above the target for so long are a standing queue; at least `target`.
        interval: Time,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
    },
}

/// Which queue of a port is served next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// One queue for all classes.
    Fifo {},
    /// 802.1Qaz: strict classes first, highest number first; the others share by deficit round robin.
    Ets {
        /// Strict classes.
        strict: Vec<u8>,
        /// (class, weight) of every other class.
        weights: Vec<(u8, u32)>,
    },
}

/// Settings for the hosts whose name matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// A name; `*` stands for any text.
    pub pattern: String,
    /// The settings.
    pub config: Host,
}

/// A host's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Largest IP packet that it sends.
    pub mtu: Bytes,
    /// Bytes that the stack leaves in the NIC's queue before flows wait their turn (Linux: BQL and TSQ).
    pub nic_queue: Bytes,
    /// Cores.
    pub cores: u32,
    /// Disk rate, reads and writes together.
    pub disk: Rate,
    /// TCP's settings.
    pub tcp: Tcp,
}

/// TCP settings of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Congestion control.
    pub congestion: Congestion,
    /// As Linux's `tcp_ecn`.
    pub ecn: Ecn,
    /// A SYN that was lost is sent again without asking for ECN, as Linux's `tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// Selective acknowledgements.
    pub sack: bool,
    /// RACK loss detection (RFC 8985); needs SACK.
    pub rack: bool,
    /// Tail loss probe (RFC 8985); needs RACK.
    pub tail_loss_probe: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Timestamps option (RFC 7323): 12 bytes a segment.
    pub timestamps: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// CUBIC leaves slow start by HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Retransmission timeout before the first round-trip sample.
    pub rto_initial: Span,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Greatest retransmission timeout.
    pub rto_max: Span,
    /// An acknowledgement at least every so many full segments (RFC 5681: 2; 1 is no delay).
    pub ack_every: u32,
    /// A delayed acknowledgement waits at most so long.
    pub delayed_ack: Time,
    /// Receive buffer at the start.
    pub receive_buffer: Bytes,
    /// Receive buffer that autotuning may reach.
    pub receive_buffer_max: Bytes,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// DCTCP's estimation gain g as a shift: 4 is 1/16 (RFC 8257).
    pub dctcp_shift: u32,
    /// H-TCP's increase is scaled by the round-trip time.
    pub htcp_rtt_scaling: bool,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// draft-leith-tcp-htcp-06.
    Htcp,
    /// Version 1: draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
}

/// As Linux's `tcp_ecn`: 0, 1, 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// 0: never.
    Off,
    /// 1: asks for it and agrees to it.
    On,
    /// 2: agrees when asked.
    Passive,
}

/// One time, or one drawn at random for each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// The same on every host.
    Fixed(Time),
    /// Uniform between the two, drawn once for each host.
    Uniform(Time, Time),
}

/// What the cluster does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Unique name.
    pub name: String,
    /// When it begins.
    pub start: Time,
    /// 802.1p class of its packets, 0–7.
    pub class: u8,
    /// What it does.
    pub work: Work,
}

/// The work of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// One flow a pair, all at once.
    Bulk {
        /// (from, to).
        pairs: Vec<(String, String)>,
        /// Size of each flow.
        bytes: Bytes,
    },
    /// All senders answer one receiver at the same time; the next round begins when the last byte is there.
    Incast {
        /// Who sends.
        senders: Vec<String>,
        /// Who receives.
        receiver: String,
        /// Size of each answer.
        bytes: Bytes,
        /// How often.
        rounds: u32,
    },
    /// Every host sends to one other and receives from one other, drawn from the seed.
    Permutation {
        /// Who takes part.
        hosts: Vec<String>,
        /// Size of each flow.
        bytes: Bytes,
    },
    /// Every host sends to every other.
    AllToAll {
        /// Who takes part.
        hosts: Vec<String>,
        /// Size of each flow.
        bytes: Bytes,
        /// Flows that a host has open at a time.
        parallel: u32,
    },
    /// Flows between random pairs, Poisson arrivals, sizes from a distribution.
    Load {
        /// Who takes part.
        hosts: Vec<String>,
        /// Cumulative distribution: (bytes, probability up to it), ascending, ends at probability 1.
        sizes: Vec<(u64, f64)>,
        /// Part of the hosts' link rate that is offered, above 0.
        load: f64,
        /// Arrivals end after it.
        duration: Time,
    },
    /// A list of flows.
    Replay {
        /// The flows, by time.
        flows: Vec<FlowSpec>,
    },
    /// Coflows: every mapper sends each reducer its part at the same time.
    Coflows {
        /// The coflows, by time.
        coflows: Vec<CoflowSpec>,
    },
    /// Datagrams or streams at a constant rate between pairs, until the run ends.
    Background {
        /// (from, to).
        pairs: Vec<(String, String)>,
        /// Rate of a pair, IP bytes counted.
        rate: Rate,
        /// How it travels.
        over: Carrier,
        /// How it is modelled.
        model: Model,
        /// Ends so long after `start`; without it, with the run.
        duration: Option<Time>,
    },
    /// TeraSort on Hadoop.
    Shuffle(Box<Shuffle>),
}

/// TeraSort on MapReduce or Tez.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// What runs its tasks.
    pub framework: Framework,
    /// Input; so much is shuffled and written too.
    pub bytes: Bytes,
    /// HDFS block: a map reads one.
    pub block: Bytes,
    /// Where the application master and the metadata are.
    pub master: String,
    /// Where containers run.
    pub compute: Vec<String>,
    /// Where blocks are.
    pub data: Vec<String>,
    /// Where containers' logs go.
    pub log_nodes: Vec<String>,
    /// Containers that a compute node runs at a time.
    pub slots: u32,
    /// Reduce tasks.
    pub reduces: u32,
    /// Copies of each input block.
    pub input_replication: u32,
    /// Copies of the output.
    pub output_replication: u32,
    /// Log that a container uploads at its end; 0: none.
    pub log_bytes: Bytes,
    /// Fetches that a reduce has open at a time.
    pub parallel_copies: u32,
    /// Parts of the maps after which reduces begin to be started, and after which all may be.
    pub slow_start: (f64, f64),
    /// A map's sort buffer.
    pub io_sort: Bytes,
    /// Memory of a reduce.
    pub reduce_memory: Bytes,
    /// Part of the memory that fetched map output may fill.
    pub shuffle_buffer: f64,
    /// Part of that buffer at which it is merged to disk.
    pub merge_at: f64,
    /// How long things take on a host.
    pub costs: ShuffleCosts,
}

/// What runs the tasks of a [`Shuffle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framework {
    /// A container a task.
    Mapreduce,
    /// Containers are used again.
    Tez,
}

/// How long the parts of a [`Shuffle`] take on a host; rates are a core's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShuffleCosts {
    /// Map function.
    pub map_rate: Rate,
    /// Sorting a full buffer.
    pub sort_rate: Rate,
    /// Merging sorted runs.
    pub merge_rate: Rate,
    /// Reduce function.
    pub reduce_rate: Rate,
    /// A task's rates differ from these by up to this part.
    pub variation: f64,
    /// Part of what is read back from the local disk that the page cache answers.
    pub page_cache: f64,
    /// The client submits the job.
    pub job_submit: Time,
    /// The application master starts.
    pub master_start: Time,
    /// A container starts.
    pub container_start: Time,
    /// Calls to the master that a new container makes before its task starts.
    pub container_rpcs: u32,
    /// A task starts in its container.
    pub task_setup: Time,
    /// A task commits its output.
    pub task_commit: Time,
    /// Calls to the master that a task makes, half at its start, half at its commit.
    pub task_rpcs: u32,
    /// The job commits its output.
    pub job_commit: Time,
    /// Time between a node's heartbeats.
    pub heartbeat: Time,
    /// Time between a node's questions for finished maps.
    pub umbilical: Time,
    /// Containers that an answer to a heartbeat assigns at most.
    pub assignments: u32,
    /// A transfer without progress for so long is tried anew.
    pub socket_timeout: Time,
    /// A node where a fetch failed is left alone for so long.
    pub fetch_penalty: Time,
    /// A node that is silent for so long is lost.
    pub node_expiry: Time,
}

/// How background traffic travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Datagrams of the host's MTU, evenly spaced; nothing slows them down.
    Udp,
    /// A stream that is written to at the rate.
    Tcp,
}

/// How background traffic is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Packet by packet.
    Packets,
    /// A rate at each port on its way; datagrams only.
    Fluid,
}

/// A flow to replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Since the job's start.
    pub at: Time,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Size.
    pub bytes: u64,
    /// Ties flows together.
    pub group: u64,
}

/// A coflow to replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoflowSpec {
    /// Its number in the trace; the `group` of its flows.
    pub id: u64,
    /// Since the job's start.
    pub at: Time,
    /// Where data comes from.
    pub mappers: Vec<String>,
    /// (host, bytes that it receives in all), spread evenly over the mappers.
    pub reducers: Vec<(String, u64)>,
}

/// Something that goes wrong at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What goes wrong, or comes right again. A link is named by its two ends and means all parallel links, both ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// The host loses its processes and connections, silently.
    Crash {
        /// The host.
        host: String,
    },
    /// A crashed host comes back; its processes start anew.
    Restart {
        /// The host.
        host: String,
    },
    /// Cores and disk of the host run at `speed` times their rate.
    Slow {
        /// The host.
        host: String,
        /// 1 is normal.
        speed: f64,
    },
    /// The link carries nothing; routes avoid it.
    LinkDown {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// The link is back.
    LinkUp {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// Packets vanish with this probability.
    Loss {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// Packets arrive with a bad checksum with this probability, and are discarded on arrival.
    Corrupt {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// The host asks its switch to pause a class, again and again.
    PauseStorm {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The host does so no more.
    PauseStormEnd {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The link's rate changes.
    Rate {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The new rate.
        rate: Rate,
    },
}

/// What is recorded beyond the totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Time between samples of the series; without it, no series.
    pub interval: Option<Time>,
    /// Ports in the series, `node:peer` (`#2` for a second parallel link), `*` for any text.
    pub ports: Vec<String>,
    /// Whether every flow's window and round-trip time are in the series too.
    pub flows: bool,
    /// Ports whose packets are captured as pcapng.
    pub capture: Vec<String>,
}
