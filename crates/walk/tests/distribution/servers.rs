//! The same walks three ways: in memory, on servers of the live driver over loopback sockets, on servers of
//! the simulator.

use fabric::topology::single_switch;
use fabric::{Framing, LinkProps, SwitchConfig};
use live::threads::{self, Host};
use process::{Addr, HostId, Process};
use sim::{HostConfig, JobSetup, Pause, Setup, Sim};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::{Rate, Time};
use walk::counters::Board;
use walk::graph::Graph;
use walk::partition::{Partition, ServerPart};
use walk::seal::Key;
use walk::server::{Server, ServerSetup};
use walk::settings::{Costs, Settings};
use walk::sink::{FinishedWalk, Sink};
use walk::step::{Engine, Rule, Starts, Walk};
use walk::store::Memory;
use walk::territory::Territory;
use walk::wire::Codec;

const PORT: u16 = 7000;
const SERVERS: u16 = 3;
const SEED: u64 = 21;
const STEPS_MAX: u32 = 300;

/// What runs the walks.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// In memory.
    Memory,
    /// Three servers, on sockets.
    Live,
    /// Three servers, in the simulator.
    Simulated,
}

/// Nodes of a walk, the start first.
pub type Path = Vec<u32>;

/// `number` walks from each of `starts`, in the order of their starts and numbers.
pub fn paths(way: Way, graph: &Graph, walk: &Walk, starts: &[u32], number: u32) -> Vec<Path> {
    let rule = Rule::new(walk).unwrap();
    if matches!(way, Way::Memory) {
        let mut paths = Vec::new();
        Engine::new(graph, rule, SEED)
            .paths(&Starts::new(starts.to_vec(), number), |block| {
                paths.extend(block.iter().map(<[u32]>::to_vec))
            })
            .unwrap();
        return paths;
    }
    let kept = Kept::default();
    let processes = servers(graph, &rule, starts, number, &kept, matches!(way, Way::Simulated));
    match way {
        Way::Live => live(processes),
        _ => simulated(processes),
    }
    let mut paths = std::mem::take(&mut *kept.0.lock().unwrap());
    assert_eq!(paths.len(), starts.len() * number as usize, "every walk once");
    paths.sort_unstable();
    paths.into_iter().map(|(_, _, path)| path).collect()
}

/// Start, number and nodes of finished walks.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(u32, u32, Path)>>>);

impl Sink for Kept {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.0.lock().unwrap().push((walk.start, walk.number, walk.path.to_vec()));
    }
    fn save(&self, _: &mut Vec<u8>) {}
    fn restore(&mut self, _: Option<&[u8]>) -> bool {
        true
    }
}

type Processes = Vec<(HostId, Box<dyn Process>)>;

fn servers(graph: &Graph, rule: &Rule, starts: &[u32], walks: u32, kept: &Kept, modelled: bool) -> Processes {
    // Every node's neighbours are mostly elsewhere.
    let owners = (0..graph.nodes()).map(|node| (node % u32::from(SERVERS)) as u16).collect();
    let partition = Partition::new(owners, SERVERS).unwrap();
    let mut settings = Settings { walks, steps_max: STEPS_MAX, ..Settings::default() };
    settings.derived.paths = true;
    settings.derived.burst = if modelled { 1 } else { 64 };
    settings.loss.initial = Time::from_ms(50);
    let step = Time::from_ns(100);
    let costs = if modelled {
        Costs { step, walker: step, generate: step, ..Costs::default() }
    } else {
        Costs::default()
    };
    let server = |server| {
        let territory = Territory {
            part: ServerPart::of(graph, &partition, server).unwrap(),
            rule: rule.clone(),
            seed: SEED,
            fresh: false,
        };
        let setup = ServerSetup {
            settings: settings.clone(),
            costs,
            servers: (0..u32::from(SERVERS)).map(|host| Addr { host: HostId(host), port: PORT }).collect(),
            codec: Codec { job: 0, server, key: Some(Key::new([9; 16])) },
            territory,
            starts: Some(starts.to_vec()),
            changes: Vec::new(),
            mailbox: None,
            sink: Box::new(kept.clone()),
            store: Box::new(Memory::default()),
            board: Arc::new(Board::default()),
        };
        (HostId(server.into()), Box::new(Server::new(setup)) as Box<dyn Process>)
    };
    (0..SERVERS).map(server).collect()
}

fn live(processes: Processes) {
    let host = |(host, process): (HostId, _)| Host {
        host,
        name: format!("server{}", host.0),
        jobs: vec![live::Job {
            index: 0,
            name: "walk".into(),
            start: Time::ZERO,
            background: false,
            process,
        }],
    };
    let hosts = processes.into_iter().map(host).collect();
    let reports =
        threads::run(hosts, &[PORT], 1, &live::Settings::default(), Duration::from_secs(300)).unwrap();
    assert!(reports.iter().all(|report| report.end == live::End::Stopped));
}

fn simulated(processes: Processes) {
    let link = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
    let (nic_queue, cores) = (32_000, 2);
    let host = HostConfig { nic_queue, cores, disk: Rate::from_gbps(4), ..HostConfig::default() };
    let (name, kind, start) = ("walk".into(), "walk".into(), Time::ZERO);
    let mut sim = Sim::new(Setup {
        graph: single_switch(SERVERS.into(), link).unwrap(),
        framing: Framing::ETHERNET,
        seed: 1,
        switches: vec![SwitchConfig::default()],
        hosts: vec![host; usize::from(SERVERS)],
        jobs: vec![JobSetup { name, kind, start, class: 0, background: false, processes }],
        faults: Vec::new(),
        until: Time::from_secs(1000),
    });
    while sim.run(1 << 20) == Pause::Running {}
    sim.close();
}
