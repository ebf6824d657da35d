//! Broadcasts of a scenario as those of [`broadcast`]: the cluster's topology as planners see it, and a node a host.

use super::jobs::Look;
use crate::names::Names;
use crate::problem::Problem;
use crate::spec::Broadcast;
use broadcast::algorithm;
use broadcast::plan::Plan;
use broadcast::topology::{Kind, LinkData, NodeData, NodeId, Topology, TopologyData};
use broadcast::transfer::{Board, Chunks, Config, Lengths, Node, chunk_size};
use fabric::Graph;
use process::{HostId, Process};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// A process a host.
type Processes = Vec<(HostId, Box<dyn Process>)>;

/// What shows how the hosts of a broadcast fare.
pub(crate) struct Shown {
    /// Index of the job.
    pub job: usize,
    pub source: HostId,
    pub nodes: Vec<(HostId, Board)>,
}

/// Where a broadcast is, and how it is run.
pub(super) struct Place {
    /// Index of the job.
    pub index: usize,
    pub port: u16,
    pub seed: u64,
    /// Hosts note how far they are so often.
    pub sample: Option<Time>,
}

/// The nodes of a broadcast, and what shows how they fare.
pub(super) fn processes(
    spec: &Broadcast,
    graph: &Graph,
    names: &Names<'_>,
    run: &Place,
    path: &str,
) -> Result<(Processes, Shown), Problem> {
    let Place { index, port, seed, sample } = *run;
    let path = format!("{path}.work");
    let look = Look { names, path: &path };
    let source = look.host(&spec.source, "source")?;
    let destinations = look.hosts(&spec.destinations, "destinations")?;
    let members: Vec<HostId> = [source].iter().chain(&destinations).copied().collect();
    let topology = topology(graph, &members).map_err(|error| Problem::new(path.clone(), error))?;
    let place = |host: &HostId| {
        let name = graph.name(fabric::NodeId(host.0));
        (*host, topology.node(name).expect("members are in the topology"))
    };
    let mut places: Vec<(HostId, NodeId)> = members.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    let to: Vec<NodeId> = destinations.iter().map(|host| place(host).1).collect();
    let given = spec.plan.as_ref().map(|plan| Plan::from_data(plan, &topology)).transpose();
    let given = given.map_err(|error| Problem::new(format!("{path}.plan"), error))?;
    let first = match &given {
        Some(plan) => plan.clone(),
        None => algorithm::plan(spec.algorithm, &topology, place(&source).1, &to, seed)
            .map_err(|error| Problem::new(path.clone(), error))?,
    };
    let bytes = spec.bytes.get();
    let size = spec.chunk.map_or_else(|| chunk_size(&first, bytes), |size| size.get());
    let chunks = Chunks::new(bytes, size).ok_or_else(|| {
        let message = format!("{size} B: at most 4 MiB, and at most 1048576 chunks of a file, are allowed");
        Problem::new(format!("{path}.chunk"), message)
    })?;
    let config = Config {
        algorithm: spec.algorithm,
        plan: given,
        seed,
        headroom: spec.headroom_percent,
        replan: spec.replan,
        disk: spec.disk,
        report: spec.report,
        silence: spec.silence,
        patience: spec.patience,
        sample,
        ..Config::new(source, destinations, port, chunks, topology, places)
    };
    config.check().map_err(|error| Problem::new(format!("{path}.{}", error.field), error.message))?;
    let config = Arc::new(config);
    let mut shown = Shown { job: index, source, nodes: Vec::with_capacity(members.len()) };
    let node = |host: HostId| {
        let store = Lengths::new(chunks, host == source);
        let node = Node::new(Arc::clone(&config), Box::new(store)).expect("it was just checked");
        shown.nodes.push((host, node.board()));
        (host, Box::new(node) as Box<dyn Process>)
    };
    Ok((members.into_iter().map(node).collect(), shown))
}

/// The cluster as planners see it: hosts that don't take part are left out, parallel links are one.
fn topology(graph: &Graph, members: &[HostId]) -> Result<Topology, String> {
    let takes_part = |node: fabric::NodeId| !graph.is_host(node) || members.contains(&HostId(node.0));
    let name = |node: fabric::NodeId| graph.name(node).to_owned();
    let nodes = (0..graph.nodes() as u32).map(fabric::NodeId).filter(|node| takes_part(*node));
    let kind = |node| if graph.is_host(node) { Kind::Host } else { Kind::Switch };
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
