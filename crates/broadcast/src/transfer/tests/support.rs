//! A small cluster in the simulator, stores with real bytes that can fail, and an ear at every node.

use crate::topology::{Kind, LinkData, NodeData, NodeId, Topology, TopologyData};
use crate::transfer::{Board, Chunks, Config, Hash, Lengths, Node, Progress, Store, StoreError, hash};
use bytes::Bytes;
use fabric::{Framing, Graph, Link, LinkProps, SwitchConfig};
use process::{HostId, Payload, Process};
use sim::{Change, HostConfig, JobSetup, Pause, Records, Setup, Sim};
use std::sync::{Arc, Mutex};
use units::{Rate, Time};

pub const MBPS: u64 = 1_000_000;
pub const MIB: u64 = 1 << 20;
/// Of a link in a rack.
const DELAY: Time = Time::from_us(50);

/// What a store does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// It has room for so many chunks only.
    pub room: Option<u32>,
    /// So many of the first reads are of damaged content.
    pub damaged_reads: u32,
    /// The chunk that it has is another, with a hash that fits.
    pub swapped: Option<u32>,
}

/// What a store has, for tests to look at.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub chunks: Vec<Option<(Bytes, Hash)>>,
    /// Times that each chunk was written.
    pub writes: Vec<u32>,
    pub complete: bool,
}

/// A store of real bytes in memory.
pub struct Memory {
    kept: Arc<Mutex<Kept>>,
    trouble: Trouble,
}

impl Memory {
    pub fn new(chunks: Chunks, content: Option<&[u8]>, trouble: Trouble) -> (Memory, Arc<Mutex<Kept>>) {
        let count = chunks.count() as usize;
        let mut kept = Kept { chunks: vec![None; count], writes: vec![0; count], complete: false };
        if let Some(content) = content {
            for (at, part) in content.chunks(chunks.size() as usize).enumerate() {
                let part = Bytes::copy_from_slice(part);
                let of = hash(&[Payload::Data(part.clone())]);
                kept.chunks[at] = Some((part, of));
            }
        }
        let kept = Arc::new(Mutex::new(kept));
        (Memory { kept: kept.clone(), trouble }, kept)
    }
}

impl Store for Memory {
    fn have(&self, chunk: u32) -> bool {
        self.kept.lock().unwrap().chunks[chunk as usize].is_some()
    }
    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        let (content, of) = self.kept.lock().unwrap().chunks[chunk as usize].clone().expect("it is there");
        if self.trouble.damaged_reads > 0 {
            self.trouble.damaged_reads -= 1;
            let mut damaged = content.to_vec();
            damaged[0] ^= 1;
            return Ok((Payload::from(damaged), of));
        }
        if self.trouble.swapped == Some(chunk) {
            let mut other = content.to_vec();
            other[0] ^= 1;
            let payload = Payload::from(other);
            let of = hash(std::slice::from_ref(&payload));
            return Ok((payload, of));
        }
        Ok((Payload::Data(content), of))
    }
    fn write(&mut self, chunk: u32, pieces: &[Payload], hash: &Hash) -> Result<(), StoreError> {
        let mut kept = self.kept.lock().unwrap();
        let there = kept.chunks.iter().flatten().count() as u32;
        if self.trouble.room.is_some_and(|room| there >= room) {
            return Err(StoreError("no space left on device".into()));
        }
        let mut content = Vec::new();
        for piece in pieces {
            let Payload::Data(bytes) = piece else { panic!("real bytes") };
            content.extend_from_slice(bytes);
        }
        kept.chunks[chunk as usize] = Some((content.into(), *hash));
        kept.writes[chunk as usize] += 1;
        Ok(())
    }
    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        Ok(self.kept.lock().unwrap().chunks[chunk as usize].as_ref().expect("it is there").1)
    }
    fn forget(&mut self, chunk: u32) {
        self.kept.lock().unwrap().chunks[chunk as usize] = None;
    }
    fn complete(&mut self) -> Result<(), StoreError> {
        self.kept.lock().unwrap().complete = true;
        Ok(())
    }
}

