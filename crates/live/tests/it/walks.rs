//! Walks over real sockets end where they end in memory, and are counted once.

use live::{Datagrams, Job, Settings, threads};
use process::{Addr, HostId};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::Time;
use walk::counters::Board;
use walk::generator::Generation;
use walk::graph::{Graph, Sbm};
use walk::outbox::DatagramSettings;
use walk::partition::{Partition, ServerPart};
use walk::seal::Key;
use walk::server::{Server, ServerSetup};
use walk::settings::{Costs, Settings as Walks};
use walk::sink::{Ends, FinishedWalk, Sink};
use walk::step::{Engine, Rule, Starts, Walk};
use walk::store::Memory;
use walk::territory::Territory;
use walk::wire::Codec;

const PORT: u16 = 7;
const SERVERS: u16 = 3;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Ends>>);

impl Sink for Shared {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.0.lock().unwrap().finished(walk);
    }
    fn save(&self, _: &mut Vec<u8>) {}
    fn restore(&mut self, _: Option<&[u8]>) -> bool {
        true
    }
}

fn graph() -> Graph {
    Sbm { sizes: vec![20, 20, 60], inside: 0.3, between: 0.1 }.graph(5).unwrap().unwrap()
}

/// Runs three servers; the walks' ends, and what the servers have counted.
fn run(mode: Datagrams, gather_bytes: usize, settings: &Walks) -> (Ends, Vec<Arc<Board>>) {
    let (graph, partition) = (graph(), Partition::ranges(&[20, 20, 60]).unwrap());
    let rule = Rule::new(&Walk::geometric(0.15)).unwrap();
    let (shared, mut boards) = (Shared::default(), Vec::new());
    let servers: Vec<Addr> = (0..u32::from(SERVERS)).map(|n| Addr { host: HostId(n), port: PORT }).collect();
    let hosts = (0..SERVERS).map(|server| {
        let part = ServerPart::of(&graph, &partition, server).unwrap();
        let board = Arc::new(Board::default());
        boards.push(Arc::clone(&board));
        let process = Box::new(Server::new(ServerSetup {
            settings: settings.clone(),
            costs: Costs::default(),
            servers: servers.clone(),
            codec: Codec { job: 0, server, key: Some(Key::new([1; 16])) },
            territory: Territory { part, rule: rule.clone(), seed: 3, fresh: false },
            starts: None,
            changes: Vec::new(),
            mailbox: None,
            sink: Box::new(shared.clone()),
            store: Box::new(Memory::default()),
            board,
        }));
        let job = Job { index: 0, name: "walk".into(), start: Time::ZERO, background: false, process };
        threads::Host { host: HostId(server.into()), name: format!("server{server}"), jobs: vec![job] }
    });
    let live = Settings { datagrams: mode, gather_bytes, ..Settings::default() };
    let reports = threads::run(hosts.collect(), &[PORT], 1, &live, Duration::from_secs(300)).unwrap();
    for report in &reports {
        assert_eq!(report.end, live::End::Stopped, "{report:?}");
        assert_eq!(report.counters.foreign_datagrams, 0);
    }
    let ends = shared.0.lock().unwrap().clone();
    (ends, boards)
}

/// The same walks in memory.
fn alone(walks: u32) -> Ends {
    let graph = graph();
    let rule = Rule::new(&Walk::geometric(0.15)).unwrap();
    let starts = Starts::all(graph.nodes(), walks);
    let mut ends = Ends::default();
    let mut count = |start: u32, end: u32| *ends.counts.entry((start, end)).or_default() += 1;
    Engine::new(&graph, rule, 3)
        .ends(&starts, |block| {
            block.starts.iter().copied().zip(block.ends.clone()).for_each(|(start, end)| count(start, end));
        })
        .unwrap();
    ends
}

#[test]
fn walks_end_where_they_end_in_memory() {
    let expected = alone(200);
    for (mode, walkers, gather_bytes) in [
        (Datagrams::Single, 1, 0),
        (Datagrams::Batched, 1, 0),
        (Datagrams::Segmented, 1, 0),
        (Datagrams::Segmented, 1, 1),
        (Datagrams::Segmented, 64, 16 << 10),
    ] {
        let live = Walks::live();
        let datagrams = DatagramSettings { walkers, ..live.datagrams };
        let settings = Walks { walks: 200, datagrams, ..live };
        let (ends, boards) = run(mode, gather_bytes, &settings);
        assert_eq!(ends, expected, "{mode:?}, {walkers} a datagram");
        for board in boards {
            let totals = board.counters.totals();
            assert_eq!(totals.finished, totals.required);
            assert_eq!(totals.refused_datagrams + totals.refused_strangers + totals.refused_records, 0);
        }
    }
}

#[test]
fn the_documents_queue_drops_walkers_and_loses_no_walk() {
    let plain = Walks::default();
    // So few under way that it gets through, and more than RED takes without a drop.
    let generation = Generation { under_way: Some(60), ..plain.generation };
    let mut settings = Walks { walks: 100, generation, ..plain };
    settings.derived.burst = 64;
    let (ends, boards) = run(Datagrams::Segmented, 0, &settings);
    assert_eq!(ends, alone(100));
    let drops = |board: &Arc<Board>| {
        let totals = board.counters.totals();
        totals.drops_early + totals.drops_forced
    };
    assert!(boards.iter().map(drops).sum::<u64>() > 0, "RED had something to do");
}
