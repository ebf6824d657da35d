//! Random walks on a graph that is spread over servers: the servers of [`walk`], and the tables `walks` and
//! `walks_series`.

use super::kind::{Cast, Gathered, Kind, Out, Place, Processes, Shown, read};
use process::{Addr, HostId, Hosts, distinct};
use rand::RngExt;
use record::{Error, rows};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use transport::UDP_HEADERS;
use units::{Problem, Time};
use walk::counters::{Board, Sample, Totals};
use walk::graph::{Blocks, Change, Graph, Shape};
use walk::partition::{self, ServerPart};
use walk::seal::Key;
use walk::server::{Server, ServerSetup};
use walk::settings::{Costs, Derived, Settings};
use walk::territory::{Territory, TimedChanges};
use walk::{sink, step, store, wire};

/// Random walks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Hosts, one server each; the order counts.
    pub servers: Vec<String>,
    /// The graph.
    pub graph: WalkGraph,
    /// The owner of each node.
    pub partition: Partition,
    /// Arcs that come and go while walks run, by time.
    pub changes: Vec<WalkChanges>,
    /// How walkers move.
    #[serde(flatten)]
    pub moves: step::Walk,
    /// How servers run walks.
    #[serde(flatten)]
    pub settings: Settings,
    /// Where a lost walk goes when it is generated again.
    pub retry: Retry,
    /// Datagrams carry a tag that only members can make.
    pub authenticate: bool,
    /// How long things take: one for all servers, or one for each.
    pub costs: Vec<Costs>,
}

/// A graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WalkGraph {
    /// A stochastic block model, drawn from the seed.
    Blocks(Blocks),
    /// Its arcs.
    Arcs {
        /// Nodes are numbered below it.
        nodes: u32,
        /// Whether an arc goes one way only.
        directed: bool,
        /// (from, to).
        arcs: Vec<(u32, u32)>,
        /// One weight an arc; without them all are alike.
        weights: Option<Vec<f32>>,
    },
}

/// The owner of each node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// The first so many nodes belong to the first server, and so on.
    Ranges(Vec<u32>),
    /// The server of each node, from 0.
    Owners(Vec<u16>),
}

/// Arcs that come and go at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkChanges {
    /// When, since the job's start.
    pub at: Time,
    /// Arcs that are there from then on; one with a weight has three parts.
    pub set: Vec<(u32, u32, Option<f32>)>,
    /// Arcs that are not there from then on.
    pub remove: Vec<(u32, u32)>,
}

/// Where a lost walk goes when it is generated again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// The same way.
    Same,
    /// It draws again.
    Fresh,
}

impl Kind for Walk {
    fn name(&self) -> &'static str {
        "walk"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let draws = &mut place.draws;
        let servers = place.names.all(&self.servers, "servers")?;
        check_servers(&servers, self)?;
        let mtu = servers.iter().map(|host| place.hosts[host.0 as usize].mtu).min().unwrap_or(0);
        let settings = Settings {
            derived: Derived {
                datagram_bytes: mtu.saturating_sub(UDP_HEADERS) as usize,
                sample: place.sample,
                ..Derived::default()
            },
            ..self.settings.clone()
        };
        settings.check()?;
        let (graph_seed, seed): (u64, u64) = (draws.random(), draws.random());
        let key = Key::new(draws.random());
        let rule = step::Rule::new(&self.moves).map_err(|error| Problem::new("stop", error.to_string()))?;
        let graph = graph(&self.graph, graph_seed).map_err(|message| Problem::new("graph", message))?;
        let partition =
            partition(self, &graph, servers.len()).map_err(|message| Problem::new("partition", message))?;
        let changes = changes(self, &graph, &partition, place.start)
            .map_err(|(index, message)| Problem::new(("changes", index), message))?;
        let addresses: Vec<Addr> =
            servers.iter().map(|host| Addr { host: *host, port: place.port }).collect();
        let (mut processes, mut shown): (Processes, _) = (Vec::new(), Vec::new());
        for (server, host) in (0u16..).zip(servers) {
            if !place.needs(host) {
                continue;
            }
            let part = ServerPart::of(&graph, &partition, server)
                .map_err(|e| Problem::new("graph", e.to_string()))?;
            let board = Arc::new(Board::default());
            let nodes = part.own_nodes().count() as u32;
            shown.push(Shows { host, nodes, board: Arc::clone(&board), before: Totals::default() });
            let costs = self.costs[if self.costs.len() == 1 { 0 } else { usize::from(server) }];
            let setup = ServerSetup {
                settings: settings.clone(),
                costs,
                servers: addresses.clone(),
                codec: wire::Codec { job: place.index as u32, server, key: self.authenticate.then_some(key) },
                territory: Territory { part, rule: rule.clone(), seed, fresh: self.retry == Retry::Fresh },
                starts: None,
                changes: changes.clone(),
                mailbox: None,
                sink: Box::new(sink::Ignore),
                store: Box::new(store::Memory::default()),
                board,
            };
            processes.push((host, Box::new(Server::new(setup))));
        }
        Ok(Cast { processes, shown: Box::new(Servers { all: shown, ..Servers::default() }) })
    }
}

