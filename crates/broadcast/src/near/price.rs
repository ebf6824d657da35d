//! A tree that is worth more than it costs: each link has a price, and each host that a tree serves is worth
//! one.
//!
//! First a tree grows from the source as in Prim's algorithm, by the host that is cheapest to reach from any
//! host in it. Branches that cost more than they serve are cut. If that finds nothing, the cheapest
//! arborescence (Edmonds) is searched, cut, and searched again among the remaining hosts, until nothing
//! changes. Then the same is tried with each host in turn left out.

use super::Column;
use crate::arborescence;
use crate::elastic::OwnedHop;
use crate::route;
use crate::topology::{LinkId, NodeId, Topology};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Added to each link's price, so that of ways that cost nothing the shorter is taken.
const STEP: f64 = 1e-9;

/// With more hosts, none is left out on trial.
const PEELED_MAX: usize = 32;

/// The limits of the packing problem: links that carry something, and hosts with a cap.
pub(crate) struct Rows {
    link: Vec<Option<usize>>,
    cap: Vec<Option<usize>>,
    len: usize,
}

impl Rows {
    pub fn new(topology: &Topology) -> Rows {
        let mut len = 0;
        let mut number = |there: bool| {
            len += usize::from(there);
            there.then(|| len - 1)
        };
        let link = topology.links().map(|link| number(topology.capacity(link).as_bps() > 0)).collect();
        let cap = topology.nodes().map(|node| number(topology.cap(node).is_some())).collect();
        Rows { link, cap, len }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// In bit/s.
    pub fn limits(&self, topology: &Topology) -> Vec<f64> {
        let links = topology.links().filter(|link| self.link[link.index()].is_some());
        let links = links.map(|link| topology.capacity(link).as_bps() as f64);
        links.chain(topology.nodes().filter_map(|node| Some(topology.cap(node)?.as_bps() as f64))).collect()
    }

    /// The limits that a link counts against.
    fn of(&self, topology: &Topology, link: LinkId) -> impl Iterator<Item = usize> {
        let cap = |node: NodeId| self.cap[node.index()];
        [self.link[link.index()], cap(topology.tail(link)), cap(topology.head(link))].into_iter().flatten()
    }
}

/// Cheapest ways from some hosts.
struct Ways {
    cost: Vec<f64>,
    by: Vec<Option<LinkId>>,
}

pub(crate) struct Pricer<'a> {
    topology: &'a Topology,
    rows: Rows,
    /// The source first.
    hosts: Vec<NodeId>,
    member: Vec<bool>,
}

/// A cost as a key: costs are never negative, so their bits are in order.
fn key(cost: f64) -> Reverse<u64> {
    Reverse(cost.to_bits())
}

