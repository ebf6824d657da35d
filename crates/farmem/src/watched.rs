//! Local memory with partly visible accesses: CLOCK and LRU for a page-fault handler, which does not see
//! accesses to mapped pages.
//!
//! The older pages are unmapped, though they stay local: an access to one is a fault, which fetches nothing
//! and waits for nothing. This is segmented FIFO (Turner & Levy, SIGMETRICS 1981), as VAX/VMS used it for
//! lack of an accessed bit. Pages that came or were used most recently are mapped, first in, first out; the
//! others are watched:
//!
//! - **LRU**: an accessed page is the newest again. Exact except for the order of accesses to mapped pages.
//! - **CLOCK**: an accessed page keeps its place, and is spared when its turn comes. Exact except for
//!   accesses to mapped pages.
//! - **FIFO**: nothing is watched; exact.
//!
//! The more pages are watched, the fewer fetches there are beyond the policy's own, and the more faults of
//! this kind. With LRU they recur constantly, with CLOCK once per round: half of the pages are watched with
//! LRU, three quarters with CLOCK. `tests/watched.rs` has the resulting figures.

use crate::cache::{Cache, Evicted, Policy};

/// An instruction can touch several pages.
const LEAST_REACH: u32 = 8;

/// The pages that are local.
#[derive(Clone, Debug)]
pub struct Watched {
    policy: Policy,
    /// Within reach, and not looked at.
    within: Cache,
    /// Older than those.
    older: Cache,
    /// How many are within reach at most, when nothing is on its way between both.
    reach: u32,
    /// How many there may be by now.
    limit: u32,
}

fn reach(capacity: u32, policy: Policy) -> u32 {
    let reach = match policy {
        Policy::Fifo => capacity,
        Policy::Clock => capacity.div_ceil(4),
        Policy::Lru => capacity.div_ceil(2),
    };
    reach.max(LEAST_REACH).min(capacity)
}

impl Watched {
    /// An empty one for so many pages.
    ///
    /// # Panics
    /// As [`Cache::new`].
    pub fn new(capacity: u32, policy: Policy) -> Watched {
        Watched::with_reach(capacity, policy, reach(capacity, policy))
    }

    /// It may hold so many from now on; where it holds more, it is full until they have left.
    pub fn limit(&mut self, pages: u32) {
        self.limit = pages.min(self.within.capacity());
        self.reach = reach(self.limit, self.policy);
    }

    /// With so many pages within reach.
    ///
    /// # Panics
    /// As [`Cache::new`].
    pub fn with_reach(capacity: u32, policy: Policy, reach: u32) -> Watched {
        let all = || Cache::new(capacity, Policy::Fifo);
        let older = if reach < capacity { all() } else { Cache::new(1, Policy::Fifo) };
        Watched { policy, within: all(), older, reach, limit: capacity }
    }

    /// How many pages it may hold.
    pub fn capacity(&self) -> u32 {
        self.limit
    }

    /// How many it holds.
    pub fn len(&self) -> u32 {
        self.within.len() + self.older.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a page has to leave before the next one comes.
    pub fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Whether the page is local.
    pub fn contains(&self, page: u64) -> bool {
        self.within.contains(page) || self.older.contains(page)
    }

    /// A page, which is not local, comes in; there is room.
    pub fn fault(&mut self, page: u64, write: bool) {
        self.within.fault(page, write);
    }

    /// The program accessed a page that is out of reach, where it is one; it is within reach from now on.
    pub fn access(&mut self, page: u64, write: bool) -> bool {
        match self.policy {
            Policy::Lru => {
                let Some(Evicted { dirty, .. }) = self.older.remove(page) else { return false };
                self.within.fault(page, dirty | write);
                true
            }
            Policy::Clock | Policy::Fifo => self.older.touch(page, write),
        }
    }

    /// The next page to be taken out of reach; it is watched from now on. None where enough are.
    pub fn watch(&mut self) -> Option<Evicted> {
        if self.within.len() <= self.reach {
            return None;
        }
        let next = self.within.evict()?;
        self.older.fault(next.page, next.dirty);
        Some(next)
    }

    /// The page can't be taken out of reach, or can't leave: it is the newest again.
    pub fn keep(&mut self, page: Evicted) {
        self.older.remove(page.page);
        self.within.fault(page.page, page.dirty);
    }

    /// Somebody saw that a page was written to.
    pub fn mark_dirty(&mut self, page: u64) {
        let _ = self.within.mark_dirty(page) || self.older.mark_dirty(page);
    }

    /// The page whose turn it is leaves; none when there is none. What was accessed since it was taken out of
    /// reach is spared.
    pub fn evict(&mut self) -> Option<Evicted> {
        while let Some((next, accessed)) = self.older.next() {
            self.older.remove(next.page);
            if !accessed {
                return Some(next);
            }
            self.within.fault(next.page, next.dirty);
        }
        self.within.evict()
    }

    /// The pages that leave next, as long as each lies behind the one before it, and the first behind `page`.
    /// None where an access may still spare them.
    pub fn following(&self, page: u64) -> impl Iterator<Item = Evicted> {
        let next = self.within.pages().zip(page + 1..);
        next.take_while(|(next, behind)| self.policy == Policy::Fifo && next.page == *behind)
            .map(|(next, _)| next)
    }

    /// The page leaves before its turn, or the program freed it; nothing where it is not local.
    pub fn remove(&mut self, page: u64) -> Option<Evicted> {
        self.within.remove(page).or_else(|| self.older.remove(page))
    }
}
