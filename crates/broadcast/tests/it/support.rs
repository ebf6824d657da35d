//! Random topologies for tests and benchmarks.

#![allow(dead_code)]

use broadcast::topology::{Kind, LinkData, NodeData, NodeId, Topology, TopologyData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const MBPS: i64 = 1_000_000;

/// How rates are drawn (document 003, slide 29).
#[derive(Clone, Copy, Debug)]
pub enum Rates {
    /// Anything between, in Mb/s.
    Uniform(i64, i64),
    /// 100 or 1000 Mb/s.
    Mixed,
}

/// Builds topologies from one random stream.
pub struct Maker {
    pub rng: Pcg64,
    pub rates: Rates,
    pub symmetric: bool,
    data: TopologyData,
}

impl Maker {
    pub fn new(seed: u64, rates: Rates, symmetric: bool) -> Maker {
        Maker { rng: Pcg64::seed_from_u64(seed), rates, symmetric, data: TopologyData::default() }
    }

    fn draw(&mut self) -> i64 {
        match self.rates {
            Rates::Uniform(low, high) => self.rng.random_range(low * MBPS..=high * MBPS),
            Rates::Mixed => [100, 1000][self.rng.random_range(0..2)] * MBPS,
        }
    }

    fn node(&mut self, kind: Kind) -> String {
        let letter = if kind == Kind::Host { 'h' } else { 's' };
        let id = format!("{letter}{}", self.data.nodes.len());
        self.data.nodes.push(NodeData { id: id.clone(), kind, cap: None });
        id
    }

    fn link(&mut self, a: &str, b: &str) {
        let ab = self.draw();
        let ba = if self.symmetric { ab } else { self.draw() };
        self.data.links.push(LinkData { a: a.into(), b: b.into(), ab, ba });
    }

    fn pick(&mut self, from: &[String]) -> String {
        from[self.rng.random_range(0..from.len())].clone()
    }

    fn finish(self) -> Topology {
        self.data.try_into().expect("a sound topology")
    }

    /// Switches in a random tree, hosts at random switches.
    pub fn tree(mut self, switches: usize, hosts: usize) -> Topology {
        let mut inner = vec![self.node(Kind::Switch)];
        for _ in 1..switches {
            let (parent, node) = (self.pick(&inner), self.node(Kind::Switch));
            self.link(&parent, &node);
            inner.push(node);
        }
        for _ in 0..hosts {
            let (parent, node) = (self.pick(&inner), self.node(Kind::Host));
            self.link(&parent, &node);
        }
        self.finish()
    }

    /// A random tree of hosts and switches, where hosts lie on the way to others too.
    pub fn mixed_tree(mut self, nodes: usize) -> Topology {
        let mut all = vec![self.node(Kind::Host)];
        for _ in 1..nodes {
            let kind = if self.rng.random_bool(0.3) { Kind::Switch } else { Kind::Host };
            let (parent, node) = (self.pick(&all), self.node(kind));
            self.link(&parent, &node);
            all.push(node);
        }
        self.finish()
    }

    /// Clusters of a switch each on one switch in the middle.
    pub fn clusters(mut self, clusters: usize, hosts: usize) -> Topology {
        let core = self.node(Kind::Switch);
        let edges: Vec<String> = (0..clusters).map(|_| self.node(Kind::Switch)).collect();
        edges.iter().for_each(|edge| self.link(&core, edge));
        for host in 0..hosts {
            let node = self.node(Kind::Host);
            self.link(&edges[host % clusters], &node);
        }
        self.finish()
    }

    /// A connected random graph: a random tree and `more` links between random nodes.
    pub fn graph(mut self, switches: usize, hosts: usize, more: usize) -> Topology {
        let mut all = Vec::new();
        for index in 0..switches + hosts {
            let kind = if index < hosts { Kind::Host } else { Kind::Switch };
            all.push(self.node(kind));
        }
        // Any order, so that hosts and switches lie anywhere.
        for index in (1..all.len()).rev() {
            let other = self.rng.random_range(0..=index);
            all.swap(index, other);
        }
        let mut joined = std::collections::BTreeSet::new();
        for index in 1..all.len() {
            let parent = self.rng.random_range(0..index);
            joined.insert((parent, index));
        }
        for _ in 0..more {
            let (a, b) = (self.rng.random_range(0..all.len()), self.rng.random_range(0..all.len()));
            if a != b {
                joined.insert((a.min(b), a.max(b)));
            }
        }
        for (a, b) in joined {
            self.link(&all[a], &all[b]);
        }
        self.finish()
    }
}

/// The first host as the source, all others as destinations.
pub fn everybody(topology: &Topology) -> (NodeId, Vec<NodeId>) {
    let mut hosts = topology.hosts();
    let source = hosts.next().expect("a host");
    (source, hosts.collect())
}

/// A topology as JSON text.
pub fn read(text: &str) -> Result<Topology, serde_json::Error> {
    serde_json::from_str(text)
}

/// Hosts at one switch, with the same rate both ways, in Mb/s.
pub fn star(hosts: &[(&str, i64)]) -> Topology {
    let node = |id: &str, kind| NodeData { id: id.into(), kind, cap: None };
    let mut nodes = vec![node("switch", Kind::Switch)];
    nodes.extend(hosts.iter().map(|(id, _)| node(id, Kind::Host)));
    let link = |&(id, rate): &(&str, i64)| LinkData {
        a: "switch".into(),
        b: id.into(),
        ab: rate * MBPS,
        ba: rate * MBPS,
    };
    TopologyData { nodes, links: hosts.iter().map(link).collect() }.try_into().expect("a sound topology")
}
