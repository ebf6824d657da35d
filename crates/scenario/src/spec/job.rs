//! What the cluster does, and when.

use super::{Broadcast, Farmem, Mine, Shuffle, Walk};
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

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
        /// To whom each sends first.
        order: Order,
        /// Each host begins at a time drawn between `start` and so long after it.
        skew: Time,
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
    /// Random walks on a graph that is spread over servers.
    Walk(Box<Walk>),
    /// One file from one host to many.
    Broadcast(Box<Broadcast>),
    /// Association rules from transactions that are spread over nodes.
    Mine(Box<Mine>),
    /// Programs whose memory lies at memory nodes.
    Farmem(Box<Farmem>),
}

/// The order in which a host sends to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each begins with the host after it.
    Rotated,
    /// All begin with the first host.
    Same,
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