impl<'a> Pricer<'a> {
    pub fn new(topology: &'a Topology, rows: Rows, source: NodeId, destinations: &[NodeId]) -> Pricer<'a> {
        let mut member = vec![false; topology.nodes_len()];
        destinations.iter().for_each(|node| member[node.index()] = true);
        let hosts = std::iter::once(source).chain(destinations.iter().copied()).collect();
        Pricer { topology, rows, hosts, member }
    }

    /// A tree and what it uses of each limit.
    pub fn column(&self, hops: Vec<OwnedHop>) -> Column {
        let mut uses: BTreeMap<usize, f64> = BTreeMap::new();
        for &link in hops.iter().flat_map(|hop| &hop.path) {
            self.rows.of(self.topology, link).for_each(|row| *uses.entry(row).or_default() += 1.0);
        }
        Column { hops, uses: uses.into_iter().collect() }
    }

    /// A tree whose worth exceeds its cost by more than `least`.
    pub fn best(&self, prices: &[f64], least: f64) -> Option<Column> {
        let costs = self.costs(prices);
        let (gain, hops) = self.cut(self.grow(&costs), &costs);
        if gain > least {
            return Some(self.column(hops));
        }
        self.arborescence(&costs, least).map(|hops| self.column(hops))
    }

    /// What a link costs.
    fn costs(&self, prices: &[f64]) -> Vec<f64> {
        let cost = |link: LinkId| {
            self.rows.link[link.index()]?;
            let rows = self.rows.of(self.topology, link);
            Some(STEP + rows.map(|row| prices[row].max(0.0)).sum::<f64>())
        };
        self.topology.links().map(|link| cost(link).unwrap_or(f64::INFINITY)).collect()
    }

    /// Prim's way: the nearest host joins, and is as near as the source from then on.
    fn grow(&self, costs: &[f64]) -> Vec<OwnedHop> {
        let topology = self.topology;
        let mut ways =
            Ways { cost: vec![f64::INFINITY; topology.nodes_len()], by: vec![None; topology.nodes_len()] };
        let mut outside = self.member.clone();
        let mut hops = Vec::new();
        let mut waiting = BinaryHeap::from([(key(0.0), self.hosts[0])]);
        ways.cost[self.hosts[0].index()] = 0.0;
        while let Some((cost, node)) = waiting.pop() {
            if cost != key(ways.cost[node.index()]) {
                continue;
            }
            if std::mem::replace(&mut outside[node.index()], false) {
                hops.push(ways.hop_to(topology, node));
                ways.cost[node.index()] = 0.0;
                ways.by[node.index()] = None;
            }
            ways.relax(topology, node, costs, &mut waiting);
        }
        hops
    }

    /// Leaves out branches that cost more than they are worth; what the rest is worth above its cost.
    fn cut(&self, hops: Vec<OwnedHop>, costs: &[f64]) -> (f64, Vec<OwnedHop>) {
        let mut gain = vec![0.0; self.topology.nodes_len()];
        for hop in hops.iter().rev() {
            let own = 1.0 - hop.path.iter().map(|link| costs[link.index()]).sum::<f64>();
            gain[hop.child.index()] += own;
            gain[hop.parent.index()] += gain[hop.child.index()].max(0.0);
        }
        let source = self.hosts[0];
        let mut kept = vec![false; self.topology.nodes_len()];
        kept[source.index()] = true;
        let keep = |hop: &OwnedHop| {
            kept[hop.child.index()] = kept[hop.parent.index()] && gain[hop.child.index()] > 0.0;
            kept[hop.child.index()]
        };
        let hops = hops.into_iter().filter(keep).collect();
        (gain[source.index()], hops)
    }

    /// The cheapest arborescence of all hosts that can be reached, and of parts of them.
    fn arborescence(&self, costs: &[f64], least: f64) -> Option<Vec<OwnedHop>> {
        let ways: Vec<Ways> = self.hosts.iter().map(|&host| Ways::from(self.topology, host, costs)).collect();
        let reached = |&host: &usize| ways[0].cost[self.hosts[host].index()].is_finite();
        let mut chosen: Vec<usize> = (0..self.hosts.len()).filter(reached).collect();
        let (gain, hops) = self.settle(&ways, chosen.clone(), costs);
        if gain > least {
            return Some(hops);
        }
        if chosen.len() > PEELED_MAX {
            return None;
        }
        // The best tree may need a host left out that is worth its own cost: the one that is missed least
        // goes.
        while chosen.len() > 2 {
            let without = |at: usize| {
                let mut rest = chosen.clone();
                rest.remove(at);
                let (gain, hops) = self.settle(&ways, rest, costs);
                (gain, at, hops)
            };
            let tried = (1..chosen.len()).map(without);
            let (gain, at, hops) = tried.max_by(|one, other| one.0.total_cmp(&other.0))?;
            if gain > least {
                return Some(hops);
            }
            chosen.remove(at);
        }
        None
    }

    /// Searches and cuts again among those that are left, until nothing changes.
    fn settle(&self, ways: &[Ways], mut chosen: Vec<usize>, costs: &[f64]) -> (f64, Vec<OwnedHop>) {
        loop {
            let hops = self.cheapest(ways, &chosen);
            let (gain, hops) = self.cut(hops, costs);
            if hops.len() + 1 == chosen.len() || hops.is_empty() {
                return (gain, hops);
            }
            let mut kept = vec![false; self.topology.nodes_len()];
            kept[self.hosts[0].index()] = true;
            hops.iter().for_each(|hop| kept[hop.child.index()] = true);
            chosen.retain(|&host| kept[self.hosts[host].index()]);
        }
    }

    fn cheapest(&self, ways: &[Ways], chosen: &[usize]) -> Vec<OwnedHop> {
        let cost = |from: usize, to: usize| ways[from].cost[self.hosts[to].index()];
        let table: Vec<Vec<f64>> =
            chosen.iter().map(|&from| chosen.iter().map(|&to| cost(from, to)).collect()).collect();
        let parents = arborescence::cheapest(&table);
        let hop = |at: usize| {
            let (parent, child) = (chosen[parents[at]], self.hosts[chosen[at]]);
            // The source reaches each of them, so the cheapest tree has no hop without a way.
            let path = route::path(self.topology, &ways[parent].by, self.hosts[parent], child)
                .expect("the cost of the hop is finite");
            OwnedHop { parent: self.hosts[parent], child, path }
        };
        arborescence::outwards(&parents).into_iter().map(hop).collect()
    }
}

impl Ways {
    fn from(topology: &Topology, host: NodeId, costs: &[f64]) -> Ways {
        let mut ways =
            Ways { cost: vec![f64::INFINITY; topology.nodes_len()], by: vec![None; topology.nodes_len()] };
        let mut waiting = BinaryHeap::from([(key(0.0), host)]);
        ways.cost[host.index()] = 0.0;
        while let Some((cost, node)) = waiting.pop() {
            if cost == key(ways.cost[node.index()]) {
                ways.relax(topology, node, costs, &mut waiting);
            }
        }
        ways
    }

    fn relax(
        &mut self,
        topology: &Topology,
        node: NodeId,
        costs: &[f64],
        waiting: &mut BinaryHeap<(Reverse<u64>, NodeId)>,
    ) {
        for &link in topology.leaving(node) {
            let (next, cost) = (topology.head(link), self.cost[node.index()] + costs[link.index()]);
            if cost < self.cost[next.index()] {
                self.cost[next.index()] = cost;
                self.by[next.index()] = Some(link);
                waiting.push((key(cost), next));
            }
        }
    }

    /// From the host where the way begins.
    fn hop_to(&self, topology: &Topology, child: NodeId) -> OwnedHop {
        let mut parent = child;
        while let Some(link) = self.by[parent.index()] {
            parent = topology.tail(link);
        }
        let path = route::path(topology, &self.by, parent, child).expect("the way begins there");
        OwnedHop { parent, child, path }
    }
}
