//! A topology from measured rates: hosts around switches, and how certain it is.
//!
//! A flow that is as fast as both its ends allow shares no link on its way. Hosts between which all flows are
//! like that share a switch. Flows between other hosts share links, whose capacity is the most that crossed
//! them in one round. So the result has one switch, or one per group of hosts around a central one. It is
//! then used to predict the same rounds, with fair shares: [`Inferred::explained`] is the share of flows
//! predicted to within a fifth. Groups of groups are not searched: links shared further up count as links of
//! the groups. After Shirai et al., *A Fast Topology Inference* (HPDC 2007), which needs latencies; here only
//! rates are used.

mod fair;
mod groups;

use crate::probe::Sample;
use crate::topology::{Kind, LinkData, NodeData, TopologyData};
use fair::{Tree, fair};
use groups::group;
use std::collections::BTreeMap;

/// A prediction is right when it differs by less than this part.
const RIGHT: f64 = 0.2;
/// A link limits when it carries at least this part of its capacity.
const FULL: f64 = 0.9;
/// Flows that reach this part of what their ends allow met nobody.
const FREE: f64 = 0.8;
/// With such a part of free flows there is nothing to share.
const ALL_FREE: f64 = 0.9;

/// A measured rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub round: u32,
    pub from: usize,
    pub to: usize,
    /// In bit/s.
    pub rate: f64,
}

/// A topology that was measured.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// Hosts by their names, switches, and links with rates.
    pub topology: TopologyData,
    /// The part of the flows, 0 to 1, whose rate it explains.
    pub explained: f64,
    /// Of each link of the topology, both ways: the part of the rounds that it limited in which it was right;
    /// nothing where it never limited, so that it may be faster.
    pub sure: Vec<[Option<f64>; 2]>,
}

/// The topology of hosts, by name and the number that samples have; nothing when one of them was never
/// measured.
#[must_use]
pub fn infer(hosts: &BTreeMap<u32, String>, samples: &[Sample]) -> Option<Inferred> {
    let place: BTreeMap<u32, usize> = hosts.keys().enumerate().map(|(at, host)| (*host, at)).collect();
    let flows: Vec<Flow> = samples
        .iter()
        .filter_map(|sample| {
            let (from, to) = (*place.get(&sample.from)?, *place.get(&sample.to)?);
            Some(Flow { round: sample.round, from, to, rate: sample.rate() as f64 })
        })
        .filter(|flow| flow.rate > 0.0)
        .collect();
    let (up, down) = access(hosts.len(), &flows);
    if up.iter().chain(&down).any(|rate| *rate <= 0.0) {
        return None;
    }
    let tree = best(&up, &down, &flows);
    let names: Vec<&String> = hosts.values().collect();
    Some(Inferred {
        explained: explained(&tree, &flows),
        sure: sure(&tree, &flows),
        topology: data(&tree, &names),
    })
}

/// The most that each host sent and received: what its own link carries, each way.
fn access(hosts: usize, flows: &[Flow]) -> (Vec<f64>, Vec<f64>) {
    let (mut up, mut down) = (vec![0.0; hosts], vec![0.0; hosts]);
    for flow in flows {
        up[flow.from] = f64::max(up[flow.from], flow.rate);
        down[flow.to] = f64::max(down[flow.to], flow.rate);
    }
    (up, down)
}

/// One switch, or groups, whichever explains more.
fn best(up: &[f64], down: &[f64], flows: &[Flow]) -> Tree {
    let star = Tree::star(up.to_vec(), down.to_vec());
    let share = |flow: &Flow| flow.rate / up[flow.from].min(down[flow.to]);
    let free = flows.iter().filter(|flow| share(flow) >= FREE).count();
    if free as f64 >= ALL_FREE * flows.len() as f64 {
        return star;
    }
    let shares: Vec<(usize, usize, f64)> =
        flows.iter().map(|flow| (flow.from, flow.to, share(flow).min(1.0))).collect();
    let candidates = group(up.len(), &shares).into_iter().map(|of| grouped(&star, of, flows));
    candidates.fold(
        star.clone(),
        |best, tree| {
            if explained(&tree, flows) > explained(&best, flows) { tree } else { best }
        },
    )
}

