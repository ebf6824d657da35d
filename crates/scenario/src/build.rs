//! From a scenario to a simulation.

use crate::emulate::{self, Away};
use crate::kinds::{AllShown, Cast, Place};
use crate::lab::{
    Job, Rule, Scenario, Topology, clock, faults, fidelity, hosts, measure, switches, topology,
};
use crate::names::Names;
use fabric::{Fabric, Framing, Graph, NodeId};
use process::HostId;
use sim::{HostConfig, JobSetup, Setup, Sim, rng};
use units::{Problem, Time};

const LAST: Time = Time::LONGEST_RUN;

/// Builds the simulation of a scenario, ready to run.
///
/// # Errors
/// The first thing that is wrong with the scenario.
pub fn build(scenario: &Scenario) -> Result<Sim, Problem> {
    build_shown(scenario).map(|built| built.sim)
}

/// A simulation, and what belongs to it.
pub(crate) struct Built {
    pub sim: Sim,
    /// What its processes show of themselves.
    pub shown: AllShown,
    /// The jobs that are not simulated.
    pub away: Away,
}

/// The same, with what belongs to it.
pub(crate) fn build_shown(scenario: &Scenario) -> Result<Built, Problem> {
    let graph = topology::graph(&scenario.topology)?;
    let names = Names::new(&graph);
    let hosts = hosts::all(&scenario.hosts, scenario.seed, &graph)?;
    let until = end(scenario)?;
    let only_background = scenario.jobs.iter().all(|job| job.work.kind().is_background());
    if scenario.jobs.is_empty() {
        return Err(Problem::new("jobs", "there is no job: at least one is needed"));
    }
    if only_background && scenario.until.is_none() {
        return Err(Problem::new(
            "until",
            "is required: no run waits for background jobs, and there are no others",
        ));
    }
    let work = AllWork::of(scenario)?;
    let places = places(&work, &graph, &names, &hosts, None);
    let fluid = |(job, place): (&Job, &Place<'_>)| job.work.kind().fluids(place);
    let fluids: Vec<_> = scenario.jobs.iter().zip(&places).map(fluid).collect();
    let (mut jobs, shown) = jobs(&work, &graph, places)?;
    clock::check(scenario)?;
    let away = emulate::take_away(scenario, &graph, &hosts, &mut jobs)?;
    let mut sim = assemble(scenario, &graph, hosts, jobs, until)?;
    for (index, fluids) in fluids.into_iter().enumerate() {
        let at = |problem: Problem| problem.within("work").within(("jobs", index));
        for (number, fluid) in fluids.map_err(at)?.iter().enumerate() {
            let refused = |error| at(Problem::new(("pairs", number), format!("as a fluid: {error}")));
            sim.add_fluid(fluid).map_err(refused)?;
        }
    }
    measure::prepare(&scenario.measure, &mut sim)?;
    fidelity::prepare(scenario, &mut sim)?;
    Ok(Built { sim, shown, away })
}

/// The simulation of a scenario again, for another part of the network, with the jobs of the first one.
///
/// # Errors
/// The first thing that is wrong with the scenario.
pub(crate) fn build_again(scenario: &Scenario, graph: &Graph, jobs: Vec<JobSetup>) -> Result<Sim, Problem> {
    let hosts = hosts::all(&scenario.hosts, scenario.seed, graph)?;
    let mut again = assemble(scenario, graph, hosts, jobs, end(scenario)?)?;
    measure::prepare(&scenario.measure, &mut again)?;
    Ok(again)
}

/// A simulation of these jobs.
fn assemble(
    scenario: &Scenario,
    graph: &Graph,
    hosts: Vec<HostConfig>,
    jobs: Vec<JobSetup>,
    until: Time,
) -> Result<Sim, Problem> {
    let names = Names::new(graph);
    let faults = faults::all(scenario, &names)?;
    check_framing(scenario.framing)?;
    let switches = switches::all(scenario, graph)?;
    switches::cells::check_use(scenario, graph, &names, &switches)?;
    let (graph, framing, seed) = (graph.clone(), scenario.framing, scenario.seed);
    let mut sim = Sim::new(Setup { framing, seed, switches, hosts, jobs, faults, until, graph });
    if !emulate::is_needed(scenario) {
        sim.end_in_steps();
    }
    Ok(sim)
}

/// What is to be done, and what its plans depend on beside the cluster.
pub(crate) struct AllWork<'a> {
    /// The run's.
    pub seed: u64,
    /// Time between samples.
    pub sample: Option<Time>,
    /// Jobs with their index and port in the scenario.
    pub jobs: Vec<(usize, u16, &'a Job)>,
}

impl<'a> AllWork<'a> {
    /// All of a scenario's.
    pub(crate) fn of(scenario: &'a Scenario) -> Result<AllWork<'a>, Problem> {
        let names: Vec<&str> = scenario.jobs.iter().map(|job| job.name.as_str()).collect();
        let ports = sim::job_ports(&names).map_err(|error| Problem::new("jobs", error))?;
        let jobs = scenario.jobs.iter().zip(ports).enumerate();
        Ok(AllWork {
            seed: scenario.seed,
            sample: scenario.measure.interval,
            jobs: jobs.map(|(index, (job, port))| (index, port, job)).collect(),
        })
    }
}

/// A topology, and jobs on it with their processes, or at least with that of one host: all that doesn't
/// depend on who runs them.
///
/// # Errors
/// The first thing that is wrong with them.
pub(crate) fn cast(
    topology: &Topology,
    rules: &[Rule<HostConfig>],
    work: &AllWork<'_>,
    only: Option<HostId>,
) -> Result<(Graph, Vec<JobSetup>, AllShown), Problem> {
    let graph = topology::graph(topology)?;
    let (hosts, names) = (hosts::all(rules, work.seed, &graph)?, Names::new(&graph));
    let (jobs, shown) = jobs(work, &graph, places(work, &graph, &names, &hosts, only))?;
    Ok((graph, jobs, shown))
}

/// When the run ends at the latest.
fn end(scenario: &Scenario) -> Result<Time, Problem> {
    match scenario.until {
        Some(until) if until > LAST => Err(Problem::new(
            "until",
            format!("{until} is not allowed: at most {} days", LAST.as_us() / 86_400_000_000),
        )),
        until => Ok(until.unwrap_or(LAST)),
    }
}

/// Refuses more bytes around a packet than a packet can have.
fn check_framing(framing: Framing) -> Result<(), Problem> {
    for (field, bytes) in [("overhead", framing.overhead), ("min_payload", framing.min_payload)] {
        if bytes > 65_535 {
            return Err(Problem::new(["framing", field], format!("{bytes} B a packet: at most 65535 B")));
        }
    }
    Ok(())
}

/// The place of each job.
fn places<'a>(
    work: &AllWork<'a>,
    graph: &'a Graph,
    names: &'a Names<'a>,
    hosts: &'a [HostConfig],
    only: Option<HostId>,
) -> Vec<Place<'a>> {
    let place = |&(index, port, job): &(usize, u16, &'a Job)| Place {
        index,
        name: &job.name,
        port,
        start: job.start,
        seed: work.seed,
        draws: rng::stream(work.seed, &format!("plan of job {}", job.name)),
        sample: work.sample,
        graph,
        names,
        hosts,
        only,
    };
    work.jobs.iter().map(place).collect()
}

