//! Transactions, what one node finds in them, and nodes that find it together.

use super::world::World;
use crate::items::Level;
use crate::local;
use crate::node::{Board, Costs, Journal, Node, NodeSetup, Settings};
use crate::progress::Progress;
use crate::transactions::Transactions;
use crate::work::Real;
use process::{Addr, HostId, Process};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::{Arc, Mutex};

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
    let settings = local::Settings { minimum, longest, memory: 1 << 20, threads: 1 };
    let (levels, _) = local::mine(packed, &settings, &Progress::default()).unwrap();
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
    fn load(&mut self) -> Vec<Level> {
        self.0.lock().unwrap().clone()
    }
    fn append(&mut self, level: &Level) {
        self.0.lock().unwrap().push(level.clone());
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
    pub fn new(settings: Settings, costs: Costs, shares: Vec<Arc<Transactions>>) -> Cluster {
        let transactions = shares.iter().map(|share| share.len()).collect();
        let nodes = shares.len();
        Cluster {
            settings: Arc::new(Settings { transactions, ..settings }),
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

    pub fn world(&self, seed: u64) -> World {
        let mut world = World::new(seed);
        (0..self.shares.len()).for_each(|node| world.add(self.node(node)));
        world
    }

    /// Panics unless each node has found this.
    pub fn assert_found(&self, wanted: &[Level]) {
        for (node, board) in self.boards.iter().enumerate() {
            assert!(board.levels() == wanted, "node {node} of {}: {:?}", self.shares.len(), self.settings);
        }
    }
}
