//! One file from one host to many: the nodes of [`broadcast`], the cluster as planners see it, and the tables
//! `broadcasts` and `broadcasts_series`.

use super::kind::{Cast, Gathered, Kind, Out, Place, Shown, read};
use broadcast::algorithm;
use broadcast::plan::Plan;
use broadcast::plan_data::PlanData;
use broadcast::topology::{LinkData, NodeData, NodeId, Topology, TopologyData};
use broadcast::transfer::{
    Board, Chunks, Config, Lengths, Node, Progress, Sample, Settings, State, chunk_size,
};
use fabric::Graph;
use process::{HostId, Hosts, Process};
use record::Error;
use record::rows::{self, CopyOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Bytes, Problem, Time};

/// A broadcast.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broadcast {
    /// The host that has the file.
    pub source: String,
    /// The receivers.
    pub destinations: Vec<String>,
    /// Size of the file.
    pub bytes: Bytes,
    /// Size of its chunks; without a value, one that suits the plan.
    pub chunk: Option<Bytes>,
    /// The first plan, instead of one that is made.
    pub plan: Option<PlanData>,
    /// How it is sent.
    #[serde(flatten)]
    pub settings: Settings,
}

impl Kind for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let Place { port, seed, sample, graph, .. } = *place;
        let source = place.names.one(&self.source, "source")?;
        let destinations = place.names.all(&self.destinations, "destinations")?;
        let members: Vec<HostId> = [source].iter().chain(&destinations).copied().collect();
        let topology = topology(graph, &members).map_err(Problem::whole)?;
        let node = |host: &HostId| {
            let name = graph.name(fabric::NodeId(host.0));
            (*host, topology.node(name).expect("members are in the topology"))
        };
        let mut places: Vec<(HostId, NodeId)> = members.iter().map(node).collect();
        places.sort_unstable();
        places.dedup();
        let to: Vec<NodeId> = destinations.iter().map(|host| node(host).1).collect();
        let given = self.plan.as_ref().map(|plan| Plan::from_data(plan, &topology)).transpose();
        let given = given.map_err(|error| Problem::new("plan", error))?;
        let first = match &given {
            Some(plan) => plan.clone(),
            None => algorithm::plan(self.settings.algorithm, &topology, node(&source).1, &to, seed)
                .map_err(Problem::whole)?,
        };
        let bytes = self.bytes.get();
        place.check_volumes(members.iter().map(|host| (*host, bytes as f64)))?;
        let size = self.chunk.map_or_else(|| chunk_size(&first, bytes), |size| size.get());
        let chunks = Chunks::new(bytes, size).ok_or_else(|| {
            let message =
                format!("{size} B: at most 4 MiB, and at most 1048576 chunks of a file, are allowed");
            Problem::new("chunk", message)
        })?;
        let config = Config {
            settings: self.settings.clone(),
            plan: given,
            seed,
            sample,
            ..Config::new(source, destinations, port, chunks, topology, places)
        };
        config.check()?;
        let config = Arc::new(config);
        let mut shown =
            Boards { source, nodes: Vec::with_capacity(members.len()), samples: Gathered::default() };
        let node = |host: HostId| {
            let store = Lengths::new(chunks, host == source);
            let node = Node::new(Arc::clone(&config), Box::new(store)).expect("it was just checked");
            shown.nodes.push((host, node.board(), Sample::default()));
            (host, Box::new(node) as Box<dyn Process>)
        };
        let processes = members.into_iter().map(node).collect();
        Ok(Cast { processes, shown: Box::new(shown) })
    }
}

/// The cluster as planners see it: hosts that don't take part are left out, parallel links are one.
fn topology(graph: &Graph, members: &[HostId]) -> Result<Topology, String> {
    let takes_part = |node: fabric::NodeId| !graph.is_host(node) || members.contains(&HostId(node.0));
    let name = |node: fabric::NodeId| graph.name(node).to_owned();
    let nodes = (0..graph.nodes() as u32).map(fabric::NodeId).filter(|node| takes_part(*node));
    let kind = |node| {
        if graph.is_host(node) { broadcast::topology::Kind::Host } else { broadcast::topology::Kind::Switch }
    };
    let nodes = nodes.map(|node| NodeData { id: name(node), kind: kind(node), cap: None }).collect();
    let mut links: BTreeMap<(fabric::NodeId, fabric::NodeId), (u64, u64)> = BTreeMap::new();
    for link in graph.links().iter().filter(|link| takes_part(link.a) && takes_part(link.b)) {
        let (ab, ba) = (link.ab.rate.as_bps(), link.ba.rate.as_bps());
        let (ends, (there, back)) =
            if link.a < link.b { ((link.a, link.b), (ab, ba)) } else { ((link.b, link.a), (ba, ab)) };
        let sum = links.entry(ends).or_default();
        *sum = (sum.0.saturating_add(there), sum.1.saturating_add(back));
    }
    let link = |((a, b), (ab, ba)): (_, (u64, u64))| LinkData {
        a: name(a),
        b: name(b),
        ab: i64::try_from(ab).unwrap_or(i64::MAX),
        ba: i64::try_from(ba).unwrap_or(i64::MAX),
    };
    let data = TopologyData { nodes, links: links.into_iter().map(link).collect() };
    Topology::try_from(data).map_err(|error| error.to_string())
}

