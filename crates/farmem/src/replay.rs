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
    /// Faults that something is fetched for.
    pub faults: u64,
    /// Pages fetched, with those read ahead.
    pub fetched: u64,
    /// Requests that they come with.
    pub requests: u64,
    /// Pages written back, because they left and had been written to.
    pub written_back: u64,
    /// Requests that they go with: those of different faults don't share one.
    pub sends: u64,
}

/// The cache, and what comes with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Pages of the cache.
    pub capacity: u32,
    /// Which page leaves.
    pub policy: Policy,
    /// How many of the pages that follow in memory are fetched with a page, up to the first that is local or that remote memory
    /// has nothing of; half of the cache at most.
    pub read_ahead: u32,
    /// How many pages leave when there is no room; those beyond one leave early.
    pub batch: u32,
    /// How many pages share a request, of those that a fault fetches and of those that it sends.
    pub pages_a_request: u32,
}

impl Setting {
    /// A page a fault, and one that leaves.
    pub const fn new(capacity: u32, policy: Policy) -> Setting {
        Setting { capacity, policy, read_ahead: 0, batch: 1, pages_a_request: 1 }
    }
}

/// Goes through the steps once, with an empty cache at first.
///
/// # Panics
/// When the capacity is none that a cache can have.
pub fn replay(steps: &Steps, setting: &Setting) -> Counts {
    // More than all pages are never used.
    let capacity = setting.capacity.min((steps.pages.len() as u32).saturating_add(1)).max(1);
    let mut run = Run {
        cache: Cache::new(capacity, setting.policy),
        known: vec![Known::Nothing; steps.pages.len()],
        pages: &steps.pages,
        read_ahead: setting.read_ahead.min(setting.capacity / 2),
        batch: setting.batch.clamp(1, capacity),
        a_request: u64::from(setting.pages_a_request.max(1)),
        counts: Counts::default(),
        sent: 0,
    };
    for step in &steps.steps {
        match *step {
            Step::Read(page) => run.access(page, false),
            Step::Write(page) => run.access(page, true),
            Step::Dirty(page) => run.dirty(page),
            Step::Free(page) => {
                run.cache.remove(u64::from(page));
                run.known[page as usize] = Known::Nothing;
            }
        }
    }
    run.counts
}

/// What there is of a page beside what is local.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It was never accessed since it was last freed.
    Nothing,
    /// It was, and remote memory has nothing of it.
    Accessed,
    /// Remote memory has it.
    Remote,
}

struct Run<'a> {
    cache: Cache,
    known: Vec<Known>,
    pages: &'a [u64],
    read_ahead: u32,
    batch: u32,
    a_request: u64,
    counts: Counts,
    /// Pages that the fault at hand sends.
    sent: u64,
}

impl Run<'_> {
    fn access(&mut self, page: u32, write: bool) {
        if self.cache.touch(u64::from(page), write) {
            self.counts.hits += 1;
            return;
        }
        let remote = self.known[page as usize] == Known::Remote;
        self.bring(page, write);
        if remote {
            let fetched = 1 + self.ahead(page);
            self.counts.faults += 1;
            self.counts.fetched += fetched;
            self.counts.requests += fetched.div_ceil(self.a_request);
        } else {
            self.counts.cold += 1;
        }
        self.counts.written_back += self.sent;
        self.counts.sends += self.sent.div_ceil(self.a_request);
        self.sent = 0;
    }

    /// The pages behind it come too; how many.
    fn ahead(&mut self, page: u32) -> u64 {
        for ahead in 1..=self.read_ahead {
            let next = (page + ahead) as usize;
            let follows = self.pages.get(next) == Some(&(self.pages[page as usize] + u64::from(ahead)));
            if !follows || self.known[next] != Known::Remote || self.cache.contains(next as u64) {
                return u64::from(ahead - 1);
            }
            self.bring(next as u32, false);
        }
        u64::from(self.read_ahead)
    }

    fn dirty(&mut self, page: u32) {
        let known = &mut self.known[page as usize];
        if !self.cache.mark_dirty(u64::from(page)) && *known == Known::Accessed {
            *known = Known::Remote;
        }
    }

    fn bring(&mut self, page: u32, write: bool) {
        let Run { cache, known, batch, sent, .. } = self;
        cache.make_room(*batch, |Evicted { page, dirty }| {
            *sent += u64::from(dirty);
            if dirty {
                known[page as usize] = Known::Remote;
            }
        });
        cache.fault(u64::from(page), write);
        if known[page as usize] == Known::Nothing {
            known[page as usize] = Known::Accessed;
        }
    }
}
