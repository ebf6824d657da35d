//! Transactions, what one node finds in them, and nodes that find it together.

use crate::items::Level;
use crate::journal::Sound;
use crate::node::{Board, Costs, Journal, Node, NodeSetup, Settings};
use crate::progress::Progress;
use crate::single;
use crate::transactions::Transactions;
use crate::work::Real;
use process::testing::{Network, World};
use process::{Addr, HostId, Process};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::{Arc, Mutex};
use units::Time;

/// Transactions over a few items with patterns in them, so that there are long itemsets.
pub fn transactions(count: usize, items: u32, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let item = |rng: &mut Pcg64| rng.random_range(0..items) * 7 + 3;
    let patterns: Vec<Vec<u32>> =
        (0..6).map(|_| (0..rng.random_range(2..6)).map(|_| item(&mut rng)).collect()).collect();
    let transaction = |_| {
        let mut all: Vec<u32> = (0..rng.random_range(0..6)).map(|_| item(&mut rng)).collect();
        for _ in 0..rng.random_range(0..3) {
            all.extend(&patterns[rng.random_range(0..patterns.len())]);
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    (0..count).map(transaction).collect()
}

pub fn pack<'a>(all: impl IntoIterator<Item = &'a Vec<u32>>) -> Transactions {
    let mut packed = Transactions::default();
    all.into_iter().for_each(|transaction| packed.push(transaction));
    packed
}

/// What one node finds.
pub fn alone(all: &[Vec<u32>], minimum: u64, longest: Option<usize>) -> Vec<Level> {
    let packed = pack(all);
    let settings = single::Settings { minimum, longest, memory: 1 << 20, threads: 1 };
    let (levels, _) = single::mine(packed, &settings, &Progress::default()).unwrap();
    levels.into_iter().filter(|level| !level.is_empty()).collect()
}

/// Splits transactions over nodes, unevenly.
pub fn shares(all: &[Vec<u32>], nodes: usize) -> Vec<Arc<Transactions>> {
    let part = |node: usize| {
        let mine = all.iter().enumerate().filter(move |(at, _)| (at * at / 3) % nodes == node);
        Arc::new(pack(mine.map(|(_, transaction)| transaction)))
    };
    (0..nodes).map(part).collect()
}

/// A disk that outlives processes.
#[derive(Clone, Default)]
pub struct Disk(pub Arc<Mutex<Vec<Level>>>);

impl Journal for Disk {
    fn load(&mut self, _room: usize) -> Sound {
        Sound { levels: self.0.lock().unwrap().clone(), ..Sound::default() }
    }
    fn append(&mut self, level: &Level) {
        self.0.lock().unwrap().push(level.clone());
    }
}

/// Streams whose pieces take a short or a long time, with room for little or much.
pub fn network(seed: u64) -> Network {
    Network {
        delay: Time::from_us(1),
        jitter: [Time::from_us(100), Time::from_ms(5)][seed as usize % 2],
        buffer: [200, 3000, 100_000][seed as usize % 3],
        pieces: true,
        ..Network::default()
    }
}

/// A host crashes and comes back within three seconds, as another process if there is one. The others may be
/// told.
pub fn crash(world: &mut World, host: usize, process: Option<Box<dyn Process>>, chance: &mut Pcg64) {
    if let Some(process) = process {
        world.replace(host, process);
    }
    world.crash(host, world.now + Time::from_us(chance.random_range(1..3_000_000)));
    if chance.random_bool(0.5) {
        world.lose(host);
    }
}

/// Nodes of a run.
pub struct Cluster {
    pub settings: Arc<Settings>,
    pub costs: Costs,
    pub shares: Vec<Arc<Transactions>>,
    pub disks: Vec<Disk>,
    pub boards: Vec<Board>,
}

impl Cluster {
    pub fn new(mut settings: Settings, costs: Costs, shares: Vec<Arc<Transactions>>) -> Cluster {
        settings.derived.transactions = shares.iter().map(|share| share.len()).collect();
        let nodes = shares.len();
        Cluster {
            settings: Arc::new(settings),
            costs,
            shares,
            disks: vec![Disk::default(); nodes].iter().map(|_| Disk::default()).collect(),
            boards: vec![0; nodes].iter().map(|_| Board::default()).collect(),
        }
    }

    /// A node, as it begins.
    pub fn node(&self, me: usize) -> Box<dyn Process> {
        let nodes = (0..self.shares.len() as u32).map(|host| Addr { host: HostId(host), port: 5000 });
        let setup = NodeSetup {
            settings: self.settings.clone(),
            costs: self.costs,
            nodes: nodes.collect(),
            me,
            journal: Box::new(self.disks[me].clone()),
            board: self.boards[me].clone(),
        };
        let work = Real::new(self.settings.clone(), me, self.shares[me].clone(), true);
        Box::new(Node::real(setup, work).unwrap())
    }

    /// All nodes, over a network that delivers pieces of any length after any time.
    pub fn world(&self, seed: u64) -> World {
        self.world_over(network(seed), seed)
    }

    pub fn world_over(&self, network: Network, seed: u64) -> World {
        let mut world = World::new(network, seed);
        world.add_all((0..self.shares.len()).map(|node| (HostId(node as u32), self.node(node))));
        world
    }

    /// Panics unless each node has found this.
    pub fn assert_found(&self, wanted: &[Level]) {
        for (node, board) in self.boards.iter().enumerate() {
            assert!(board.levels() == wanted, "node {node} of {}: {:?}", self.shares.len(), self.settings);
        }
    }
}