fn check_servers(servers: &[HostId], spec: &Walk) -> Result<(), Problem> {
    if servers.is_empty() || servers.len() >= usize::from(u16::MAX) {
        return Err(Problem::new("servers", format!("{} servers: 1 to 65534 are allowed", servers.len())));
    }
    distinct("servers", servers)?;
    if ![1, servers.len()].contains(&spec.costs.len()) {
        let message = format!("{} for {} servers: one, or one for each", spec.costs.len(), servers.len());
        return Err(Problem::new("costs", message));
    }
    let free =
        |cost: &Costs| cost.generate == Time::ZERO || (cost.step == Time::ZERO && cost.walker == Time::ZERO);
    if spec.costs.iter().any(free) {
        let message =
            "generating a walker, and serving one, take more than no time: simulated time would stand still";
        return Err(Problem::new("costs", message));
    }
    Ok(())
}

impl WalkChanges {
    /// The changes in the order in which they are applied: what goes, then what comes.
    pub fn changes(&self) -> Vec<Change> {
        let remove = self.remove.iter().map(|&(from, to)| Change::Remove { from, to });
        let set = self.set.iter().map(|&(from, to, weight)| Change::Set { from, to, weight });
        remove.chain(set).collect()
    }
}

fn graph(spec: &WalkGraph, seed: u64) -> Result<Graph, String> {
    let built = match spec {
        WalkGraph::Blocks(blocks) => {
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

/// What a server shows of itself.
struct Shows {
    host: HostId,
    /// Nodes that it owns.
    nodes: u32,
    board: Arc<Board>,
    /// The counters at the last sample that was written.
    before: Totals,
}

/// What the servers of a job show of themselves.
#[derive(Default)]
struct Servers {
    all: Vec<Shows>,
    samples: Gathered<Sample>,
}

impl Shown for Servers {
    fn gather(&mut self) -> Option<Time> {
        self.samples.add(self.all.iter().map(|server| server.board.take_samples()), |sample| sample.time)
    }

    fn write_first(&mut self, out: &mut Out<'_>) -> Result<Option<Time>, Error> {
        if let Some((number, now)) = self.samples.take_first() {
            let server = &mut self.all[number];
            let row = Row { host: server.host, nodes: server.nodes };
            row.sample(out, &now, &std::mem::replace(&mut server.before, now.totals))?;
        }
        Ok(self.samples.first_at())
    }

    /// All is done when no walk was given up.
    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        let mut whole = true;
        for server in &self.all {
            let totals = server.board.counters.totals();
            Row { host: server.host, nodes: server.nodes }.totals(out, &totals)?;
            whole &= totals.given_up == 0;
        }
        Ok(whole)
    }

    fn report(&self, host: HostId) -> Value {
        let own = self.all.iter().find(|server| server.host == host);
        own.map_or(Value::Null, |server| {
            json!((server.nodes, server.board.take_samples(), server.board.counters.totals()))
        })
    }

    fn reported(&self, reports: &[(HostId, Value)], out: &mut Out<'_>) -> Result<bool, crate::error::Error> {
        let mut whole = true;
        for (host, report) in reports {
            let (nodes, samples, totals): (u32, Vec<Sample>, Totals) = read(report)?;
            let row = Row { host: *host, nodes };
            let mut before = Totals::default();
            for sample in &samples {
                row.sample(out, sample, &before)?;
                before = sample.totals;
            }
            let strangers = out.strangers.remove(host).unwrap_or_default();
            let refused_strangers = totals.refused_strangers + strangers;
            row.totals(out, &Totals { refused_strangers, ..totals })?;
            whole &= totals.given_up == 0;
        }
        Ok(whole)
    }
}

/// A server in the tables.
struct Row {
    host: HostId,
    nodes: u32,
}

impl Row {
    /// A sample, with the counters as they were at the one before.
    fn sample(&self, out: &mut Out<'_>, now: &Sample, before: &Totals) -> Result<(), Error> {
        // A server that has crashed counts its finished walks again.
        let since = |of: fn(&Totals) -> u64| of(&now.totals).saturating_sub(of(before));
        out.tables.walks_series.push(rows::WalkSample {
            time_ps: now.time.as_ps(),
            job: out.job,
            host: out.host(self.host),
            queue: now.queue,
            queue_max: now.queue_max,
            timeout_ps: now.timeout.as_ps(),
            generated: since(|t| t.generated),
            finished: since(|t| t.finished),
            steps: since(|t| t.steps),
            arrived: since(|t| t.arrived),
            served: since(|t| t.served),
            drops_early: since(|t| t.drops_early),
            drops_forced: since(|t| t.drops_forced),
            drops_full: since(|t| t.drops_full),
            drops_wait: since(|t| t.drops_wait),
            drops_own: since(|t| t.drops_own),
            lost_timeout: since(|t| t.lost_timeout),
            lost_direct: since(|t| t.lost_direct),
            sleeps: since(|t| t.sleeps),
        })
    }

    /// What it has counted in all.
    fn totals(&self, out: &mut Out<'_>, totals: &Totals) -> Result<(), Error> {
        out.tables.walks.push(rows::WalkServer {
            job: out.job,
            host: out.host(self.host),
            nodes: self.nodes.into(),
            finished_ps: (totals.finished_ps > 0).then_some(totals.finished_ps),
            required: totals.required,
            generated: totals.generated,
            additional: totals.additional,
            finished: totals.finished,
            given_up: totals.given_up,
            late: totals.late,
            again: totals.again,
            lost_timeout: totals.lost_timeout,
            lost_direct: totals.lost_direct,
            lost_remote: totals.lost_remote,
            loss_checks: totals.loss_checks,
            sleeps: totals.sleeps,
            arrived: totals.arrived,
            served: totals.served,
            steps: totals.steps,
            drops_early: totals.drops_early,
            drops_forced: totals.drops_forced,
            drops_full: totals.drops_full,
            drops_wait: totals.drops_wait,
            drops_own: totals.drops_own,
            sent_datagrams: totals.sent_datagrams,
            sent_bytes: totals.sent_bytes,
            received_datagrams: totals.received_datagrams,
            refused_datagrams: totals.refused_datagrams,
            refused_strangers: totals.refused_strangers,
            refused_records: totals.refused_records,
            refused_changes: totals.refused_changes,
            refused_snapshots: totals.refused_snapshots,
            restarts: totals.restarts,
            restored: totals.restored,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walk::loss::LossSettings;

    /// Flattened settings do not let unknown fields through.
    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let text = r#"{
            "servers": [], "graph": {"kind": "blocks", "sizes": [], "probabilities": []},
            "partition": {"ranges": []}, "changes": [], "walks": 1, "steps": {"stop": 0.5}, "restart": 0,
            "node2vec": null, "steps_max": 9, "regenerate": true, "retry": "same",
            "queue": {"kind": "tail-drop"}, "limit": 5, "authenticate": true, "workers": 1, "costs": [],
            "snapshot": null, "datagrams": {"walkers": 1, "linger": 0},
            "loss": {"initial": 1, "floor": 1, "window": null, "repeated": false, "direct": true, "remote": false},
            "generation": {"sleep": "never", "checks": 1, "time": 1, "max": 1, "batch": 1}
        }"#;
        let walk: Walk = serde_json::from_str(text).unwrap();
        assert_eq!((walk.settings.limit, walk.moves.length), (5, step::Length::Stop(0.5)));
        let written = serde_json::to_value(&walk).unwrap();
        let as_read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(written.as_object().unwrap().len(), as_read.as_object().unwrap().len());
        let more = text.replace(r#""limit": 5"#, r#""limit": 5, "derived": {}"#);
        let error = serde_json::from_str::<Walk>(&more).unwrap_err().to_string();
        assert!(error.contains("unknown field `derived`"), "{error}");
    }

    #[test]
    fn losses_of_a_document_of_earlier_versions_know_no_end() {
        let text = r#"{"initial": 1, "floor": 1, "window": null, "repeated": false, "direct": true, "remote": false}"#;
        let loss: LossSettings = serde_json::from_str(text).unwrap();
        assert_eq!(loss.attempts, u16::MAX);
    }
}
