//! What a scenario has to know of any kind of job: its processes ([`Kind`]), and what these show ([`Shown`]).

use crate::error::Error;
use crate::names::Names;
use fabric::{Graph, NodeId};
use process::{HostId, Process};
use rand_pcg::Pcg64;
use record::Tables;
use record::rows::JobOutcome;
use serde::Deserialize;
use serde_json::Value;
use sim::{FluidSetup, HostConfig};
use std::collections::{BTreeMap, VecDeque};
use traffic::Sends;
use units::{Problem, Time};

/// What a scenario has to know of a kind of job.
pub(crate) trait Kind {
    /// As scenarios and tables call it.
    fn name(&self) -> &'static str;

    /// The job's processes, and what shows how they do. Paths of problems begin at the job's settings.
    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem>;

    /// What it is to send, if that is known before it begins.
    fn sends(&self) -> Option<Sends> {
        None
    }

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
    pub(super) fn needs(&self, host: HostId) -> bool {
        self.only.is_none_or(|only| only == host)
    }

    /// Refuses more bytes to or from hosts than their links carry in the longest run.
    pub(super) fn check_volumes(
        &self,
        volumes: impl IntoIterator<Item = (HostId, f64)>,
    ) -> Result<(), Problem> {
        let infos = super::traffic::host_infos(self.graph, self.hosts);
        volumes.into_iter().try_for_each(|(host, bytes)| {
            infos[host.0 as usize].rate.carries_in_a_run(bytes, self.graph.name(NodeId(host.0)))
        })
    }
}

/// A process a host.
pub(super) type Processes = Vec<(HostId, Box<dyn Process>)>;

/// The processes of a job, and what shows how they do.
pub(crate) struct Cast {
    pub processes: Processes,
    pub shown: Box<dyn Shown>,
}

impl Cast {
    /// Processes that have no tables of their own.
    pub(super) fn silent(processes: Processes) -> Cast {
        Cast { processes, shown: Box::new(Nothing) }
    }
}

/// What the processes of a job show of themselves, as rows of tables: of a simulation as it goes on, of a
/// live run by what each host reports.
pub(crate) trait Shown {
    /// Takes in what processes have measured since the last call. Answers when the first was measured that is
    /// not written yet.
    fn gather(&mut self) -> Option<Time> {
        None
    }

    /// Writes the first that was gathered, and answers when the next was. Rows are in the order of their
    /// times.
    fn write_first(&mut self, _out: &mut Out<'_>) -> Result<Option<Time>, record::Error> {
        Ok(None)
    }

    /// A program of the job has exited on `host`.
    fn exited(&mut self, _host: HostId, _at: Time, _code: i32) {}

    /// Writes totals; returns whether all that the job was for was done.
    fn totals(&mut self, _out: &mut Out<'_>) -> Result<bool, record::Error> {
        Ok(true)
    }

    /// What the process on `host` has shown by now, for [`Shown::reported`]; nothing: nothing.
    fn report(&self, _host: HostId) -> Value {
        Value::Null
    }

    /// Writes what hosts have reported; returns whether all that the job was for was done.
    fn reported(&self, _reports: &[(HostId, Value)], _out: &mut Out<'_>) -> Result<bool, Error> {
        Ok(true)
    }
}

/// What each job of a scenario shows.
pub(crate) type AllShown = Vec<Box<dyn Shown>>;

/// Processes that show nothing but what every driver measures.
struct Nothing;

impl Shown for Nothing {}

/// What the processes of a job have measured and nobody has written, by the numbers of the processes: in the
/// order of time, and of processes.
pub(super) struct Gathered<T>(VecDeque<(Time, usize, T)>);

impl<T> Default for Gathered<T> {
    fn default() -> Gathered<T> {
        Gathered(VecDeque::new())
    }
}

impl<T> Gathered<T> {
    /// Adds what each process has measured, the earlier before the later; `at` says when. Answers when the
    /// first of all was measured.
    pub(super) fn add(
        &mut self,
        more: impl Iterator<Item = Vec<T>>,
        at: impl Fn(&T) -> Time,
    ) -> Option<Time> {
        for (process, measured) in more.enumerate() {
            self.0.extend(measured.into_iter().map(|one| (at(&one), process, one)));
        }
        self.0.make_contiguous().sort_by_key(|(at, process, _)| (*at, *process));
        self.first_at()
    }

    /// When the first was.
    pub(super) fn first_at(&self) -> Option<Time> {
        self.0.front().map(|(at, ..)| *at)
    }

    /// Takes the first, with its process.
    pub(super) fn take_first(&mut self) -> Option<(usize, T)> {
        self.0.pop_front().map(|(_, process, measured)| (process, measured))
    }
}

/// A host's report as what it was.
pub(super) fn read<T: for<'de> Deserialize<'de>>(report: &Value) -> Result<T, Problem> {
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
    pub(super) fn host(&self, host: HostId) -> &'a str {
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
