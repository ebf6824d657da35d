//! A scenario's jobs on real hosts: who takes part, what each of them runs, and what they report as tables.
//!
//! The network is the real one: topology, switches and the transports' settings have no effect here.

use crate::build::{self, AllWork};
use crate::kinds::Shown;
use crate::lab::{Job, Rule, Scenario, Topology};
use crate::read;
pub use crate::reports::MemberReport;
use crate::reports::Reported;
use live::Report;
use process::HostId;
use record::{RunFolder, rows};
use serde::{Deserialize, Serialize};
use sim::HostConfig;
use std::collections::BTreeMap;
use std::path::Path;
use units::{Problem, Time};

/// A host that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// Its number.
    pub host: u32,
    /// Its name.
    pub name: String,
    /// The indices of the jobs in which it has a part.
    pub jobs: Vec<u32>,
    /// The ports that these use.
    pub ports: Vec<u16>,
}

/// The hosts that a live run of `scenario` needs, in the order of their numbers.
///
/// # Errors
/// A scenario that can't run, or that asks for what only the simulator has.
pub fn members(scenario: &Scenario) -> Result<Vec<MemberView>, Problem> {
    if !scenario.faults.is_empty() {
        return Err(Problem::new("faults", "a live run has none: only the simulator breaks hosts and links"));
    }
    for (index, job) in scenario.jobs.iter().enumerate() {
        job.work.kind().check_live().map_err(|problem| problem.within(("jobs", index)))?;
    }
    let work = AllWork::of(scenario)?;
    let (graph, jobs, _) = build::cast(&scenario.topology, &scenario.hosts, &work, None)?;
    let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, job) in jobs.iter().enumerate() {
        if job.processes.is_empty() {
            let message = "a fluid has no packets: leave it out of a live run";
            return Err(Problem::new(("jobs", index), message));
        }
        for (host, _) in &job.processes {
            parts.entry(host.0).or_default().push(index);
        }
    }
    let names: Vec<&str> = graph.names().collect();
    let view = |(host, jobs): (u32, Vec<usize>)| MemberView {
        host,
        name: names[host as usize].to_owned(),
        ports: jobs.iter().map(|index| work.jobs[*index].1).collect(),
        jobs: jobs.into_iter().map(|index| index as u32).collect(),
    };
    Ok(parts.into_iter().map(view).collect())
}

/// What shows how the processes of a host do.
pub struct Boards {
    shown: Vec<(u32, Box<dyn Shown>)>,
    host: HostId,
}

impl Boards {
    /// What they have shown by now, with how the host ran.
    #[must_use]
    pub fn report(&self, report: Report) -> MemberReport {
        let all = self.shown.iter().map(|(job, shown)| (*job, shown.report(self.host)));
        MemberReport { report, shown: all.filter(|(_, shown)| !shown.is_null()).collect() }
    }
}

/// What a host is told of a scenario: the jobs in which it has a part, and what their processes depend on.
///
/// The network is the real one, so switches are left out, and so is all that is measured or breaks in a
/// simulation. Rules for hosts have the MTU, by which jobs choose the size of datagrams.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The run's.
    pub seed: u64,
    /// The names and numbers of hosts, and their links.
    topology: Topology,
    hosts: Vec<Rule<HostConfig>>,
    /// Time between samples.
    interval: Option<Time>,
    jobs: Vec<ShareOfJob>,
}

/// A job with its index and port in the scenario.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareOfJob {
    index: usize,
    port: u16,
    job: Job,
}

impl Share {
    /// Reads one from JSON. A caller's crate would compile all that reads jobs once more.
    ///
    /// # Errors
    /// When it isn't one.
    pub fn read(json: &str) -> Result<Share, Problem> {
        read(json)
    }

    /// The share of the host that has a part in the jobs of which `own` says so.
    pub(crate) fn of(scenario: &Scenario, work: &AllWork<'_>, own: impl Fn(&usize) -> bool) -> Share {
        let jobs = work.jobs.iter().filter(|(index, ..)| own(index));
        Share {
            seed: scenario.seed,
            topology: scenario.topology.clone(),
            hosts: scenario.hosts.clone(),
            interval: scenario.measure.interval,
            jobs: jobs.map(|&(index, port, job)| ShareOfJob { index, port, job: job.clone() }).collect(),
        }
    }
}

