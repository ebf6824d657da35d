//! The kinds of jobs: what a scenario says of each, its processes, and what they report as tables.
//!
//! A kind is a file in this folder and a variant of [`Work`], and `Work::kind` is the only list of all
//! kinds. What a kind has in common with the others is in `kind.rs`.

mod broadcast;
mod farmem;
mod kind;
mod mine;
mod program;
mod rpc;
mod shuffle;
mod traffic;
mod walk;

use ::traffic::{AllToAll, Background, Bulk, Coflows, Incast, Load, Permutation, Replay};
pub use broadcast::Broadcast;
pub use farmem::{Farmem, FarmemLocal, FarmemPattern};
use kind::Kind;
pub(crate) use kind::{AllShown, Cast, Ended, Out, Place, Shown};
pub use mine::{Mine, MineTransactions};
use serde::{Deserialize, Serialize};
pub use walk::{Partition, Retry, Walk, WalkChanges, WalkGraph};

/// The work of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// One flow per pair, all at once.
    Bulk(Bulk<String>),
    /// All senders answer one receiver at the same time.
    Incast(Incast<String>),
    /// Every host sends to one other and receives from one other.
    Permutation(Permutation<String>),
    /// Every host sends to every other.
    AllToAll(AllToAll<String>),
    /// Flows between random pairs.
    Load(Load<String>),
    /// A list of flows.
    Replay(Replay<String>),
    /// Coflows.
    Coflows(Coflows<String>),
    /// Datagrams or streams at a constant rate between pairs, until the run ends.
    Background(Background<String>),
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
    /// Programs on emulated hosts.
    Program(::emu::job::Program<String>),
    /// Programs whose memory lies at memory nodes.
    Farmem(Box<Farmem>),
}

impl Work {
    /// The room of the kind.
    pub(crate) fn kind(&self) -> &dyn Kind {
        match self {
            Work::Bulk(job) => job,
            Work::Incast(job) => job,
            Work::Permutation(job) => job,
            Work::AllToAll(job) => job,
            Work::Load(job) => job,
            Work::Replay(job) => job,
            Work::Coflows(job) => job,
            Work::Background(job) => job,
            Work::Rpc(job) => &**job,
            Work::Shuffle(job) => &**job,
            Work::Walk(job) => &**job,
            Work::Broadcast(job) => &**job,
            Work::Mine(job) => &**job,
            Work::Program(job) => job,
            Work::Farmem(job) => &**job,
        }
    }
}
