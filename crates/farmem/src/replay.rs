//! A program's steps gone through with a cache: how many exchanges with remote memory there are.
//!
//! For FIFO and CLOCK, and for read-ahead, this is the only way; a run for each size. LRU has all sizes at once ([`crate::curve`]).

use crate::cache::{Cache, Evicted, Policy};
use crate::steps::{Step, Steps};

/// What a run through the steps comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accesses to pages that are local.
    pub hits: u64,
    /// First accesses, to pages full of zeros: nothing is fetched.
    pub cold: u64,
    /// Faults that something is fetched for: requests.
    pub faults: u64,
    /// Pages fetched, with those read ahead.
    pub fetched: u64,
    /// Pages written back, because they left and had been written to.
    pub written_back: u64,
}

/// The cache, and what comes with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Pages of the cache.
    pub capacity: u32,
    /// Which page leaves.
    pub policy: Policy,
    /// How many of the pages that follow in memory are fetched with a page, where remote memory has them and the cache has not.
    pub read_ahead: u32,
    /// How many pages leave when there is no room; those beyond one leave early.
    pub batch: u32,
}

impl Setting {
    /// A page a fault, and one that leaves.
    pub const fn new(capacity: u32, policy: Policy) -> Setting {
        Setting { capacity, policy, read_ahead: 0, batch: 1 }
    }
}

/// Goes through the steps once, with an empty cache at first.
///
/// # Panics
/// When the capacity is none that a cache can have.
pub fn replay(steps: &Steps, setting: &Setting) -> Counts {
    // More than all pages are never used.
    let capacity = setting.capacity.min((steps.pages.len() as u32).saturating_add(1));
    let mut run = Run {
        cache: Cache::new(capacity.max(1), setting.policy),
        remote: vec![false; steps.pages.len()],
        batch: setting.batch.clamp(1, capacity.max(1)),
        counts: Counts::default(),
    };
    // The page itself stays.
    let ahead = setting.read_ahead.min(capacity.saturating_sub(1));
    for step in &steps.steps {
        match *step {
            Step::Read(page) => run.access(page, false, ahead, &steps.pages),
            Step::Write(page) => run.access(page, true, ahead, &steps.pages),
            Step::Free(page) => {
                run.cache.remove(u64::from(page));
                run.remote[page as usize] = false;
            }
        }
    }
    run.counts
}

struct Run {
    cache: Cache,
    /// Whether remote memory has something of each page.
    remote: Vec<bool>,
    batch: u32,
    counts: Counts,
}

impl Run {
    fn access(&mut self, page: u32, write: bool, ahead: u32, pages: &[u64]) {
        if self.cache.touch(u64::from(page), write) {
            self.counts.hits += 1;
            return;
        }
        if !self.remote[page as usize] {
            self.counts.cold += 1;
            self.bring(page, write);
            return;
        }
        self.counts.faults += 1;
        self.counts.fetched += 1;
        self.bring(page, write);
        let number = pages[page as usize];
        for next in (page + 1..).take(ahead as usize) {
            let neighbour = pages.get(next as usize).is_some_and(|other| other - number <= u64::from(ahead));
            if !neighbour {
                break;
            }
            if self.remote[next as usize] && !self.cache.contains(u64::from(next)) {
                self.counts.fetched += 1;
                self.bring(next, false);
            }
        }
    }

    fn bring(&mut self, page: u32, write: bool) {
        let Run { cache, remote, batch, counts } = self;
        cache.make_room(*batch, |Evicted { page, dirty }| {
            counts.written_back += u64::from(dirty);
            remote[page as usize] |= dirty;
        });
        cache.fault(u64::from(page), write);
    }
}
