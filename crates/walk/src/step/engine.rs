//! Walks in memory: blocks of walks, each walked by one thread, handed over in order. What comes out depends
//! on the graph, the rule, the seed and the starts, never on how many threads there are.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::graph::{Arc, Columns, Graph};

use super::Rule;
use super::first::Run;
use super::record::{Ends, Paths, Record, Steps, Visits};
use super::starts::{Queue, StartError, Starts};

/// Nodes that the paths of a block hold, about.
const BLOCK_NODES: f64 = 1_048_576.0;
/// Walks in a block.
const BLOCK_WALKS: (f64, f64) = (64.0, 8192.0);
/// A graph up to this size is walked without prefetching: it lies in the core's own cache.
const NEAR_BYTES: usize = 512 << 10;

/// Walks on one graph by one rule.
#[derive(Clone, Debug)]
pub struct Engine<'g> {
    graph: &'g Graph,
    rule: Rule,
    seed: u64,
    threads: usize,
}

impl<'g> Engine<'g> {
    /// On one thread.
    pub fn new(graph: &'g Graph, rule: Rule, seed: u64) -> Self {
        Self { graph, rule, seed, threads: 1 }
    }

    /// On so many threads, at least one.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Walks all walks, keeps nothing, and says how many steps they had.
    pub fn steps(&self, starts: &Starts) -> Result<u64, StartError> {
        let parts = self.gather(starts, Steps::default)?;
        Ok(parts.iter().map(|part| part.steps).sum())
    }

    /// How often each node is visited, starts included.
    pub fn visits(&self, starts: &Starts) -> Result<Visits, StartError> {
        let nodes = self.graph.nodes() as usize;
        let mut parts = self.gather(starts, || Visits { counts: vec![0; nodes] })?.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            all.counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(all)
    }

    /// Where the walks end; blocks come in the order of the walks.
    pub fn ends(&self, starts: &Starts, each: impl FnMut(&Ends)) -> Result<(), StartError> {
        self.in_order(starts, |_| (), each)
    }

    /// The paths of the walks; blocks come in the order of the walks.
    pub fn paths(&self, starts: &Starts, each: impl FnMut(&Paths)) -> Result<(), StartError> {
        self.in_order(starts, Paths::close, each)
    }

    /// Walks in a block; the same at any number of threads.
    fn block(&self) -> u64 {
        (BLOCK_NODES / (self.rule.mean_steps() + 1.0)).clamp(BLOCK_WALKS.0, BLOCK_WALKS.1) as u64
    }

    /// Each thread takes blocks until none is left, and notes all of them in one record.
    fn gather<R: Record + Send>(
        &self,
        starts: &Starts,
        make: impl Fn() -> R + Sync,
    ) -> Result<Vec<R>, StartError> {
        starts.check(self.graph.nodes())?;
        let (block, walks) = (self.block(), starts.walks());
        let next = AtomicU64::new(0);
        let work = || {
            let mut record = make();
            loop {
                let first = next.fetch_add(block, Ordering::Relaxed);
                if first >= walks {
                    return record;
                }
                self.walk(self.queue(starts, first, walks.min(first + block)), &mut record);
            }
        };
        Ok(on_threads(self.threads, work))
    }

    /// As many blocks at once as there are threads, then handed over in order.
    fn in_order<R: Record + Default + Send>(
        &self,
        starts: &Starts,
        close: impl Fn(&mut R) + Sync,
        mut each: impl FnMut(&R),
    ) -> Result<(), StartError> {
        starts.check(self.graph.nodes())?;
        let (block, walks) = (self.block(), starts.walks());
        let mut records: Vec<R> = (0..self.threads).map(|_| R::default()).collect();
        let mut first = 0;
        while first < walks {
            let blocks = (walks - first).div_ceil(block).min(self.threads as u64);
            let work = |(index, record): (u64, &mut R)| {
                let first = first + index * block;
                record.clear();
                self.walk(self.queue(starts, first, walks.min(first + block)), record);
                close(record);
            };
            let parts = (0..blocks).zip(&mut records);
            if blocks == 1 {
                parts.for_each(work);
            } else {
                std::thread::scope(|scope| parts.for_each(|part| drop(scope.spawn(move || work(part)))));
            }
            records.iter().take(blocks as usize).for_each(&mut each);
            first += blocks * block;
        }
        Ok(())
    }

    fn queue<'a>(&'a self, starts: &'a Starts, first: u64, end: u64) -> Queue<'a> {
        Queue::new(starts, &self.rule, self.seed, first, end)
    }

    fn walk<R: Record>(&self, queue: Queue<'_>, record: &mut R) {
        let (rows, rule) = (self.graph.rows(), &self.rule);
        match self.graph.columns() {
            Columns::Even(arcs) => self.walk_on(Run { rows, arcs, rule }, queue, record),
            Columns::Weighted(arcs, _) => self.walk_on(Run { rows, arcs, rule }, queue, record),
        }
    }

    fn walk_on<A: Arc, R: Record>(&self, run: Run<'_, A>, queue: Queue<'_>, record: &mut R) {
        match self.rule.bias {
            Some(bias) => run.second_order(bias, self.graph.shape().directed, queue, record),
            None if self.graph.bytes() <= NEAR_BYTES => run.near(queue, record),
            None => run.far(queue, record),
        }
    }
}

fn on_threads<R: Send>(threads: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    if threads == 1 {
        return vec![work()];
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        handles.into_iter().map(|handle| handle.join().expect("a walking thread does not panic")).collect()
    })
}