/// What a host does in a live run.
pub struct Part {
    /// The host's name.
    pub name: String,
    /// What it runs; nothing: it has no part.
    pub jobs: Vec<live::Job>,
    /// What shows how that does.
    pub boards: Boards,
}

/// The part of `host` in a run that [`members`] has allowed.
///
/// # Errors
/// A scenario that can't run.
pub fn part(share: &Share, host: HostId) -> Result<Part, Problem> {
    let jobs = share.jobs.iter().map(|own| (own.index, own.port, &own.job)).collect();
    let work = AllWork { seed: share.seed, sample: share.interval, jobs };
    let (graph, jobs, shown) = build::cast(&share.topology, &share.hosts, &work, Some(host))?;
    let indices = || share.jobs.iter().map(|own| own.index as u32);
    let own = |(index, job): (u32, sim::JobSetup)| {
        let (_, process) = job.processes.into_iter().find(|(at, _)| *at == host)?;
        Some(live::Job { index, name: job.name, start: job.start, background: job.background, process })
    };
    let name = graph.names().nth(host.0 as usize).unwrap_or_default().to_owned();
    let jobs = indices().zip(jobs).filter_map(own).collect();
    Ok(Part { name, jobs, boards: Boards { shown: indices().zip(shown).collect(), host } })
}

/// Reads what members report from JSON, as [`Share::read`].
///
/// # Errors
/// When it isn't that.
pub fn reports(json: &str) -> Result<Vec<MemberReport>, Problem> {
    read(json)
}

/// Writes what members report into the folder `out`. A host of which there is no report crashed, as often as
/// `crashes` says.
///
/// # Errors
/// A scenario that can't run, or results that can't be written.
pub fn write(
    scenario: &Scenario,
    out: &Path,
    overwrite: bool,
    reports: &[MemberReport],
    crashes: &BTreeMap<u32, u64>,
) -> Result<(), crate::error::Error> {
    let work = AllWork::of(scenario)?;
    let (graph, jobs, shown) = build::cast(&scenario.topology, &scenario.hosts, &work, None)?;
    let hosts: Vec<String> = graph.names().take(graph.hosts()).map(str::to_owned).collect();
    let reported = Reported::new(reports, &hosts, &scenario.jobs)?;
    let folder = RunFolder::create(out, overwrite)?;
    folder.write_scenario(scenario)?;
    let mut tables = folder.tables();
    let mut strangers = reported.strangers();
    for ((index, job), shown) in jobs.iter().enumerate().zip(&shown) {
        let whole = reported.shown(index, &**shown, &mut tables, &mut strangers)?;
        reported.job(index, job.processes.len(), whole, &mut tables)?;
    }
    reported.flows(0, &mut tables)?;
    for MemberReport { report, .. } in reports {
        reported.tasks(report, &mut tables)?;
        reported.datagrams(report, &mut tables)?;
        tables.hosts.push(host(&hosts, report, crashes.get(&report.host).copied().unwrap_or_default()))?;
    }
    Ok(tables.finish()?)
}

/// Totals of one host.
fn host<'a>(hosts: &'a [String], report: &Report, crashes: u64) -> rows::Host<'a> {
    let counters = &report.counters;
    rows::Host {
        host: &hosts[report.host as usize],
        sent_bytes: counters.sent_bytes + counters.stream_sent_bytes,
        received_bytes: counters.received_bytes + counters.stream_received_bytes,
        drops_no_route: None,
        drops_down: None,
        drops_no_port: counters.unbound_datagrams,
        drops_loopback: None,
        retransmits: report.flows.iter().map(|flow| flow.retransmits).sum(),
        retransmitted_bytes: 0,
        timeouts: report.flows.iter().map(|flow| flow.timeouts).sum(),
        core_busy_ps: report.cpu_ps,
        disk_busy_ps: 0,
        crashes,
    }
}
