//! What a scenario asks of emulated hosts: which there are, and what runs on each of them.

use super::{Linux, members};
use crate::kinds::Work;
use crate::lab::{Scenario, hosts};
use crate::names::Names;
use emu::host::{Host, Program};
use emu::job::{Done, Stand};
use emu::setting;
use fabric::{Graph, NodeId};
use process::{HostId, Hosts};
use sim::{Change, HostConfig, JobSetup, Kernel};
use std::collections::{BTreeMap, BTreeSet};
use units::{Problem, Time};

/// What runs on a guest under a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The program of this job.
    Program(usize),
    /// The processes of jobs.
    Member,
}

/// The guests that a scenario needs.
pub(super) struct Guests {
    pub hosts: Vec<Host>,
    /// By number.
    pub tasks: Vec<(Task, HostId)>,
}

/// Whether a scenario has emulated hosts.
pub fn is_needed(scenario: &Scenario) -> bool {
    let programs = scenario.jobs.iter().any(|job| matches!(job.work, Work::Program(_)));
    programs || scenario.hosts.iter().any(|rule| rule.config.kernel.emulated)
}

/// Whether jobs of all kinds run on this host's kernel.
pub(crate) fn has_members(scenario: &Scenario, host: &str) -> bool {
    kernel(scenario, host).is_some_and(|kernel| kernel.emulated)
}

/// Whether this host is emulated, and its processor has no speed.
pub(crate) fn computes_at_once(scenario: &Scenario, host: &str) -> bool {
    let on_host = |work: &Work| matches!(work, Work::Program(work) if work.hosts.iter().any(|at| at == host));
    let is_emulated = has_members(scenario, host) || scenario.jobs.iter().any(|job| on_host(&job.work));
    is_emulated && kernel(scenario, host).is_some_and(|kernel| kernel.cpu_rate.is_none())
}

fn kernel<'a>(scenario: &'a Scenario, host: &str) -> Option<&'a Kernel> {
    let rule = crate::names::last_match(&scenario.hosts, host, "hosts");
    rule.ok().map(|(config, _)| &config.kernel)
}

/// When emulated hosts crash or come back, and a picosecond later: then it has happened.
pub(super) fn crashes(scenario: &Scenario, graph: &Graph) -> Result<Vec<(Time, HostId)>, Problem> {
    let moment = |(at, change): (Time, Change)| match change {
        Change::Crash(host) | Change::Restart(host) => Some((at + Time::from_ps(1), HostId(host))),
        _ => None,
    };
    let faults = crate::lab::faults::all(scenario, &Names::new(graph))?;
    Ok(faults.into_iter().filter_map(moment).collect())
}

/// Jobs whose processes are on emulated hosts, and these hosts.
pub(crate) type Away = BTreeMap<usize, Vec<HostId>>;

/// Takes the processes that are on emulated hosts out of jobs: something stands for each of them.
///
/// # Errors
/// A job with processes on emulated hosts and on others, or of a kind that only the simulator has.
pub(crate) fn take_away(
    scenario: &Scenario,
    graph: &Graph,
    configs: &[HostConfig],
    jobs: &mut [JobSetup],
) -> Result<Away, Problem> {
    let mut away = Away::new();
    for (index, job) in jobs.iter_mut().enumerate() {
        let work = &scenario.jobs[index].work;
        let all: Vec<HostId> = job.processes.iter().map(|(host, _)| *host).collect();
        let emulated = |host: &HostId| configs[host.0 as usize].kernel.emulated;
        let Some(first) = all.iter().copied().find(emulated) else { continue };
        if matches!(work, Work::Program(_)) {
            continue;
        }
        let at = |problem: Problem| problem.within(("jobs", index));
        if let Some(other) = all.iter().copied().find(|host| !emulated(host)) {
            let [first, other] = [first, other].map(|host| graph.name(NodeId(host.0)));
            let message = format!(
                "{first} is emulated and {other} is not: a kernel and a simulated host can't talk to each other"
            );
            return Err(at(Problem::whole(message)));
        }
        work.kind().check_live().map_err(at)?;
        for (_, process) in &mut job.processes {
            *process = Box::new(Stand(Done::Exited));
        }
        away.insert(index, all);
    }
    Ok(away)
}

impl Guests {
    pub(super) fn of(
        scenario: &Scenario,
        graph: &Graph,
        away: &Away,
        linux: &Linux,
    ) -> Result<Guests, Problem> {
        let (configs, names) = (hosts::all(&scenario.hosts, scenario.seed, graph)?, Names::new(graph));
        let (mut hosts, mut tasks) = (BTreeMap::new(), Vec::new());
        let mut add = |id: HostId, task: Task, program: Program| {
            let host = || Host {
                seen: linux.seen.clone(),
                ..setting::host(id, graph.name(NodeId(id.0)), &configs[id.0 as usize], &linux.registered)
            };
            let host: &mut Host = hosts.entry(id).or_insert_with(host);
            host.programs.push(Program { number: tasks.len(), ..program });
            tasks.push((task, id));
        };
        for (index, job) in scenario.jobs.iter().enumerate() {
            let Work::Program(work) = &job.work else { continue };
            for name in &work.hosts {
                let id = names.find(name).map_err(|error| Problem::new(("jobs", index), error))?;
                let program = Program {
                    number: 0,
                    start: Some(job.start),
                    command: work.command.clone(),
                    environment: work.environment.clone().into_iter().collect(),
                    output: format!("{}.out", job.name),
                };
                add(id, Task::Program(index), program);
            }
        }
        let members: BTreeSet<HostId> = away.values().flatten().copied().collect();
        for id in members {
            add(id, Task::Member, members::program(&linux.member));
        }
        Ok(Guests { hosts: hosts.into_values().collect(), tasks })
    }
}