/// Groups, with links to the middle that carry the most that crossed them in one round.
fn grouped(star: &Tree, of: Vec<usize>, flows: &[Flow]) -> Tree {
    let count = of.iter().max().map_or(0, |last| last + 1);
    let mut crossed: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| of[flow.from] != of[flow.to]) {
        let round = crossed.entry(flow.round).or_insert_with(|| vec![(0.0, 0.0); count]);
        round[of[flow.from]].0 += flow.rate;
        round[of[flow.to]].1 += flow.rate;
    }
    let most = |group: usize, way: fn(&(f64, f64)) -> f64, hosts: &[f64]| {
        let seen = crossed.values().map(|round| way(&round[group])).fold(0.0, f64::max);
        let all: f64 = of.iter().zip(hosts).filter(|(of, _)| **of == group).map(|(_, rate)| rate).sum();
        // Hosts that fill their own links together say nothing about a link behind them.
        if seen >= FULL * all || seen <= 0.0 { all } else { seen }
    };
    let (out, back) =
        (0..count).map(|group| (most(group, |w| w.0, &star.up), most(group, |w| w.1, &star.down))).unzip();
    Tree { of, out, back, ..star.clone() }
}

/// The part of flows that a tree tells to within [`RIGHT`].
fn explained(tree: &Tree, flows: &[Flow]) -> f64 {
    let right = predictions(tree, flows).filter(|(flow, rate, _)| is_right(flow.rate, *rate)).count();
    right as f64 / flows.len().max(1) as f64
}

fn is_right(measured: f64, predicted: f64) -> bool {
    (measured - predicted).abs() <= RIGHT * measured.max(predicted)
}

/// Each flow, what the tree says of its rate, and which link limits it.
fn predictions<'a>(tree: &'a Tree, flows: &'a [Flow]) -> impl Iterator<Item = (&'a Flow, f64, usize)> {
    let mut rounds: BTreeMap<u32, Vec<&Flow>> = BTreeMap::new();
    for flow in flows {
        rounds.entry(flow.round).or_default().push(flow);
    }
    rounds.into_values().flat_map(|round| {
        let ways: Vec<Vec<usize>> = round.iter().map(|flow| tree.way(flow.from, flow.to)).collect();
        let rates = fair(&tree.capacities(), &ways);
        round.into_iter().zip(rates).map(|(flow, (rate, link))| (flow, rate, link))
    })
}

/// How often each link was right about what it limited, in the order of the topology's links.
fn sure(tree: &Tree, flows: &[Flow]) -> Vec<[Option<f64>; 2]> {
    let mut seen = vec![(0.0, 0.0); tree.capacities().len()];
    for (flow, rate, link) in predictions(tree, flows) {
        seen[link].1 += 1.0;
        seen[link].0 += f64::from(u8::from(is_right(flow.rate, rate)));
    }
    let part = |(right, all): (f64, f64)| (all > 0.0).then(|| right / all);
    tree.links().into_iter().map(|(_, _, ab, ba)| [part(seen[ab]), part(seen[ba])]).collect()
}

/// The tree as data; switches get names that no host has.
fn data(tree: &Tree, names: &[&String]) -> TopologyData {
    let mut prefix = "switch".to_owned();
    while names.iter().any(|name| name.starts_with(&prefix)) {
        prefix.push('-');
    }
    let name = |node: usize| match node.checked_sub(names.len()) {
        None => names[node].clone(),
        Some(0) => prefix.clone(),
        Some(group) => format!("{prefix}{group}"),
    };
    let capacities = tree.capacities();
    let kind = |node| if node < names.len() { Kind::Host } else { Kind::Switch };
    let nodes = (0..tree.nodes()).map(|node| NodeData { id: name(node), kind: kind(node), cap: None });
    let link = |(a, b, ab, ba): (usize, usize, usize, usize)| LinkData {
        a: name(a),
        b: name(b),
        ab: (capacities[ab] as i64).max(1),
        ba: (capacities[ba] as i64).max(1),
    };
    TopologyData { nodes: nodes.collect(), links: tree.links().into_iter().map(link).collect() }
}