/// A topology of hosts on one switch, with their rates each way in Mb/s (up, down).
pub fn star(rates: &[(u64, u64)]) -> Topology {
    let mut data = TopologyData::default();
    data.nodes.extend((0..rates.len()).map(|i| NodeData {
        id: format!("h{i}"),
        kind: Kind::Host,
        cap: None,
    }));
    data.nodes.push(NodeData { id: "switch".into(), kind: Kind::Switch, cap: None });
    data.links.extend(rates.iter().enumerate().map(|(i, (up, down))| LinkData {
        a: format!("h{i}"),
        b: "switch".into(),
        ab: (up * MBPS) as i64,
        ba: (down * MBPS) as i64,
    }));
    Topology::try_from(data).unwrap()
}

/// The simulator's form of a topology; hosts come first in both.
fn graph(topology: &Topology, delay: Time) -> Graph {
    let name = |node: NodeId| topology.name(node).to_owned();
    let (hosts, switches): (Vec<NodeId>, Vec<NodeId>) =
        topology.nodes().partition(|node| topology.is_host(*node));
    assert!(hosts.iter().enumerate().all(|(at, node)| node.index() == at), "hosts first");
    let props = |rate: Rate| LinkProps { rate, delay, mtu: 1500 };
    let links = topology.links().step_by(2).map(|link| Link {
        a: fabric::NodeId(topology.tail(link).0),
        b: fabric::NodeId(topology.head(link).0),
        ab: props(topology.capacity(link)),
        ba: props(topology.capacity(link.reverse())),
    });
    Graph::new(
        hosts.into_iter().map(name).collect(),
        switches.into_iter().map(name).collect(),
        links.collect(),
    )
    .unwrap()
}

/// A broadcast from host 0 to all others.
pub fn config(topology: Topology, bytes: u64, chunk: u64) -> Config {
    let hosts: Vec<HostId> = topology.hosts().map(|node| HostId(node.0)).collect();
    let places = hosts.iter().map(|host| (*host, NodeId(host.0))).collect();
    let chunks = Chunks::new(bytes, chunk).unwrap();
    Config::new(hosts[0], hosts[1..].to_vec(), 5000, chunks, topology, places)
}

/// Content that is different everywhere.
pub fn content(bytes: u64) -> Vec<u8> {
    let mut content = vec![0; bytes as usize];
    blake3::Hasher::new().finalize_xof().fill(&mut content);
    content
}

/// How a run ended.
pub struct Run {
    pub pause: Pause,
    pub end: Option<Time>,
    pub progress: Vec<Progress>,
    pub kept: Vec<Arc<Mutex<Kept>>>,
    pub records: Records,
    pub fingerprint: u64,
}

impl Run {
    /// Seconds until a host had everything.
    pub fn completed(&self, host: usize) -> f64 {
        self.progress[host]
            .completed
            .unwrap_or_else(|| panic!("host {host}: {:?}", self.progress[host]))
            .as_secs_f64()
    }

    /// Panics unless these hosts have the source's bytes, and each chunk came once.
    pub fn assert_whole(&self, hosts: impl IntoIterator<Item = usize>) {
        let source = self.kept[0].lock().unwrap().chunks.clone();
        for host in hosts {
            let kept = self.kept[host].lock().unwrap();
            // Not the chunks themselves: the reader of a failure wants to see which are missing.
            let lacks: Vec<usize> = (0..source.len()).filter(|at| kept.chunks[*at] != source[*at]).collect();
            assert!(lacks.is_empty(), "host {host} lacks {lacks:?}: {:?}", self.progress[host]);
            assert!(kept.complete, "host {host}");
        }
    }

    /// Panics unless each chunk was written once at these hosts.
    pub fn assert_once(&self, hosts: impl IntoIterator<Item = usize>) {
        for host in hosts {
            let kept = self.kept[host].lock().unwrap();
            assert!(kept.writes.iter().all(|times| *times == 1), "host {host}: {:?}", kept.writes);
        }
    }
}

/// Runs a broadcast with real bytes; `trouble` by host.
pub fn run(config: &Config, trouble: &[(usize, Trouble)], faults: Vec<(Time, Change)>) -> Run {
    run_until(config, trouble, faults, Time::from_secs(1000))
}

/// As [`run`], up to a time.
pub fn run_until(
    config: &Config,
    trouble: &[(usize, Trouble)],
    faults: Vec<(Time, Change)>,
    until: Time,
) -> Run {
    run_on(&config.topology, config, trouble, faults, until)
}

