//! A scenario's jobs on real hosts: who takes part, what each of them runs, and what they report as tables.
//!
//! The network is the real one: topology, switches and the transports' settings have no effect here.

use crate::build::{self, AllWork};
use crate::kinds::{Ended, Out, Shown};
use crate::lab::{Job, Rule, Scenario, Topology};
use live::{FlowRow, Report};
use process::HostId;
use record::rows::{self, JobOutcome, Outcome, TaskOutcome};
use record::{Error, RunFolder, Tables};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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

/// What a member reports: how it ran, and how what ran on it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemberReport {
    /// How it ran.
    #[serde(flatten)]
    pub report: Report,
    /// What its processes showed, with the index of their job.
    #[serde(default)]
    pub shown: Vec<(u32, Value)>,
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

/// What a host is told of a scenario: the jobs in which it has a part, and what their plans depend on.
///
/// The network is the real one, so switches are left out, and so is all that is measured or breaks in a
/// simulation. Rules for hosts have the MTU, by which jobs choose the size of datagrams.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareOfJob {
    index: usize,
    port: u16,
    job: Job,
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
    let members = reports;
    let reports: Vec<Report> = members.iter().map(|each| each.report.clone()).collect();
    let folder = RunFolder::create(out, overwrite)?;
    folder.write_scenario(scenario)?;
    let hosts: Vec<String> = graph.names().take(graph.hosts()).map(str::to_owned).collect();
    let mut tables = folder.tables();
    let strangers = |report: &Report| (HostId(report.host), report.counters.foreign_datagrams);
    let mut strangers: BTreeMap<HostId, u64> = reports.iter().map(strangers).collect();
    let mut whole = Vec::with_capacity(shown.len());
    for ((index, shown), job) in (0u32..).zip(&shown).zip(&scenario.jobs) {
        let of = |member: &MemberReport| {
            let own = member.shown.iter().find(|(job, _)| *job == index);
            own.map(|(_, shown)| (HostId(member.report.host), shown.clone()))
        };
        let own: Vec<(HostId, Value)> = members.iter().filter_map(of).collect();
        let mut out = Out { tables: &mut tables, job: &job.name, hosts: &hosts, strangers: &mut strangers };
        whole.push(shown.reported(&own, &mut out)?);
    }
    let mut writer = Writer { tables, hosts: &hosts, jobs: &scenario.jobs, reports: &reports };
    for ((index, job), whole) in jobs.iter().enumerate().zip(whole) {
        writer.job(index, job, whole)?;
    }
    writer.flows()?;
    for report in &reports {
        writer.report(report, crashes.get(&report.host).copied().unwrap_or_default())?;
    }
    Ok(writer.tables.finish()?)
}

struct Writer<'a> {
    tables: Tables,
    hosts: &'a [String],
    jobs: &'a [Job],
    reports: &'a [Report],
}

