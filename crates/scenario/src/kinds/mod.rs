//! The kinds of jobs: what a scenario says of each, its processes, and what they report as tables.
//!
//! A kind is a file in this folder and a variant of [`Work`], and [`Work::kind`] is the only list of all kinds. What a
//! kind has in common with the others is in `kind.rs`.

mod broadcast;
mod farmem;
mod kind;
mod mine;
mod rpc;
mod shuffle;
mod traffic;
mod walk;

pub use ::traffic::{Carrier, Coflow, Flow, Order};
pub use broadcast::Broadcast;
pub use farmem::{Farmem, FarmemLocal, FarmemOrder, FarmemPattern, FarmemWriteBack};
use kind::Kind;
pub(crate) use kind::{AllShown, Cast, Ended, Out, Place, Shown};
pub use mine::{Mine, MineTransactions};
use serde::{Deserialize, Serialize};
pub use traffic::Model;
use units::{Bytes, Rate, Time};
pub use walk::{Generation, Partition, Retry, Sleep, Walk, WalkChanges, WalkDatagrams, WalkGraph, WalkSteps};

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
        flows: Vec<Flow<String>>,
    },
    /// Coflows: every mapper sends each reducer its part at the same time.
    Coflows {
        /// The coflows, by time.
        coflows: Vec<Coflow<String>>,
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
    /// Remote procedure calls.
    Rpc(Box<::traffic::rpc::Rpc<String>>),
    /// TeraSort on Hadoop.
    Shuffle(Box<::shuffle::Job<String>>),
    /// Random walks on a graph that is spread over servers.
    Walk(Box<Walk>),
    /// One file from one host to many.
    Broadcast(Box<Broadcast>),
    /// Association rules from transactions that are spread over nodes.
    Mine(Box<Mine>),
    /// Programs whose memory lies at memory nodes.
    Farmem(Box<Farmem>),
}

impl Work {
    /// The room of the kind.
    pub(crate) fn kind(&self) -> &dyn Kind {
        match self {
            Work::Bulk { .. }
            | Work::Incast { .. }
            | Work::Permutation { .. }
            | Work::AllToAll { .. }
            | Work::Load { .. }
            | Work::Replay { .. }
            | Work::Coflows { .. }
            | Work::Background { .. } => self,
            Work::Rpc(job) => &**job,
            Work::Shuffle(job) => &**job,
            Work::Walk(job) => &**job,
            Work::Broadcast(job) => &**job,
            Work::Mine(job) => &**job,
            Work::Farmem(job) => &**job,
        }
    }
}
