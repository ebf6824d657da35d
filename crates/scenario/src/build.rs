//! From a scenario to a simulation.

use crate::names::{self, Names, matches};
use crate::problem::Problem;
use crate::spec::{self, Scenario};
use crate::topology;
use fabric::{Fabric, Framing, Graph, NodeId};
use rand::RngExt;
use sim::{Change, HostConfig, JobSetup, LinkChange, Setup, Sim, rng};
use transport::tcp;
use units::Time;

mod fluids;
mod jobs;
mod pfc;
mod shuffle;
mod switches;

/// First port of jobs: the first job listens there, the next on the one after it.
const BASE_PORT: u16 = 5000;

/// Builds the simulation of a scenario, ready to run.
///
/// # Errors
/// The first thing that is wrong with the scenario.
pub fn build(scenario: &Scenario) -> Result<Sim, Problem> {
    let graph = topology::graph(&scenario.topology)?;
    let names = Names::new(&graph);
    let hosts = hosts(scenario, &graph)?;
    let until = scenario.until.unwrap_or(Time::MAX);
    let only_background = scenario.jobs.iter().all(|job| matches!(job.work, spec::Work::Background { .. }));
    if scenario.jobs.is_empty() {
        return Err(Problem::new("jobs", "there is no job: at least one is needed"));
    }
    if only_background && scenario.until.is_none() {
        return Err(Problem::new(
            "until",
            "background traffic alone never ends: set a time at which the run ends",
        ));
    }
    let jobs = jobs(scenario, &graph, &names, &hosts)?;
    let configs = hosts.clone();
    let faults = faults(scenario, &names)?;
    let setup = Setup {
        framing: framing(scenario)?,
        seed: scenario.seed,
        switches: switches::all(scenario, &graph)?,
        hosts,
        jobs,
        faults,
        until,
        graph: graph.clone(),
    };
    let mut sim = Sim::new(setup);
    fluids::add(scenario, &names, &configs, &mut sim)?;
    measure(scenario, &mut sim)?;
    Ok(sim)
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

fn hosts(scenario: &Scenario, graph: &Graph) -> Result<Vec<HostConfig>, Problem> {
    let mut configs = Vec::with_capacity(graph.hosts());
    for name in graph.names().take(graph.hosts()) {
        let index = last_match(scenario.hosts.iter().map(|rule| &rule.pattern), name, "hosts")?;
        let path = format!("hosts[{index}].config");
        configs.push(host(&scenario.hosts[index].config, name, scenario.seed, &path)?);
    }
    Ok(configs)
}

fn host(config: &spec::Host, name: &str, seed: u64, path: &str) -> Result<HostConfig, Problem> {
    let mtu = config.mtu.get();
    if !(68..=65_535).contains(&mtu) {
        return Err(Problem::new(format!("{path}.mtu"), format!("{mtu} B: 68 B to 65535 B are allowed")));
    }
    if config.cores == 0 {
        return Err(Problem::new(format!("{path}.cores"), "0: a host has at least 1 core"));
    }
    if config.disk.as_bps() < 1_000 {
        return Err(Problem::new(format!("{path}.disk"), format!("{}: at least 1 kbps", config.disk)));
    }
    Ok(HostConfig {
        mtu: mtu as u32,
        nic_queue: config.nic_queue.get(),
        cores: config.cores,
        disk: config.disk,
        tcp: tcp(&config.tcp, name, seed, &format!("{path}.tcp"))?,
    })
}

fn tcp(config: &spec::Tcp, host: &str, seed: u64, path: &str) -> Result<tcp::Config, Problem> {
    let problem = |field: &str, message: String| Err(Problem::new(format!("{path}.{field}"), message));
    let mut draw = rng::stream(seed, &format!("retransmission timers of {host}"));
    let mut span = |span: spec::Span, field: &str| match span {
        spec::Span::Fixed(time) => Ok(time),
        spec::Span::Uniform(from, to) if from <= to => {
            Ok(Time::from_ps(draw.random_range(from.as_ps()..=to.as_ps())))
        }
        spec::Span::Uniform(from, to) => Err(Problem::new(
            format!("{path}.{field}"),
            format!("from {from} to {to}: the first is the smaller"),
        )),
    };
    let (rto_initial, rto_min, rto_max) = (
        span(config.rto_initial, "rto_initial")?,
        span(config.rto_min, "rto_min")?,
        span(config.rto_max, "rto_max")?,
    );
    if rto_min > rto_max {
        return problem("rto_min", format!("{rto_min} is above rto_max, {rto_max}"));
    }
    if rto_min == Time::ZERO {
        return problem("rto_min", "0s: a retransmission timeout is above zero".into());
    }
    for (field, zero) in [
        ("initial_window", config.initial_window == 0),
        ("ack_every", config.ack_every == 0),
        ("receive_buffer", config.receive_buffer.get() == 0),
        ("send_buffer", config.send_buffer.get() == 0),
    ] {
        if zero {
            return problem(field, "0: at least 1".into());
        }
    }
    if config.receive_buffer > config.receive_buffer_max {
        return problem("receive_buffer", format!("above receive_buffer_max, {}", config.receive_buffer_max));
    }
    if config.dctcp_shift > 16 {
        return problem("dctcp_shift", format!("{}: 0 to 16 are allowed", config.dctcp_shift));
    }
    Ok(tcp::Config {
        congestion: match config.congestion {
            spec::Congestion::Reno => tcp::Congestion::Reno,
            spec::Congestion::Cubic => tcp::Congestion::Cubic,
            spec::Congestion::Dctcp => tcp::Congestion::Dctcp,
            spec::Congestion::Htcp => tcp::Congestion::Htcp,
            spec::Congestion::Bbr => tcp::Congestion::Bbr,
        },
        ecn: match config.ecn {
            spec::Ecn::Off => tcp::EcnMode::Off,
            spec::Ecn::On => tcp::EcnMode::On,
            spec::Ecn::Passive => tcp::EcnMode::Passive,
        },
        ecn_fallback: config.ecn_fallback,
        sack: config.sack,
        rack: config.rack && config.sack,
        tail_loss_probe: config.tail_loss_probe && config.rack && config.sack,
        limited_transmit: config.limited_transmit,
        timestamps: config.timestamps,
        mss: 0, // From the MTU, when the host is set up.
        initial_window: config.initial_window,
        hystart: config.hystart,
        rto_initial,
        rto_min,
        rto_max,
        ack_every: config.ack_every,
        delayed_ack: config.delayed_ack,
        receive_buffer: config.receive_buffer.get(),
        receive_buffer_max: config.receive_buffer_max.get(),
        send_buffer: config.send_buffer.get(),
        dctcp_shift: config.dctcp_shift,
        htcp_rtt_scaling: config.htcp_rtt_scaling,
    })
}

fn jobs(
    scenario: &Scenario,
    graph: &Graph,
    names: &Names<'_>,
    hosts: &[HostConfig],
) -> Result<Vec<JobSetup>, Problem> {
    let infos = jobs::host_infos(graph, hosts);
    let mut setups: Vec<JobSetup> = Vec::with_capacity(scenario.jobs.len());
    for (index, job) in scenario.jobs.iter().enumerate() {
        let path = format!("jobs[{index}]");
        if setups.iter().any(|other| other.name == job.name) {
            return Err(Problem::new(format!("{path}.name"), format!("{:?} is used twice", job.name)));
        }
        if job.class > 7 {
            return Err(Problem::new(format!("{path}.class"), format!("{}: 0 to 7 are allowed", job.class)));
        }
        let mut draws = rng::stream(scenario.seed, &format!("plan of job {}", job.name));
        let port = BASE_PORT
            .checked_add(index as u16)
            .filter(|_| index < 40_000)
            .ok_or_else(|| Problem::new("jobs", "more than 40000 jobs"))?;
        let processes = match &job.work {
            spec::Work::Shuffle(job) => {
                shuffle::processes(job, names, graph.hosts(), &mut draws, port, &path)?
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
    Ok(setups)
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

fn faults(scenario: &Scenario, names: &Names<'_>) -> Result<Vec<(Time, Change)>, Problem> {
    let mut faults = Vec::with_capacity(scenario.faults.len());
    for (index, fault) in scenario.faults.iter().enumerate() {
        let path = format!("faults[{index}].change");
        faults.push((fault.at, change(&fault.change, names, &path)?));
    }
    Ok(faults)
}

fn change(change: &spec::Change, names: &Names<'_>, path: &str) -> Result<Change, Problem> {
    let host = |name: &String| Ok::<_, Problem>(names.host(name, || format!("{path}.host"))?.0);
    let link = |a: &String, b: &String, change| {
        let end = |name: &String| names.node(name, || path.to_owned());
        let (a_node, b_node) = (end(a)?, end(b)?);
        if !names.linked(a_node, b_node) {
            return Err(Problem::new(path, format!("no link joins {a:?} and {b:?}")));
        }
        Ok(Change::Link(a_node, b_node, change))
    };
    let chance = |p: f64| {
        let message = || Problem::new(format!("{path}.probability"), format!("{p}: 0 to 1 are allowed"));
        (0.0..=1.0).contains(&p).then_some(p).ok_or_else(message)
    };
    match change {
        spec::Change::Crash { host: name } => Ok(Change::Crash(host(name)?)),
        spec::Change::Restart { host: name } => Ok(Change::Restart(host(name)?)),
        spec::Change::Slow { host: name, speed } if *speed > 0.0 && speed.is_finite() => {
            Ok(Change::Slow(host(name)?, (speed * 1e6) as u64))
        }
        spec::Change::Slow { speed, .. } => {
            Err(Problem::new(format!("{path}.speed"), format!("{speed}: a number above 0 is needed")))
        }
        spec::Change::PauseStorm { host: name, class } => storm(host(name)?, *class, true, path),
        spec::Change::PauseStormEnd { host: name, class } => storm(host(name)?, *class, false, path),
        spec::Change::LinkDown { a, b } => link(a, b, LinkChange::Down),
        spec::Change::LinkUp { a, b } => link(a, b, LinkChange::Up),
        spec::Change::Loss { a, b, probability } => link(a, b, LinkChange::Loss(chance(*probability)?)),
        spec::Change::Corrupt { a, b, probability } => link(a, b, LinkChange::Corrupt(chance(*probability)?)),
        spec::Change::Rate { a, b, rate } if rate.as_bps() >= 1_000 => link(a, b, LinkChange::Rate(*rate)),
        spec::Change::Rate { rate, .. } => {
            Err(Problem::new(format!("{path}.rate"), format!("{rate}: at least 1 kbps")))
        }
    }
}

fn storm(host: u32, class: u8, on: bool, path: &str) -> Result<Change, Problem> {
    if class > 7 {
        return Err(Problem::new(format!("{path}.class"), format!("{class}: 0 to 7 are allowed")));
    }
    Ok(Change::PauseStorm(host, class, on))
}

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
        Some(Time::ZERO) => return Err(Problem::new("measure.interval", "0s: an interval is above zero")),
        Some(interval) => sim.sample(interval, sampled, scenario.measure.flows),
        None => {}
    }
    for port in captured {
        sim.capture(port);
    }
    Ok(())
}