fn jobs(
    work: &AllWork<'_>,
    graph: &Graph,
    places: Vec<Place<'_>>,
) -> Result<(Vec<JobSetup>, AllShown), Problem> {
    let mut setups: Vec<JobSetup> = Vec::with_capacity(places.len());
    let mut all = Vec::with_capacity(places.len());
    for (&(index, _, job), mut place) in work.jobs.iter().zip(places) {
        let at = |problem: Problem| problem.within(("jobs", index));
        if setups.iter().any(|other| other.name == job.name) {
            return Err(at(Problem::new("name", format!("{:?} is used twice", job.name))));
        }
        if job.class > 7 {
            return Err(at(Problem::new("class", format!("{}: 0 to 7 are allowed", job.class))));
        }
        in_a_run(job.start).map_err(|error| at(error.within("start")))?;
        let kind = job.work.kind();
        let cast = kind.cast(&mut place);
        let Cast { processes, shown } = cast.map_err(|error| at(error.within("work")))?;
        all.push(shown);
        setups.push(JobSetup {
            name: job.name.clone(),
            kind: kind.name().into(),
            start: job.start,
            class: job.class,
            background: kind.is_background(),
            processes,
        });
    }
    reachable(graph, &setups)?;
    Ok((setups, all))
}

/// Refuses what would begin after the longest run.
pub(crate) fn in_a_run(at: Time) -> Result<(), Problem> {
    if at < LAST {
        return Ok(());
    }
    Err(Problem::whole(format!("{at} is beyond the longest run ({} days)", LAST.as_us() / 86_400_000_000)))
}

/// Refuses a job with two hosts that no way joins.
fn reachable(graph: &Graph, jobs: &[JobSetup]) -> Result<(), Problem> {
    let config = |_: NodeId| fabric::SwitchConfig::default();
    let mut fabric: Fabric<()> = Fabric::new(graph, Framing::ETHERNET, 0, config);
    for (index, job) in jobs.iter().enumerate() {
        let Some((first, _)) = job.processes.first() else { continue };
        for (host, _) in &job.processes {
            let (a, b) = (NodeId(first.0), NodeId(host.0));
            if fabric.route(a, b, 0).is_none() {
                let message = format!("no way leads from {} to {}", graph.name(a), graph.name(b));
                return Err(Problem::new(("jobs", index), message));
            }
        }
    }
    Ok(())
}
