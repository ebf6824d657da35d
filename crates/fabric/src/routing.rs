//! Equal-cost routes for any graph, by number of hops; the choice among them by a seeded hash of
//! the five-tuple (ECMP, RFC 2992).
//!
//! Nodes go into hashes by name: what else is in the network, and in which order, moves nobody's route.
//!
//! A route is a run of port numbers in one arena, shared by all flows that take the same ports: a
//! packet carries its position in it, so that forwarding is one look-up whatever the size of the
//! network. Distances are kept for each switch that destinations hang on, computed when first needed.

use crate::ids::{NodeId, PortId, Route};
use crate::topology::Graph;
use hashbrown::HashTable;
use std::collections::{BTreeMap, VecDeque};

const FAR: u16 = u16::MAX;

/// Ports of a node that lead to the same hosts in as few hops: the next hops among which ECMP chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EqualPaths {
    /// The node that chooses.
    pub node: NodeId,
    /// Its ports, at least two.
    pub ports: Vec<PortId>,
    /// Hosts that they lead to.
    pub destinations: u32,
}

pub(crate) struct Routing {
    hosts: u32,
    seed: u64,
    /// Ports of node n are `first[n]..first[n + 1]`, a host's loopback last.
    first: Vec<u32>,
    peer: Vec<NodeId>,
    reverse: Vec<PortId>,
    /// By node: a hash of its name.
    keys: Vec<u64>,
    up: Vec<bool>,
    /// By root node: hops from each switch.
    distances: Vec<Option<Box<[u16]>>>,
    arena: Vec<PortId>,
    /// Where in it the known routes are: begin and length.
    known: HashTable<(u32, u32)>,
    /// The last route, for its memory.
    walked: Vec<PortId>,
}

impl Routing {
    pub(crate) fn new(
        graph: &Graph,
        first: Vec<u32>,
        peer: Vec<NodeId>,
        reverse: Vec<PortId>,
        seed: u64,
    ) -> Routing {
        Routing {
            hosts: graph.hosts() as u32,
            seed,
            keys: graph.names().map(key_of).collect(),
            up: vec![true; peer.len()],
            first,
            peer,
            reverse,
            distances: vec![None; graph.nodes()],
            // The first position is nobody's route: PAUSE frames carry it.
            arena: vec![PortId(0)],
            known: HashTable::new(),
            walked: Vec::new(),
        }
    }

    /// The port at `route`, and the position after it.
    #[inline]
    pub(crate) fn next(&self, route: Route) -> (PortId, Route) {
        (self.arena[route.0 as usize], Route(route.0 + 1))
    }

    /// Asks for what [`Routing::next`] reads.
    #[inline]
    pub(crate) fn prefetch(&self, route: Route) {
        mem::prefetch_at(&self.arena, route.0 as usize);
    }

    /// Takes a port in or out of use; routes computed from now on heed it.
    pub(crate) fn set_up(&mut self, port: PortId, up: bool) {
        self.up[port.index()] = up;
        self.distances.fill(None);
    }

    /// The route from `from` (a host, or a switch in mid-way) to the host `to`.
    pub(crate) fn route(&mut self, from: NodeId, to: NodeId, hash: u16) -> Option<Route> {
        let mut ports = std::mem::take(&mut self.walked);
        ports.clear();
        let route = self.find(from, to, hash, &mut ports);
        self.walked = ports;
        route
    }

    fn find(&mut self, from: NodeId, to: NodeId, hash: u16, ports: &mut Vec<PortId>) -> Option<Route> {
        if from == to {
            ports.push(PortId(self.first[from.0 as usize + 1] - 1));
        } else {
            self.walk(from, to, hash, ports)?;
        }
        Some(self.over(ports))
    }

    /// The route that crosses `ports`.
    pub(crate) fn over(&mut self, ports: &[PortId]) -> Route {
        let (hash, begin) = (hash_of(ports), self.arena.len() as u32);
        let at = |&(begin, length): &(u32, u32)| begin as usize..(begin + length) as usize;
        if let Some(&(begin, _)) = self.known.find(hash, |known| self.arena[at(known)] == *ports) {
            return Route(begin);
        }
        self.arena.extend_from_slice(ports);
        let arena = &self.arena;
        self.known.insert_unique(hash, (begin, ports.len() as u32), |known| hash_of(&arena[at(known)]));
        Route(begin)
    }

    /// Mixes a flow's five-tuple and the seed into the hash that its packets carry.
    pub(crate) fn flow_hash(
        &self,
        from: NodeId,
        to: NodeId,
        from_port: u16,
        to_port: u16,
        protocol: u8,
    ) -> u16 {
        let [from, to] = [from, to].map(|node| self.keys[node.0 as usize]);
        let ports = (u64::from(from_port) << 24) | (u64::from(to_port) << 8) | u64::from(protocol);
        (mix(mix(mix(from ^ self.seed) ^ to) ^ ports) >> 48) as u16
    }

    /// The node that a route from `route` on ends at.
    pub(crate) fn destination(&self, mut route: Route) -> NodeId {
        loop {
            let (port, next) = self.next(route);
            let peer = self.peer[port.index()];
            if peer.0 < self.hosts {
                return peer;
            }
            route = next;
        }
    }

