//! Local memory as a cache of remote memory (document 004, slides 6 and 7): which pages it holds, and which
//! one leaves.
//!
//! Pages are numbers (an address divided by the page size, from 4 KiB to 2 MiB, on which nothing here
//! depends). An access is [`Cache::touch`], and if that misses, [`Cache::fault`]. Both take constant time
//! (CLOCK on average) and allocate nothing. Not here: page contents, and the cost of their exchange
//! ([`crate::cost`]).
//!
//! **What each policy needs to know.** FIFO needs faults only, which is all that a userfaultfd handler sees,
//! so it is exact there. CLOCK needs to know whether a page was accessed since the hand passed it, one bit. A
//! handler that sees no hits can unmap a page when the hand passes and call `touch` at the next fault. LRU
//! needs the order of all accesses. From faults alone it is FIFO, and with pages unmapped now and then it is
//! between FIFO and LRU. Dirty bits need the first write to a page that was fetched for a read: write
//! protection, or every page counts as dirty.
//!
//! CLOCK is implemented as FIFO with a second chance, which chooses the same victims (Corbató 1968;
//! Tanenbaum, Modern Operating Systems, section 3.4). A page enters without its bit, since the faulting
//! access is not a second one.

use crate::index::{Index, NONE};
use serde::{Deserialize, Serialize};

/// Which page leaves when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The one that came first.
    Fifo,
    /// The one that came first among those not accessed since they were looked at last.
    Clock,
    /// The one whose last access is the longest ago.
    Lru,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 3] = [Policy::Fifo, Policy::Clock, Policy::Lru];

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Fifo => "fifo",
            Policy::Clock => "clock",
            Policy::Lru => "lru",
        }
    }
}

/// A page that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its number.
    pub page: u64,
    /// Whether it was written to since it came: remote memory has to be told.
    pub dirty: bool,
}

const DIRTY: u8 = 1;
const ACCESSED: u8 = 2;

/// A slot's neighbours in the order of leaving.
#[derive(Clone, Copy, Debug)]
struct Links {
    older: u32,
    newer: u32,
}

/// The pages that are local.
#[derive(Clone, Debug)]
pub struct Cache {
    policy: Policy,
    index: Index,
    /// Page of each slot.
    pages: Box<[u64]>,
    bits: Box<[u8]>,
    /// Neighbours of each slot in use; of one that is free, `newer` is the next free one.
    links: Box<[Links]>,
    /// The next to leave, and the last.
    oldest: u32,
    newest: u32,
    free: u32,
    used: u32,
}

impl Cache {
    /// An empty one for so many pages, which it takes memory for at once: 25 to 33 bytes each.
    ///
    /// # Panics
    /// When that is none, or 2³¹ and more.
    pub fn new(capacity: u32, policy: Policy) -> Cache {
        assert!((1..1 << 31).contains(&capacity), "a cache has from 1 to 2^31 - 1 pages");
        let slots = capacity as usize;
        let links = (1..=capacity)
            .map(|next| Links { older: NONE, newer: if next == capacity { NONE } else { next } })
            .collect();
        Cache {
            policy,
            index: Index::new(capacity),
            pages: vec![0; slots].into_boxed_slice(),
            bits: vec![0; slots].into_boxed_slice(),
            links,
            oldest: NONE,
            newest: NONE,
            free: 0,
            used: 0,
        }
    }

    /// How many pages it can hold.
    pub fn capacity(&self) -> u32 {
        self.pages.len() as u32
    }

    /// How many it holds.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether the next fault has to evict.
    pub fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Whether the page is local; this is no access.
    pub fn contains(&self, page: u64) -> bool {
        self.index.get(page, &self.pages) != NONE
    }

    /// An access: true when the page is local. Otherwise nothing has changed, and [`Cache::fault`] brings it
    /// in.
    pub fn touch(&mut self, page: u64, write: bool) -> bool {
        let slot = self.index.get(page, &self.pages);
        if slot == NONE {
            return false;
        }
        self.bits[slot as usize] |= ACCESSED | if write { DIRTY } else { 0 };
        if self.policy == Policy::Lru && slot != self.newest {
            self.unlink(slot);
            self.link(slot);
        }
        true
    }

    /// Somebody saw that the page was written to, as a kernel that tracks writes says it late; this is no
    /// access. Whether it is local.
    pub fn mark_dirty(&mut self, page: u64) -> bool {
        let slot = self.index.get(page, &self.pages);
        if slot != NONE {
            self.bits[slot as usize] |= DIRTY;
        }
        slot != NONE
    }

    /// The page, which is not local, comes in. Where there is no room, another one leaves first.
    pub fn fault(&mut self, page: u64, write: bool) -> Option<Evicted> {
        debug_assert!(!self.contains(page), "a page that is local does not fault");
        let evicted = if self.is_full() { self.evict() } else { None };
        let slot = self.free;
        self.free = self.links[slot as usize].newer;
        self.pages[slot as usize] = page;
        self.bits[slot as usize] = if write { DIRTY } else { 0 };
        self.index.insert(page, slot, &self.pages);
        self.link(slot);
        self.used += 1;
        evicted
    }

    /// The page whose turn it is leaves; none when there is none.
    pub fn evict(&mut self) -> Option<Evicted> {
        if self.is_empty() {
            return None;
        }
        let mut slot = self.oldest;
        while self.policy == Policy::Clock && self.bits[slot as usize] & ACCESSED != 0 {
            self.bits[slot as usize] &= !ACCESSED;
            self.unlink(slot);
            self.link(slot);
            slot = self.oldest;
        }
        Some(self.release(slot))
    }

    /// The page that came first, or was accessed least lately with LRU, and whether it was accessed since; it
    /// stays.
    pub fn next(&self) -> Option<(Evicted, bool)> {
        (self.oldest != NONE).then(|| (self.at(self.oldest), self.bits[self.oldest as usize] & ACCESSED != 0))
    }

    /// Where the cache is full, so many pages leave at once; the cache then holds fewer pages than it can for
    /// a while.
    pub fn make_room(&mut self, pages: u32, mut each: impl FnMut(Evicted)) {
        if self.is_full() {
            (0..pages).map_while(|_| self.evict()).for_each(&mut each);
        }
    }

    /// The program freed the page: nobody needs it. Whether it was dirty; none when it was not local.
    pub fn remove(&mut self, page: u64) -> Option<Evicted> {
        let slot = self.index.get(page, &self.pages);
        (slot != NONE).then(|| self.release(slot))
    }

    /// Its pages, the next to leave first (with CLOCK, as the bits are not looked at).
    pub fn pages(&self) -> impl Iterator<Item = Evicted> + '_ {
        let next = |slot: &u32| Some(self.links[*slot as usize].newer).filter(|slot| *slot != NONE);
        std::iter::successors(Some(self.oldest).filter(|slot| *slot != NONE), next).map(|slot| self.at(slot))
    }

    fn at(&self, slot: u32) -> Evicted {
        Evicted { page: self.pages[slot as usize], dirty: self.bits[slot as usize] & DIRTY != 0 }
    }

    fn release(&mut self, slot: u32) -> Evicted {
        let gone = self.at(slot);
        self.index.remove(gone.page, &self.pages);
        self.unlink(slot);
        self.links[slot as usize].newer = self.free;
        self.free = slot;
        self.used -= 1;
        gone
    }

    /// The slot is the last to leave.
    fn link(&mut self, slot: u32) {
        self.links[slot as usize] = Links { older: self.newest, newer: NONE };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Links { older, newer } = self.links[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
    }
}
