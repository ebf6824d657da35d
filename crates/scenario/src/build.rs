//! From a scenario to a simulation.

use crate::names::{self, Names, matches};
use crate::problem::Problem;
use crate::spec::{self, Scenario};
use crate::topology;
use fabric::{Fabric, Framing, Graph, NodeId};
use sim::{HostConfig, JobSetup, Setup, Sim, rng};
use units::Time;

pub(crate) mod broadcast;
mod cells;
pub(crate) mod farmem;
mod faults;
mod fluids;
mod hosts;
mod jobs;
pub(crate) mod mine;
mod pfc;
mod room;
mod shuffle;
mod switches;
pub(crate) mod walk;

/// What walk servers, hosts of broadcasts, nodes of mining and programs on remote memory show of themselves.
#[derive(Default)]
pub(crate) struct Shown {
    pub walks: Vec<walk::Shown>,
    pub broadcasts: Vec<broadcast::Shown>,
    pub mines: Vec<mine::Shown>,
    pub farmems: Vec<farmem::Shown>,
}

/// No run gets further than 106 days: half of what a time can hold, so that no sum of two times wraps.
const LAST: Time = Time::from_ps(1 << 63);

/// Builds the simulation of a scenario, ready to run.
///
/// # Errors
/// The first thing that is wrong with the scenario.
pub fn build(scenario: &Scenario) -> Result<Sim, Problem> {
    build_shown(scenario).map(|(sim, _)| sim)
}

/// The same, with what its processes show of themselves.
pub(crate) fn build_shown(scenario: &Scenario) -> Result<(Sim, Shown), Problem> {
    let graph = topology::graph(&scenario.topology)?;
    let names = Names::new(&graph);
    let hosts = hosts::all(scenario, &graph)?;
    let until = end(scenario)?;
    let only_background = scenario.jobs.iter().all(|job| matches!(job.work, spec::Work::Background { .. }));
    if scenario.jobs.is_empty() {
        return Err(Problem::new("jobs", "there is no job: at least one is needed"));
    }
    if only_background && scenario.until.is_none() {
        return Err(Problem::new(
            "until",
            "is required: no run waits for background jobs, and there are no others",
        ));
    }
    let (jobs, shown) = jobs(scenario, &graph, &names, &hosts)?;
    let configs = hosts.clone();
    let faults = faults::all(scenario, &names)?;
    let switches = switches::all(scenario, &graph)?;
    cells::check_use(scenario, &graph, &names, &switches)?;
    let setup = Setup {
        framing: framing(scenario)?,
        seed: scenario.seed,
        switches,
        hosts,
        jobs,
        faults,
        until,
        graph: graph.clone(),
    };
    let mut sim = Sim::new(setup);
    fluids::add(scenario, &names, &configs, &mut sim)?;
    measure(scenario, &mut sim)?;
    Ok((sim, shown))
}

/// The topology of a scenario, and its jobs with their processes: all that doesn't depend on who runs them.
///
/// # Errors
/// The first thing that is wrong with them.
pub(crate) fn cast(scenario: &Scenario) -> Result<(Graph, Vec<JobSetup>, Shown), Problem> {
    let graph = topology::graph(&scenario.topology)?;
    let hosts = hosts::all(scenario, &graph)?;
    let (jobs, shown) = jobs(scenario, &graph, &Names::new(&graph), &hosts)?;
    Ok((graph, jobs, shown))
}

/// The ports that jobs listen on, in their order.
pub(crate) fn ports(scenario: &Scenario) -> Result<Vec<u16>, Problem> {
    let names: Vec<&str> = scenario.jobs.iter().map(|job| job.name.as_str()).collect();
    sim::job_ports(&names).map_err(|error| Problem::new("jobs", error))
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

fn framing(scenario: &Scenario) -> Result<Framing, Problem> {
    let small = |bytes: units::Bytes, field: &str| {
        u32::try_from(bytes.get()).ok().filter(|n| *n <= 65_535).ok_or_else(|| {
            Problem::new(format!("framing.{field}"), format!("{bytes} a packet: at most 65535 B"))
        })
    };
    Ok(Framing {
        overhead: small(scenario.framing.overhead, "overhead")?,
        min_payload: small(scenario.framing.min_payload, "min_payload")?,
    })
}

/// The index of the last rule that matches `name`.
fn last_match<'a>(
    mut patterns: impl DoubleEndedIterator<Item = &'a String> + ExactSizeIterator,
    name: &str,
    path: &str,
) -> Result<usize, Problem> {
    patterns
        .rposition(|pattern| matches(pattern, name))
        .ok_or_else(|| Problem::new(path, format!("no rule matches {name}: begin with a rule for \"*\"")))
}