/// What the hosts of a broadcast show of themselves.
struct Boards {
    source: HostId,
    /// With the sample before.
    nodes: Vec<(HostId, Board, Sample)>,
    samples: Gathered<Sample>,
}

impl Shown for Boards {
    fn gather(&mut self) -> Option<Time> {
        self.samples.add(self.nodes.iter().map(|(_, board, _)| board.take_samples()), |sample| sample.time)
    }

    fn write_first(&mut self, out: &mut Out<'_>) -> Result<Option<Time>, Error> {
        if let Some((number, now)) = self.samples.take_first() {
            let (host, _, before) = &mut self.nodes[number];
            sample(out, *host, &now, &std::mem::replace(before, now))?;
        }
        Ok(self.samples.first_at())
    }

    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        let fared = |(host, board, _): &(HostId, Board, _)| (*host, Fared::from(board.progress()));
        totals(out, self.source, &self.nodes.iter().map(fared).collect::<Vec<_>>())
    }

    fn report(&self, host: HostId) -> Value {
        let own = self.nodes.iter().find(|(at, ..)| *at == host);
        own.map_or(Value::Null, |(_, board, _)| json!((board.take_samples(), Fared::from(board.progress()))))
    }

    fn reported(&self, reports: &[(HostId, Value)], out: &mut Out<'_>) -> Result<bool, crate::error::Error> {
        let mut all = Vec::with_capacity(reports.len());
        for (host, ..) in &self.nodes {
            let Some((_, report)) = reports.iter().find(|(at, _)| at == host) else { continue };
            let (samples, fared): (Vec<Sample>, Fared) = read(report)?;
            let mut before = Sample::default();
            for now in samples {
                sample(out, *host, &now, &std::mem::replace(&mut before, now))?;
            }
            all.push((*host, fared));
        }
        Ok(totals(out, self.source, &all)?)
    }
}

/// How a host fared, as far as it knows: plain data that can be sent between machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fared {
    failed: Option<String>,
    completed: Option<Time>,
    bytes: u64,
    resumed: u64,
    received: u64,
    sent: u64,
    damaged: u64,
    plans: u32,
    /// Of a host that coordinated: hosts that it had given up.
    gone: Option<Vec<u32>>,
}

impl From<Progress> for Fared {
    fn from(progress: Progress) -> Fared {
        let receivers = &progress.receivers;
        let gone = || receivers.iter().filter(|(_, known)| !known.present).map(|(host, _)| host.0).collect();
        Fared {
            gone: (!receivers.is_empty()).then(gone),
            failed: if let State::Failed(reason) = progress.state { Some(reason) } else { None },
            completed: progress.completed,
            bytes: progress.bytes,
            resumed: progress.resumed,
            received: progress.received,
            sent: progress.sent,
            damaged: progress.damaged,
            plans: progress.plans,
        }
    }
}

/// Writes a sample of a host, given the one before.
fn sample(out: &mut Out<'_>, host: HostId, now: &Sample, before: &Sample) -> Result<(), Error> {
    out.tables.broadcasts_series.push(rows::BroadcastSample {
        time_ps: now.time.as_ps(),
        job: out.job,
        host: out.host(host),
        bytes: now.bytes,
        received_bytes: now.received - before.received,
        sent_bytes: now.sent - before.sent,
        planned_bps: now.planned,
    })
}

/// Writes how all hosts fared, the source first; returns whether all have everything.
fn totals(out: &mut Out<'_>, source: HostId, all: &[(HostId, Fared)]) -> Result<bool, Error> {
    let mut whole = true;
    // The last host in the source's place knows best which hosts were there.
    let gone = all.iter().filter_map(|(_, fared)| fared.gone.as_deref()).next_back().unwrap_or_default();
    for (host, fared) in all {
        let has_it = *host == source && fared.resumed == fared.bytes;
        let outcome = match fared {
            _ if has_it => CopyOutcome::Complete,
            Fared { failed: Some(_), .. } => CopyOutcome::Failed,
            Fared { completed: Some(_), .. } => CopyOutcome::Complete,
            _ if gone.contains(&host.0) => CopyOutcome::Gone,
            _ => CopyOutcome::Unfinished,
        };
        whole &= outcome == CopyOutcome::Complete;
        out.tables.broadcasts.push(rows::BroadcastHost {
            job: out.job,
            host: out.host(*host),
            outcome,
            reason: fared.failed.as_deref(),
            complete_ps: fared.completed.map(Time::as_ps),
            bytes: fared.bytes,
            resumed_bytes: fared.resumed,
            received_bytes: fared.received,
            sent_bytes: fared.sent,
            damaged: fared.damaged,
            plans: fared.plans.into(),
        })?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flattened settings do not let unknown fields through.
    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let text = r#"{
            "source": "a", "destinations": [], "bytes": 9, "chunk": null, "plan": null,
            "algorithm": "near", "headroom_percent": 125, "replan": true, "disk": false,
            "report": 1, "silence": 3, "patience": 4
        }"#;
        let broadcast: Broadcast = serde_json::from_str(text).unwrap();
        assert_eq!((broadcast.settings.headroom, broadcast.settings.silence), (Some(125), Time::from_ps(3)));
        assert_eq!(serde_json::to_value(&broadcast).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for (old, new) in [("headroom_percent", "headroom"), (r#""disk""#, r#""limit": 9, "disk""#)] {
            let error = serde_json::from_str::<Broadcast>(&text.replace(old, new)).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }
}