    fn walk(&mut self, from: NodeId, to: NodeId, hash: u16, ports: &mut Vec<PortId>) -> Option<()> {
        let root = self.root(to);
        self.measure(root);
        let mut equal = Vec::new();
        let mut node = from;
        while node != to {
            equal.clear();
            if node == root {
                // The switch that the host hangs on by one link: no need to search its ports.
                let down = self.reverse[self.first[to.0 as usize] as usize];
                equal.extend(self.up[down.index()].then_some(down));
            } else {
                self.candidates(node, to, root, &mut equal);
            }
            let port = *equal.get(choose(hash, self.keys[node.0 as usize], self.seed, equal.len()))?;
            ports.push(port);
            node = self.peer[port.index()];
        }
        Some(())
    }

    /// Collects the ports of `node` with the fewest hops left to `to`.
    fn candidates(&self, node: NodeId, to: NodeId, root: NodeId, equal: &mut Vec<PortId>) {
        let mut best = if node.0 < self.hosts { FAR } else { self.distance(root, node) };
        for port in self.ports(node).filter(|port| self.up[port.index()]) {
            let peer = self.peer[port.index()];
            let left = if peer == to {
                0
            } else if peer.0 >= self.hosts {
                self.distance(root, peer).saturating_add(1)
            } else {
                continue;
            };
            if left < best {
                best = left;
                equal.clear();
            }
            if left == best && left != FAR {
                equal.push(port);
            }
        }
    }

    /// Every set of ports among which a node chooses, with all links that are up now.
    pub(crate) fn equal_paths(&mut self) -> Vec<EqualPaths> {
        let mut hosts_of: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        (0..self.hosts).map(NodeId).for_each(|host| hosts_of.entry(self.root(host)).or_default().push(host));
        let mut found: BTreeMap<(NodeId, Vec<PortId>), u32> = BTreeMap::new();
        let mut equal = Vec::new();
        for (&root, hosts) in &hosts_of {
            self.measure(root);
            for node in (0..self.first.len() as u32 - 1).map(NodeId).filter(|node| *node != root) {
                // To every other node, hosts that hang on `root` are alike.
                let to = hosts.iter().find(|host| **host != node);
                let Some(&to) = to.filter(|_| self.ports(node).nth(1).is_some()) else { continue };
                equal.clear();
                self.candidates(node, to, root, &mut equal);
                if equal.len() > 1 {
                    let others = hosts.iter().filter(|host| **host != node).count() as u32;
                    *found.entry((node, equal.clone())).or_default() += others;
                }
            }
        }
        let group = |((node, ports), destinations)| EqualPaths { node, ports, destinations };
        found.into_iter().map(group).collect()
    }

    /// Ports of `node`, a host's loopback last.
    pub(crate) fn ports(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<> {
        (self.first[node.0 as usize]..self.first[node.0 as usize + 1]).map(PortId)
    }

    fn distance(&self, root: NodeId, switch: NodeId) -> u16 {
        let distances = self.distances[root.0 as usize].as_ref().expect("measured before it is asked");
        distances[(switch.0 - self.hosts) as usize]
    }

    /// Hosts with one link share the distances of the switch that they hang on.
    fn root(&self, to: NodeId) -> NodeId {
        let mut peers = self.ports(to).map(|port| self.peer[port.index()]).filter(|peer| *peer != to);
        match (peers.next(), peers.next()) {
            (Some(only), None) if only.0 >= self.hosts => only,
            _ => to,
        }
    }

    /// Breadth-first from `root`, through switches only.
    fn measure(&mut self, root: NodeId) {
        if self.distances[root.0 as usize].is_some() {
            return;
        }
        let switches = self.first.len() - 1 - self.hosts as usize;
        let mut distances = vec![FAR; switches].into_boxed_slice();
        let mut queue = VecDeque::from([(root, 0)]);
        if root.0 >= self.hosts {
            distances[(root.0 - self.hosts) as usize] = 0;
        }
        while let Some((node, distance)) = queue.pop_front() {
            for port in self.ports(node).filter(|port| self.up[port.index()]) {
                let peer = self.peer[port.index()];
                let near = peer.0 >= self.hosts && distance < FAR - 1;
                if near && distances[(peer.0 - self.hosts) as usize] == FAR {
                    distances[(peer.0 - self.hosts) as usize] = distance + 1;
                    queue.push_back((peer, distance + 1));
                }
            }
        }
        self.distances[root.0 as usize] = Some(distances);
    }
}

/// A hash of a node's name: FNV-1a, mixed.
fn key_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    mix(name.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// One of `count` equal ways at the node with `key`: each node hashes for itself, so that choices don't line
/// up.
fn choose(hash: u16, key: u64, seed: u64, count: usize) -> usize {
    let mixed = mix(mix(seed ^ key) ^ u64::from(hash));
    ((u128::from(mixed) * count as u128) >> 64) as usize
}

/// Hash of the ports of a route: the numbers are the model's own, so that nothing stronger is called for.
fn hash_of(ports: &[PortId]) -> u64 {
    ports.iter().fold(ports.len() as u64, |hash, port| mix(hash ^ u64::from(port.0)))
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
