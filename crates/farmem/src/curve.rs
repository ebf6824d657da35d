//! The miss-ratio curve of LRU: the counts of [`crate::replay`], for all cache sizes at once.
//!
//! An access whose page is `d` deep in the stack (`stack.rs`) is a hit if the cache has at least `d` pages
//! (Mattson et al. 1970). A page is dirty in a cache that has held it since it was written: one at least as
//! large as its greatest depth since then. So when it is accessed at a larger depth, the caches between both
//! have written it back.
//!
//! With a sample (SHARDS; Waldspurger, Park, Garthwaite, Ahmad, FAST '15, section 3) only pages whose hash is
//! among the lowest part of all are counted. Depths and counts are scaled up accordingly, and the difference
//! to all accesses counts as hits (their "adj").

use crate::replay::Counts;
use crate::stack::Stack;
use crate::steps::{Step, Steps};

/// What an LRU cache of any size counts.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Of how many pages one was looked at.
    one_in: u32,
    accesses: u64,
    /// By size (in units of `one_in` pages): misses on pages full of zeros, misses that fetch, write-backs.
    by_size: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    cold: u64,
    faults: u64,
    written_back: u64,
}

impl Curve {
    /// That of a program, from one in so many of its pages; 1 is exact.
    ///
    /// # Panics
    /// When `one_in` is zero.
    pub fn new(steps: &Steps, one_in: u32) -> Curve {
        let sampled: Vec<bool> = steps.pages.iter().map(|page| is_sampled(*page, one_in)).collect();
        let mut making = Making::new(steps.pages.len());
        for step in &steps.steps {
            match *step {
                Step::Read(page) if sampled[page as usize] => making.access(page, false),
                Step::Write(page) if sampled[page as usize] => making.access(page, true),
                Step::Dirty(page) if sampled[page as usize] => making.dirty(page),
                Step::Free(page) if sampled[page as usize] => making.free(page),
                _ => {}
            }
        }
        Curve { one_in, accesses: steps.accesses(), by_size: making.finish() }
    }

    /// What a cache of so many pages counts.
    pub fn counts(&self, capacity: u32) -> Counts {
        let last = self.by_size.len() - 1;
        let row = self.by_size[((capacity / self.one_in) as usize).min(last)];
        let times = u64::from(self.one_in);
        let (cold, faults) = (row.cold * times, row.faults * times);
        Counts {
            hits: self.accesses.saturating_sub(cold + faults),
            cold,
            faults,
            fetched: faults,
            requests: faults,
            written_back: row.written_back * times,
            sends: row.written_back * times,
        }
    }

    /// From this size on, in pages, nothing is fetched any more.
    pub fn enough(&self) -> u32 {
        let sizes = self.by_size.iter().rposition(|row| row.faults > 0).map_or(0, |at| at + 1);
        sizes as u32 * self.one_in
    }
}

/// By a hash whose bits all depend on all of the number (the finaliser of SplitMix64: Steele, Lea, Flood,
/// OOPSLA '14).
fn is_sampled(page: u64, one_in: u32) -> bool {
    let mut hash = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31) <= u64::MAX / u64::from(one_in)
}

/// Never written to.
const CLEAN: u32 = u32::MAX;

struct Making {
    stack: Stack,
    /// The deepest that each page has lain since it was written to.
    deepest: Vec<u32>,
    /// Differences from one size to the next.
    changes: Vec<[i64; 3]>,
}

impl Making {
    fn new(pages: usize) -> Making {
        Making { stack: Stack::new(pages), deepest: vec![CLEAN; pages], changes: vec![[0; 3]; pages + 2] }
    }

    fn access(&mut self, page: u32, write: bool) {
        let deepest = self.deepest[page as usize];
        match self.stack.depth(page) {
            // No cache has it, however large.
            None => self.changes[0][0] += 1,
            Some(depth) => {
                self.below(depth, if deepest == CLEAN { 0 } else { 1 });
                self.left(page, depth);
                if deepest != CLEAN {
                    self.deepest[page as usize] = deepest.max(depth);
                }
            }
        }
        if write {
            self.deepest[page as usize] = 0;
        }
        self.stack.raise(page);
    }

    /// Caches that still hold it hold it dirty; of the others, those that had it dirty have that behind them.
    fn dirty(&mut self, page: u32) {
        if let Some(depth) = self.stack.depth(page) {
            let deepest = &mut self.deepest[page as usize];
            *deepest = depth.min(*deepest);
        }
    }

    /// Caches of fewer pages than this count one more.
    fn below(&mut self, depth: u32, what: usize) {
        self.changes[0][what] += 1;
        self.changes[depth as usize][what] -= 1;
    }

    /// Caches of fewer pages don't hold it any more. Those that held it dirty have written it back.
    fn left(&mut self, page: u32, depth: u32) {
        let deepest = self.deepest[page as usize];
        if deepest < depth {
            self.changes[deepest as usize][2] += 1;
            self.changes[depth as usize][2] -= 1;
        }
    }

    fn free(&mut self, page: u32) {
        if let Some(depth) = self.stack.depth(page) {
            self.left(page, depth);
        }
        self.deepest[page as usize] = CLEAN;
        self.stack.remove(page);
    }

    fn finish(mut self) -> Vec<Row> {
        for page in 0..self.deepest.len() as u32 {
            if let Some(depth) = self.stack.depth(page) {
                self.left(page, depth);
            }
        }
        let mut sum = [0i64; 3];
        let rows = self.changes.iter().map(|change| {
            sum.iter_mut().zip(change).for_each(|(sum, change)| *sum += change);
            let [cold, faults, written_back] = sum.map(|sum| sum as u64);
            Row { cold, faults, written_back }
        });
        rows.collect()
    }
}