impl Writer<'_> {
    fn job(&mut self, index: usize, job: &sim::JobSetup, whole: bool) -> Result<(), Error> {
        let is_own = |row: u32| row as usize == index;
        let parts: Vec<_> =
            self.reports.iter().flat_map(|report| &report.jobs).filter(|row| is_own(row.job)).collect();
        // A job ends with the last of its members; one that is missing has not finished.
        let all = parts.len() == job.processes.len();
        let ends: Option<Vec<u64>> = parts.iter().map(|row| row.end_ps).collect();
        let end = ends.filter(|_| all).and_then(|ends| ends.into_iter().max());
        let flows = || self.reports.iter().flat_map(|r| &r.flows).filter(|flow| is_own(flow.job));
        let is_broken = |outcome| !matches!(outcome, live::Outcome::Finished | live::Outcome::Unfinished);
        let broken = flows().any(|flow| is_broken(flow.outcome));
        let ended = Ended { ended: end.is_some(), broken, whole };
        let outcome = ended.outcome(self.jobs[index].work.kind());
        self.tables.jobs.push(rows::Job {
            job: &job.name,
            kind: &job.kind,
            start_ps: job.start.as_ps(),
            end_ps: end.filter(|_| outcome == JobOutcome::Finished),
            flows: flows().count() as u64,
            bytes: flows().map(|flow| flow.bytes).sum(),
            outcome,
        })
    }

    fn flows(&mut self) -> Result<(), Error> {
        let mut flows: Vec<&FlowRow> = self.reports.iter().flat_map(|report| &report.flows).collect();
        flows.sort_by_key(|flow| (flow.start_ps, flow.from, flow.to));
        for (number, flow) in (0..).zip(flows) {
            self.tables.flows.push(rows::Flow {
                flow: number,
                job: &self.jobs[flow.job as usize].name,
                group: flow.group,
                from: &self.hosts[flow.from as usize],
                to: &self.hosts[flow.to as usize],
                class: self.jobs[flow.job as usize].class,
                bytes: flow.bytes,
                start_ps: flow.start_ps,
                end_ps: flow.end_ps,
                sent_packets: flow.sent_packets,
                sent_bytes: flow.sent_bytes,
                retransmits: flow.retransmits,
                timeouts: 0,
                fast_recoveries: 0,
                tail_loss_probes: 0,
                ece_acks: 0,
                min_rtt_ps: flow.min_rtt_ps,
                srtt_ps: flow.srtt_ps,
                outcome: outcome(flow.outcome),
                // Which way packets take through a real network is not known.
                path: None,
                path_back: None,
            })?;
        }
        Ok(())
    }

    /// Tasks, datagrams and totals of one host. The sender counts what left, the receiver what came.
    fn report(&mut self, report: &Report, crashes: u64) -> Result<(), Error> {
        let host = &self.hosts[report.host as usize];
        for task in &report.tasks {
            let outcome = if task.end_ps.is_some() { TaskOutcome::Finished } else { TaskOutcome::Unfinished };
            self.tables.tasks.push(rows::Task {
                task: task.task,
                job: &self.jobs[task.job as usize].name,
                host,
                kind: &task.kind,
                number: task.number,
                start_ps: task.start_ps,
                end_ps: task.end_ps,
                bytes: task.bytes,
                outcome,
            })?;
        }
        for row in report.datagram_rows.iter().filter(|row| row.sent_packets > 0) {
            let back = |other: &&live::DatagramRow| other.job == row.job && other.peer == report.host;
            let peer = self.reports.iter().find(|other| other.host == row.peer);
            let came = peer.and_then(|peer| peer.datagram_rows.iter().find(back));
            self.tables.datagrams.push(rows::Datagrams {
                job: &self.jobs[row.job as usize].name,
                from: host,
                to: &self.hosts[row.peer as usize],
                sent_packets: row.sent_packets,
                sent_bytes: row.sent_bytes,
                received_packets: came.map_or(0, |came| came.received_packets),
                received_bytes: came.map_or(0, |came| came.received_bytes),
                drops_no_route: None,
                drops_down: None,
                drops_no_port: None,
            })?;
        }
        let counters = &report.counters;
        self.tables.hosts.push(rows::Host {
            host,
            sent_bytes: counters.sent_bytes + counters.stream_sent_bytes,
            received_bytes: counters.received_bytes + counters.stream_received_bytes,
            drops_no_route: None,
            drops_down: None,
            drops_no_port: counters.unbound_datagrams,
            retransmits: report.flows.iter().map(|flow| flow.retransmits).sum(),
            retransmitted_bytes: 0,
            timeouts: 0,
            core_busy_ps: report.cpu_ps,
            disk_busy_ps: 0,
            crashes,
        })
    }
}

fn outcome(outcome: live::Outcome) -> Outcome {
    match outcome {
        live::Outcome::Finished => Outcome::Finished,
        live::Outcome::Refused => Outcome::Refused,
        live::Outcome::Reset => Outcome::Reset,
        live::Outcome::TimedOut => Outcome::TimedOut,
        live::Outcome::Unfinished => Outcome::Unfinished,
    }
}
