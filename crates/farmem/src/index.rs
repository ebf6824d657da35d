//! The slot of a page in a cache: a table of slots, probed linearly.
//!
//! It stores no keys, because a slot knows its page, and never grows. A deletion moves back entries that were
//! probed past it (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R), so no tombstones
//! accumulate.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots by page.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    slots: Box<[u32]>,
    /// How far a hash is shifted to become a place.
    shift: u32,
}

impl Index {
    /// For so many slots.
    pub(crate) fn new(slots: u32) -> Index {
        let places = (slots as usize * 2).next_power_of_two().max(2);
        Index { slots: vec![NONE; places].into_boxed_slice(), shift: 64 - places.trailing_zeros() }
    }

    /// Neighbouring pages come to places far from one another (Fibonacci hashing, Knuth, section 6.4).
    fn home(&self, page: u64) -> usize {
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// Where the page is, or where it would be put.
    fn place(&self, page: u64, pages: &[u64]) -> usize {
        let mut place = self.home(page);
        while self.slots[place] != NONE && pages[self.slots[place] as usize] != page {
            place = self.after(place);
        }
        place
    }

    /// The page's slot, or [`NONE`]; `pages` has the page of each slot.
    pub(crate) fn get(&self, page: u64, pages: &[u64]) -> u32 {
        self.slots[self.place(page, pages)]
    }

    /// The page is in this slot from now on.
    pub(crate) fn insert(&mut self, page: u64, slot: u32, pages: &[u64]) {
        let place = self.place(page, pages);
        self.slots[place] = slot;
    }

    /// The page is gone; `pages` still has it.
    pub(crate) fn remove(&mut self, page: u64, pages: &[u64]) {
        let mut hole = self.place(page, pages);
        let mut next = hole;
        loop {
            next = self.after(next);
            let slot = self.slots[next];
            if slot == NONE {
                break;
            }
            // It may go back to the hole, unless its search begins behind that.
            let mask = self.slots.len() - 1;
            let from_home = next.wrapping_sub(self.home(pages[slot as usize])) & mask;
            if from_home >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = next;
            }
        }
        self.slots[hole] = NONE;
    }
}
