//! The kinds of jobs: what a scenario says of each, its processes, and what they report as tables.
//!
//! A kind is a file in this folder and a variant of [`Work`], and [`Work::kind`] is the only list of all kinds. What a
//! kind has in common with the others is [`Kind`]; what its processes show of themselves while they run is [`Shown`].

mod broadcast;
mod farmem;
mod mine;
mod rpc;
mod shuffle;
mod traffic;
mod walk;

use crate::names::Names;
pub use ::traffic::{Carrier, Coflow, Flow, Order};
pub use broadcast::Broadcast;
use fabric::Graph;
pub use farmem::{Farmem, FarmemLocal, FarmemOrder, FarmemPattern, FarmemWriteBack};
pub use mine::{Mine, MineTransactions};
use process::{HostId, Process};
use rand_pcg::Pcg64;
use record::rows::JobOutcome;
use record::{Error, Tables};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sim::{FluidSetup, HostConfig};
use std::collections::BTreeMap;
pub use traffic::Model;
use units::{Bytes, Problem, Rate, Time};
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

/// What a scenario has to know of a kind of job.
pub(crate) trait Kind {
    /// As scenarios and tables call it.
    fn name(&self) -> &'static str;

    /// The job's processes, and what shows how they do. Paths of problems begin at the job's settings.
    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem>;

    /// Whether a stream that breaks is opened again: the work does not depend on a single one.
    fn opens_again(&self) -> bool {
        true
    }

    /// Whether no run waits for it.
    fn is_background(&self) -> bool {
        false
    }

    /// Whether it has no packets: it is a fluid.
    fn is_fluid(&self) -> bool {
        false
    }

    /// What it adds to the network as a fluid, instead of processes.
    fn fluids(&self, _place: &Place<'_>) -> Result<Vec<FluidSetup>, Problem> {
        Ok(Vec::new())
    }

    /// Refuses what only the simulator has.
    fn check_live(&self) -> Result<(), Problem> {
        Ok(())
    }
}

/// A job's place in the scenario: what it is made from beside its own settings.
pub(crate) struct Place<'a> {
    /// Index of the job.
    pub index: usize,
    pub name: &'a str,
    /// Its processes listen there.
    pub port: u16,
    /// When it begins.
    pub start: Time,
    /// The run's.
    pub seed: u64,
    /// What is random when the job is planned.
    pub draws: Pcg64,
    /// Time between samples.
    pub sample: Option<Time>,
    pub graph: &'a Graph,
    pub names: &'a Names<'a>,
    pub hosts: &'a [HostConfig],
    /// Only the process of this host is needed; none: all are. A kind may make more.
    pub only: Option<HostId>,
}

impl Place<'_> {
    fn needs(&self, host: HostId) -> bool {
        self.only.is_none_or(|only| only == host)
    }
}

/// A process a host.
type Processes = Vec<(HostId, Box<dyn Process>)>;

/// The processes of a job, and what shows how they do.
pub(crate) struct Cast {
    pub processes: Processes,
    pub shown: Box<dyn Shown>,
}

impl Cast {
    /// Processes that have no tables of their own.
    fn silent(processes: Processes) -> Cast {
        Cast { processes, shown: Box::new(Nothing) }
    }
}

/// What the processes of a job show of themselves, as rows of tables: of a simulation as it goes on, of a live run
/// by what each host reports.
pub(crate) trait Shown {
    /// Writes the samples since the last call.
    fn samples(&mut self, _out: &mut Out<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Writes totals; returns whether all that the job was for was done.
    fn totals(&mut self, _out: &mut Out<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    /// What the process on `host` has shown by now, for [`Shown::reported`]; nothing: nothing.
    fn report(&self, _host: HostId) -> Value {
        Value::Null
    }

    /// Writes what hosts have reported; returns whether all that the job was for was done.
    fn reported(&self, _reports: &[(HostId, Value)], _out: &mut Out<'_>) -> Result<bool, crate::Error> {
        Ok(true)
    }
}

/// What each job of a scenario shows.
pub(crate) type AllShown = Vec<Box<dyn Shown>>;

/// Processes that show nothing but what every driver measures.
struct Nothing;

impl Shown for Nothing {}

/// A host's report as what it was.
fn read<T: for<'de> Deserialize<'de>>(report: &Value) -> Result<T, Problem> {
    T::deserialize(report).map_err(|error| Problem::new("reports", error))
}

/// Where rows of a job go.
pub(crate) struct Out<'a> {
    pub tables: &'a mut Tables,
    /// The job's name.
    pub job: &'a str,
    /// The names of all hosts.
    pub hosts: &'a [String],
    /// Datagrams that a live driver let nowhere near a process, by host: nobody knows for whom they were.
    pub strangers: &'a mut BTreeMap<HostId, u64>,
}

impl<'a> Out<'a> {
    fn host(&self, host: HostId) -> &'a str {
        &self.hosts[host.0 as usize]
    }
}

/// What is known of a job at the end of a run.
pub(crate) struct Ended {
    /// All of its processes have ended.
    pub ended: bool,
    /// A flow was refused, reset or timed out.
    pub broken: bool,
    /// All that it was for was done, as far as its kind can tell.
    pub whole: bool,
}

impl Ended {
    /// How a job of `kind` ended.
    pub(crate) fn outcome(&self, kind: &dyn Kind) -> JobOutcome {
        let gave_up = !self.whole || (self.broken && !kind.opens_again());
        match self {
            _ if kind.is_background() => JobOutcome::Background,
            Ended { ended: false, .. } => JobOutcome::Unfinished,
            _ if gave_up => JobOutcome::Failed,
            _ => JobOutcome::Finished,
        }
    }
}