/// As [`run_until`], on a network that may differ from the one which plans are made for.
pub fn run_on(
    network: &Topology,
    config: &Config,
    trouble: &[(usize, Trouble)],
    faults: Vec<(Time, Change)>,
    until: Time,
) -> Run {
    let content = content(config.chunks.bytes());
    let (mut stores, mut kept): (Vec<Box<dyn Store>>, _) = (Vec::new(), Vec::new());
    for host in 0..=config.destinations.len() {
        let trouble = trouble.iter().find(|(at, _)| *at == host).map_or(Trouble::default(), |(_, t)| *t);
        let (store, look) = Memory::new(config.chunks, (host == 0).then_some(&content[..]), trouble);
        stores.push(Box::new(store));
        kept.push(look);
    }
    Run { kept, ..simulate(network, config, stores, faults, until, DELAY) }
}

/// Runs one on a network of which its plans know nothing.
pub fn run_unknown(network: &Topology, config: &Config, faults: Vec<(Time, Change)>) -> Run {
    let store = |host| -> Box<dyn Store> { Box::new(Lengths::new(config.chunks, host == 0)) };
    let stores = (0..=config.destinations.len()).map(store).collect();
    simulate(network, config, stores, faults, Time::from_secs(1000), DELAY)
}

/// Runs a broadcast of no particular content.
pub fn run_lengths(config: &Config, faults: Vec<(Time, Change)>) -> Run {
    let store = |host| -> Box<dyn Store> { Box::new(Lengths::new(config.chunks, host == 0)) };
    let stores = (0..=config.destinations.len()).map(store).collect();
    simulate(&config.topology, config, stores, faults, Time::from_secs(1000), DELAY)
}

/// As [`run_lengths`], on links with so long a delay.
pub fn run_far(config: &Config, delay: Time) -> Run {
    let store = |host| -> Box<dyn Store> { Box::new(Lengths::new(config.chunks, host == 0)) };
    let stores = (0..=config.destinations.len()).map(store).collect();
    simulate(&config.topology, config, stores, Vec::new(), Time::from_secs(1000), delay)
}

fn simulate(
    network: &Topology,
    config: &Config,
    stores: Vec<Box<dyn Store>>,
    faults: Vec<(Time, Change)>,
    until: Time,
    delay: Time,
) -> Run {
    let shared = Arc::new(config.clone());
    let nodes: Vec<Node> =
        stores.into_iter().map(|store| Node::new(shared.clone(), store).unwrap()).collect();
    let boards: Vec<Board> = nodes.iter().map(Node::board).collect();
    let process = |(host, node)| -> (HostId, Box<dyn Process>) { (HostId(host), Box::new(node)) };
    let processes = (0..).zip(nodes).map(process).collect();
    let run = drive(network, delay, processes, faults, until);
    Run { progress: boards.iter().map(Board::progress).collect(), ..run }
}

/// Runs processes on the hosts of a topology; without any progress.
pub fn drive(
    topology: &Topology,
    delay: Time,
    processes: Vec<(HostId, Box<dyn Process>)>,
    faults: Vec<(Time, Change)>,
    until: Time,
) -> Run {
    let graph = graph(topology, delay);
    let hosts = graph.hosts();
    let switches = graph.nodes() - hosts;
    let host = HostConfig { cores: 2, disk: Rate::from_bps(80 * MBPS), ..HostConfig::default() };
    let job = JobSetup {
        name: "copy".into(),
        kind: "broadcast".into(),
        start: Time::ZERO,
        class: 0,
        background: false,
        processes,
    };
    let mut sim = Sim::new(Setup {
        graph,
        framing: Framing::ETHERNET,
        seed: 1,
        switches: vec![SwitchConfig::default(); switches],
        hosts: vec![host; hosts],
        jobs: vec![job],
        faults,
        until,
    });
    let pause = loop {
        let pause = sim.run(1 << 20);
        if pause != Pause::Running {
            break pause;
        }
    };
    sim.close();
    let fingerprint = sim.progress().fingerprint;
    Run {
        pause,
        end: sim.job_records()[0].end,
        progress: Vec::new(),
        kept: Vec::new(),
        records: sim.take_records(),
        fingerprint,
    }
}
