//! Random walks of a scenario as servers of [`walk`].

use super::jobs::Look;
use crate::problem::Problem;
use crate::spec::{
    Generation, Partition, Retry, Sleep, Walk, WalkChanges, WalkGraph, WalkLoss, WalkQueue, WalkSteps,
};
use process::{Addr, HostId, Process};
use rand::{Rng, RngExt};
use sim::HostConfig;
use std::sync::Arc;
use transport::UDP_HEADERS;
use units::Time;
use walk::counters::Board;
use walk::generator::{self, GeneratorSettings, Rule};
use walk::graph::{Blocks, Change, Graph, Shape};
use walk::partition::{self, ServerPart};
use walk::queue::{Discipline, QueueSettings};
use walk::seal::Key;
use walk::server::{Server, ServerSetup};
use walk::settings::{Costs, Settings};
use walk::territory::{Territory, TimedChanges};
use walk::{codel, loss, outbox, red, sink, step, store, wire};

/// What a server shows of itself.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Index of the job.
    pub job: usize,
    /// Where it runs.
    pub host: HostId,
    /// Nodes that it owns.
    pub nodes: u32,
    pub board: Arc<Board>,
}

/// A job's place in the scenario.
pub(super) struct Place<'a> {
    pub index: usize,
    pub port: u16,
    /// When it begins.
    pub start: Time,
    pub hosts: &'a [HostConfig],
    /// Time between samples.
    pub sample: Option<Time>,
}

type Processes = Vec<(HostId, Box<dyn Process>)>;

/// The servers of a job, and their boards.
pub(super) fn processes(
    spec: &Walk,
    look: &Look<'_>,
    place: &Place<'_>,
    draws: &mut dyn Rng,
) -> Result<(Processes, Vec<Shown>), Problem> {
    let problem = |field: &str, message: String| Problem::new(format!("{}.{field}", look.path), message);
    let servers = look.hosts(&spec.servers, "servers")?;
    check_servers(&servers, spec).map_err(|(field, message)| problem(field, message))?;
    let mtu = servers.iter().map(|host| place.hosts[host.0 as usize].mtu).min().unwrap_or(0);
    let settings = settings(spec, place.sample, mtu.saturating_sub(UDP_HEADERS) as usize);
    settings.check().map_err(|error| problem(name_of(error.field), error.message))?;
    let (graph_seed, seed): (u64, u64) = (draws.random(), draws.random());
    let key = Key::new(draws.random());
    let rule = step::Rule::new(&rule(spec)).map_err(|error| problem("stop", error.to_string()))?;
    let graph = graph(&spec.graph, graph_seed).map_err(|message| problem("graph", message))?;
    let partition =
        partition(spec, &graph, servers.len()).map_err(|message| problem("partition", message))?;
    let changes = changes(spec, &graph, &partition, place.start)
        .map_err(|(index, message)| problem(&format!("changes[{index}]"), message))?;
    let addresses: Vec<Addr> = servers.iter().map(|host| Addr { host: *host, port: place.port }).collect();
    let (mut processes, mut shown): (Processes, _) = (Vec::new(), Vec::new());
    for (server, host) in (0u16..).zip(servers) {
        let part = ServerPart::of(&graph, &partition, server).map_err(|e| problem("graph", e.to_string()))?;
        let board = Arc::new(Board::default());
        let nodes = part.own().count() as u32;
        shown.push(Shown { job: place.index, host, nodes, board: Arc::clone(&board) });
        let costs = spec.costs[if spec.costs.len() == 1 { 0 } else { usize::from(server) }];
        let setup = ServerSetup {
            settings: settings.clone(),
            costs: Costs {
                step: costs.step,
                walker: costs.walker,
                generate: costs.generate,
                drop: costs.drop,
                datagram: costs.datagram,
            },
            servers: addresses.clone(),
            codec: wire::Codec { job: place.index as u32, server, key: spec.authenticate.then_some(key) },
            territory: Territory { part, rule: rule.clone(), seed, fresh: spec.retry == Retry::Fresh },
            starts: None,
            changes: changes.clone(),
            mailbox: None,
            sink: Box::new(sink::Ignore),
            store: Box::new(store::Memory::default()),
            board,
        };
        processes.push((host, Box::new(Server::new(setup))));
    }
    Ok((processes, shown))
}

