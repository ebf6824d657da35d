//! Local memory as a program uses it: which pages an access brings, and which ones leave for them.
//!
//! The replay of a trace ([`crate::replay`]) counts these exchanges, and the simulator's programs
//! ([`crate::pager`]) send them over a network. Pages are ranks ([`crate::steps`]). A page unknown to remote
//! memory holds zeros: its first access fetches nothing.

use crate::cache::{Cache, Evicted, Policy};
use crate::steps::Step;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// The cache, and what comes with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Pages of the cache. It follows from a program's memory.
    #[serde(skip)]
    pub capacity: u32,
    /// Which page leaves.
    pub policy: Policy,
    /// How many of the pages that follow in memory are fetched with a page, up to the first that is local or
    /// that remote memory has nothing of; half of the cache at most.
    pub read_ahead: u32,
    /// How many pages leave when there is no room; those beyond one leave early. Scenarios have one.
    #[serde(skip, default = "one")]
    pub batch: u32,
    /// How many pages share a request, of those that a fault fetches and of those that it sends.
    pub pages_a_request: u32,
}

fn one() -> u32 {
    1
}

impl Setting {
    /// A page a fault, and one that leaves.
    pub const fn new(capacity: u32, policy: Policy) -> Setting {
        Setting { capacity, policy, read_ahead: 0, batch: 1, pages_a_request: 1 }
    }
}

/// What an access met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The page is local.
    Hit,
    /// A page full of zeros: nothing is fetched.
    Cold,
    /// The page is remote: it is fetched, and so many of those that follow it.
    Fault {
        /// Read ahead.
        ahead: u32,
    },
}

/// What there is of a page beside what is local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It was never accessed since it was last freed.
    Nothing,
    /// It was, and remote memory has nothing of it.
    Accessed,
    /// Remote memory has it.
    Remote,
}

/// Local memory; `P` has the number of each page, ascending.
#[derive(Clone, Debug)]
pub struct Local<P> {
    cache: Cache,
    known: Vec<Known>,
    pages: P,
    read_ahead: u32,
    batch: u32,
    evicted: u64,
}

impl<P: Deref<Target = [u64]>> Local<P> {
    /// Empty, with the first `stored` pages in remote memory.
    pub fn new(pages: P, stored: u32, setting: &Setting) -> Local<P> {
        // More than all pages are never used.
        let capacity = setting.capacity.min((pages.len() as u32).saturating_add(1)).max(1);
        let mut known = vec![Known::Nothing; pages.len()];
        known[..(stored as usize).min(pages.len())].fill(Known::Remote);
        Local {
            cache: Cache::new(capacity, setting.policy),
            known,
            pages,
            read_ahead: setting.read_ahead.min(setting.capacity / 2),
            batch: setting.batch.clamp(1, capacity),
            evicted: 0,
        }
    }

    /// Pages that left for others, written back or not.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Steps while nothing is remote: what is in use behind them is local, the lowest address first in, and
    /// counts as written to, as the handler of faults takes it over. How many accesses these were, and how
    /// many of them first ones.
    pub fn adopt(&mut self, steps: &[Step]) -> (u64, u64) {
        let (mut accesses, mut first) = (0, 0);
        let mut used = vec![false; self.known.len()];
        for step in steps {
            match *step {
                Step::Read(page) | Step::Write(page) => {
                    accesses += 1;
                    first += u64::from(!std::mem::replace(&mut used[page as usize], true));
                }
                Step::Free(page) => used[page as usize] = false,
                Step::Dirty(_) => {}
            }
        }
        let used = used.iter().enumerate().filter(|(_, used)| **used);
        used.for_each(|(page, _)| self.bring(page as u32, true, &mut Vec::new()));
        (accesses, first)
    }

    /// A step of the program; pages to write back are added to `back`. Nothing for a step that is no access.
    pub fn step(&mut self, step: Step, back: &mut Vec<u32>) -> Option<Met> {
        match step {
            Step::Read(page) => Some(self.access(page, false, back)),
            Step::Write(page) => Some(self.access(page, true, back)),
            Step::Dirty(page) => {
                let known = &mut self.known[page as usize];
                if !self.cache.mark_dirty(u64::from(page)) && *known == Known::Accessed {
                    *known = Known::Remote;
                }
                None
            }
            Step::Free(page) => {
                self.cache.remove(u64::from(page));
                self.known[page as usize] = Known::Nothing;
                None
            }
        }
    }

    fn access(&mut self, page: u32, write: bool, back: &mut Vec<u32>) -> Met {
        if self.cache.touch(u64::from(page), write) {
            return Met::Hit;
        }
        let remote = self.known[page as usize] == Known::Remote;
        self.bring(page, write, back);
        if remote { Met::Fault { ahead: self.ahead(page, back) } } else { Met::Cold }
    }

    /// The pages behind it come too; how many.
    fn ahead(&mut self, page: u32, back: &mut Vec<u32>) -> u32 {
        for ahead in 1..=self.read_ahead {
            let next = (page + ahead) as usize;
            let follows = self.pages.get(next) == Some(&(self.pages[page as usize] + u64::from(ahead)));
            if !follows || self.known[next] != Known::Remote || self.cache.contains(next as u64) {
                return ahead - 1;
            }
            self.bring(next as u32, false, back);
        }
        self.read_ahead
    }

    fn bring(&mut self, page: u32, write: bool, back: &mut Vec<u32>) {
        let Local { cache, known, batch, evicted, .. } = self;
        cache.make_room(*batch, |Evicted { page, dirty }| {
            *evicted += 1;
            if dirty {
                back.push(page as u32);
                known[page as usize] = Known::Remote;
            }
        });
        cache.fault(u64::from(page), write);
        if known[page as usize] == Known::Nothing {
            known[page as usize] = Known::Accessed;
        }
    }
}