fn jobs(
    scenario: &Scenario,
    graph: &Graph,
    names: &Names<'_>,
    hosts: &[HostConfig],
) -> Result<(Vec<JobSetup>, Shown), Problem> {
    let infos = jobs::host_infos(graph, hosts);
    let mut setups: Vec<JobSetup> = Vec::with_capacity(scenario.jobs.len());
    let mut shown = Shown::default();
    let ports = ports(scenario)?;
    for (index, job) in scenario.jobs.iter().enumerate() {
        let path = format!("jobs[{index}]");
        if setups.iter().any(|other| other.name == job.name) {
            return Err(Problem::new(format!("{path}.name"), format!("{:?} is used twice", job.name)));
        }
        if job.class > 7 {
            return Err(Problem::new(format!("{path}.class"), format!("{}: 0 to 7 are allowed", job.class)));
        }
        let mut draws = rng::stream(scenario.seed, &format!("plan of job {}", job.name));
        let port = ports[index];
        let processes = match &job.work {
            spec::Work::Shuffle(job) => {
                shuffle::processes(job, names, graph.hosts(), &mut draws, port, &path)?
            }
            spec::Work::Broadcast(work) => {
                let (seed, sample) = (scenario.seed, scenario.measure.interval);
                let place = broadcast::Place { index, port, seed, sample };
                let (processes, boards) = broadcast::processes(work, graph, names, &place, &path)?;
                shown.broadcasts.push(boards);
                processes
            }
            spec::Work::Mine(work) => {
                let work_path = format!("{path}.work");
                let look = jobs::Look { names, path: &work_path };
                let (processes, boards) = mine::processes(work, &look, (index, port), scenario.seed)?;
                shown.mines.push(boards);
                processes
            }
            spec::Work::Farmem(work) => {
                let work_path = format!("{path}.work");
                let look = jobs::Look { names, path: &work_path };
                let (processes, boards) =
                    farmem::processes(work, &look, (index, port), (scenario.seed, &job.name))?;
                shown.farmems.push(boards);
                processes
            }
            spec::Work::Walk(walk) => {
                let work_path = format!("{path}.work");
                let look = jobs::Look { names, path: &work_path };
                let (start, sample) = (job.start, scenario.measure.interval);
                let (processes, boards) = walk::processes(
                    walk,
                    &look,
                    &walk::Place { index, port, start, hosts, sample },
                    &mut draws,
                )?;
                shown.walks.extend(boards);
                processes
            }
            work => jobs::processes(work, names, &infos, &mut draws, port, &path)?,
        };
        setups.push(JobSetup {
            name: job.name.clone(),
            kind: jobs::kind(&job.work).into(),
            start: job.start,
            class: job.class,
            background: matches!(job.work, spec::Work::Background { .. }),
            processes: if fluids::is_fluid(job) { Vec::new() } else { processes },
        });
    }
    reachable(graph, &setups)?;
    Ok((setups, shown))
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
                return Err(Problem::new(format!("jobs[{index}]"), message));
            }
        }
    }
    Ok(())
}

/// Least time between samples: at 400 Gb/s the shortest frame takes 1.7 ns.
const INTERVAL_LEAST: Time = Time::from_ns(10);

fn measure(scenario: &Scenario, sim: &mut Sim) -> Result<(), Problem> {
    let graph = sim.graph().clone();
    let ports = names::ports(&graph, sim.network());
    let select = |patterns: &[String], field: &str| {
        let mut chosen = vec![false; ports.len()];
        for (index, pattern) in patterns.iter().enumerate() {
            let mut any = false;
            for (at, (_, name)) in ports.iter().enumerate().filter(|(_, (_, name))| matches(pattern, name)) {
                debug_assert!(!name.is_empty());
                chosen[at] = true;
                any = true;
            }
            if !any {
                let message = format!("no port matches {pattern:?}: ports are called like {}", ports[0].1);
                return Err(Problem::new(format!("measure.{field}[{index}]"), message));
            }
        }
        Ok(ports.iter().zip(chosen).filter(|(_, is)| *is).map(|((port, _), _)| *port).collect::<Vec<_>>())
    };
    let (sampled, captured) =
        (select(&scenario.measure.ports, "ports")?, select(&scenario.measure.capture, "capture")?);
    match scenario.measure.interval {
        Some(interval) if interval < INTERVAL_LEAST => {
            let message =
                format!("{interval}: at least {INTERVAL_LEAST} is needed, or samples outnumber packets");
            return Err(Problem::new("measure.interval", message));
        }
        Some(interval) => sim.sample(interval, sampled, scenario.measure.flows),
        None => {}
    }
    for port in captured {
        sim.capture(port);
    }
    Ok(())
}