type Wrong = (&'static str, String);

fn check_servers(servers: &[HostId], spec: &Walk) -> Result<(), Wrong> {
    if servers.is_empty() || servers.len() >= usize::from(u16::MAX) {
        return Err(("servers", format!("{} servers: 1 to 65534 are allowed", servers.len())));
    }
    let mut sorted = servers.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(("servers", format!("host number {} stands there twice: one server a host", pair[0].0)));
    }
    if ![1, servers.len()].contains(&spec.costs.len()) {
        let message = format!("{} for {} servers: one, or one for each", spec.costs.len(), servers.len());
        return Err(("costs", message));
    }
    let free = |cost: &crate::spec::WalkCosts| {
        cost.generate == Time::ZERO || (cost.step == Time::ZERO && cost.walker == Time::ZERO)
    };
    if spec.costs.iter().any(free) {
        let message =
            "generating a walker, and serving one, take more than no time: simulated time would stand still";
        return Err(("costs", message.into()));
    }
    Ok(())
}

/// The field of the scenario behind one of the settings.
fn name_of(field: &'static str) -> &'static str {
    match field {
        "queue.limit" => "limit",
        "queue.red.max" | "queue.red.max_p" | "queue.red.weight" | "queue.codel.interval" => "queue",
        "generator.batch" => "generation.batch",
        "generator.checks" => "generation.checks",
        "generator.window" => "generation.under_way",
        "generator.sleep" => "generation.time",
        "generator.max_sleep" => "generation.max",
        "datagrams.records" => "datagrams.walkers",
        "datagrams.bytes" => "servers",
        other => other,
    }
}

fn settings(spec: &Walk, sample: Option<Time>, bytes: usize) -> Settings {
    Settings {
        walks: spec.walks,
        regenerate: spec.regenerate,
        steps_max: spec.steps_max,
        paths: false,
        queue: QueueSettings {
            discipline: spec.queue.into(),
            limit: usize::try_from(spec.limit).unwrap_or(usize::MAX),
        },
        loss: spec.loss.into(),
        generator: spec.generation.into(),
        datagrams: outbox::DatagramSettings {
            records: spec.datagrams.walkers as usize,
            bytes,
            linger: spec.datagrams.linger,
        },
        workers: spec.workers,
        burst: 1,
        sample,
        snapshot: spec.snapshot,
    }
}

impl From<WalkQueue> for Discipline {
    fn from(queue: WalkQueue) -> Discipline {
        match queue {
            WalkQueue::TailDrop {} => Discipline::TailDrop,
            WalkQueue::Red { min, max, max_p, weight, count, gentle } => {
                Discipline::Red(red::RedSettings { min, max, max_p, weight, count, gentle })
            }
            WalkQueue::Codel { target, interval } => {
                Discipline::Codel(codel::CodelSettings { target, interval })
            }
        }
    }
}

impl From<WalkLoss> for loss::LossSettings {
    fn from(loss: WalkLoss) -> loss::LossSettings {
        let WalkLoss { initial, floor, window, repeated, direct, remote, attempts } = loss;
        loss::LossSettings { initial, floor, window, repeated, direct, remote, attempts }
    }
}

impl From<Generation> for GeneratorSettings {
    fn from(generation: Generation) -> GeneratorSettings {
        let Generation { sleep, checks, time, max, batch, under_way } = generation;
        let (rule, sleep) = match sleep {
            Sleep::Never => (Rule::Never, generator::Sleep::Fixed),
            Sleep::Always => (Rule::Always, generator::Sleep::Fixed),
            Sleep::Fixed => (Rule::AfterLoss(checks), generator::Sleep::Fixed),
            Sleep::Additive => (Rule::AfterLoss(checks), generator::Sleep::Additive { max }),
            Sleep::Aimd => (Rule::AfterLoss(checks), generator::Sleep::Aimd { max }),
        };
        GeneratorSettings { rule, sleep, time, batch, window: under_way }
    }
}

impl WalkChanges {
    /// The changes in the order in which they are applied: what goes, then what comes.
    pub fn changes(&self) -> Vec<Change> {
        let remove = self.remove.iter().map(|&(from, to)| Change::Remove { from, to });
        let set = self.set.iter().map(|&(from, to, weight)| Change::Set { from, to, weight });
        remove.chain(set).collect()
    }
}

fn rule(spec: &Walk) -> step::Walk {
    let length = match spec.steps {
        WalkSteps::Fixed(steps) => step::Length::Fixed(steps),
        WalkSteps::Stop(stop) => step::Length::Geometric { stop },
    };
    step::Walk { length, restart: spec.restart, node2vec: spec.node2vec, dead_end: step::DeadEnd::Stop }
}

fn graph(spec: &WalkGraph, seed: u64) -> Result<Graph, String> {
    let built = match spec {
        WalkGraph::Blocks { sizes, probabilities } => {
            let blocks = Blocks { sizes: sizes.clone(), probabilities: probabilities.clone() };
            let message =
                "a probability for each pair of blocks, from 0 to 1, and fewer than 2^32 nodes are needed";
            blocks.graph(seed).ok_or(message)?
        }
        WalkGraph::Arcs { nodes, directed, arcs, weights } => {
            let shape = if *directed { Shape::directed(*nodes) } else { Shape::undirected(*nodes) };
            match weights {
                None => Graph::even(shape, || arcs.iter().copied()),
                Some(weights) if weights.len() != arcs.len() => {
                    return Err(format!("{} weights for {} arcs: one for each", weights.len(), arcs.len()));
                }
                Some(weights) => Graph::with_weights(shape, || {
                    arcs.iter().zip(weights).map(|((from, to), weight)| (*from, *to, *weight))
                }),
            }
        }
    };
    built.map_err(|error| error.to_string())
}

fn partition(spec: &Walk, graph: &Graph, servers: usize) -> Result<partition::Partition, String> {
    let built = match &spec.partition {
        Partition::Ranges(sizes) if sizes.len() != servers => {
            return Err(format!("{} sizes for {servers} servers: one for each", sizes.len()));
        }
        Partition::Ranges(sizes) => {
            let sum: u64 = sizes.iter().copied().map(u64::from).sum();
            if sum != u64::from(graph.nodes()) {
                return Err(format!("{sum} nodes, but the graph has {}", graph.nodes()));
            }
            partition::Partition::ranges(sizes)
        }
        Partition::Owners(owners) if owners.len() as u64 != u64::from(graph.nodes()) => {
            return Err(format!("{} owners for {} nodes: one for each", owners.len(), graph.nodes()));
        }
        Partition::Owners(owners) => partition::Partition::new(owners.clone(), servers as u16),
    };
    built.map_err(|error| error.to_string())
}

fn changes(
    spec: &Walk,
    graph: &Graph,
    partition: &partition::Partition,
    start: Time,
) -> Result<Vec<TimedChanges>, (usize, String)> {
    let mut all = Vec::with_capacity(spec.changes.len());
    // Applied once to the whole graph, so that what can't be applied is refused before the run.
    let mut trial = graph.clone();
    let mut last = Time::ZERO;
    for (index, timed) in spec.changes.iter().enumerate() {
        if std::mem::replace(&mut last, timed.at) > timed.at {
            return Err((index, "before the one above it: they are in order of time".into()));
        }
        let changes = timed.changes();
        trial.apply(&changes).map_err(|error| (index, error.to_string()))?;
        let mut owners: Vec<(u32, u16)> = Vec::new();
        for change in &changes {
            let (Change::Set { from, to, .. } | Change::Remove { from, to }) = *change;
            owners.extend([from, to].iter().filter_map(|node| Some((*node, partition.owner(*node)?))));
        }
        owners.sort_unstable();
        owners.dedup();
        all.push(TimedChanges { at: start + timed.at, changes, owners });
    }
    Ok(all)
}
