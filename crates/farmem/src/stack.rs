//! The stack of an LRU cache of any size at once (Mattson et al., IBM Systems Journal 9, 1970): pages by
//! their last access, and the depth of each.
//!
//! Depths are counted by a Fenwick tree over times of access (Bennett and Kruskal, IBM Journal of Research
//! 19, 1975). A freed page leaves a hole: a cache that is at least as deep has room there. A page that comes
//! to the top fills the topmost hole, as the cache fills its room. If the page came from below that hole, the
//! hole moves to its former place.

use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Pages by their last access.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Time of each page's last access; [`NONE`] of one that is not in the stack.
    last: Vec<u32>,
    /// What lies at each time: a page, a hole, or nothing any more.
    at: Vec<Place>,
    tree: Fenwick,
    /// Times of holes.
    holes: BinaryHeap<u32>,
    /// How many pages and holes.
    size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Page(u32),
    Hole,
    Nobody,
}

impl Stack {
    /// An empty one for pages with numbers below this.
    pub(crate) fn new(pages: usize) -> Stack {
        let times = (2 * pages).max(1024);
        Stack {
            last: vec![NONE; pages],
            at: Vec::with_capacity(times),
            tree: Fenwick(vec![0; times + 1]),
            holes: BinaryHeap::new(),
            size: 0,
        }
    }

    /// How deep the page lies, 1 at the top; nothing when it is not there.
    pub(crate) fn depth(&self, page: u32) -> Option<u32> {
        let time = self.last[page as usize];
        (time != NONE).then(|| self.size - self.tree.before(time))
    }

    /// The page comes to the top.
    pub(crate) fn raise(&mut self, page: u32) {
        let time = self.last[page as usize];
        let hole = self.holes.peek().copied().filter(|hole| time == NONE || *hole > time);
        if let Some(hole) = hole {
            self.holes.pop();
            self.clear(hole);
        }
        match (time, hole) {
            (NONE, _) => {}
            (time, Some(_)) => self.make_hole(time),
            (time, None) => self.clear(time),
        }
        if self.at.len() + 1 == self.tree.0.len() {
            self.last[page as usize] = NONE;
            self.renumber();
        }
        let now = self.at.len() as u32;
        self.at.push(Place::Page(page));
        self.tree.add(now, true);
        self.last[page as usize] = now;
        self.size += 1;
    }

    /// The page is gone; its place is empty.
    pub(crate) fn remove(&mut self, page: u32) {
        let time = std::mem::replace(&mut self.last[page as usize], NONE);
        if time != NONE {
            self.make_hole(time);
        }
    }

    fn make_hole(&mut self, time: u32) {
        self.at[time as usize] = Place::Hole;
        self.holes.push(time);
    }

    fn clear(&mut self, time: u32) {
        self.at[time as usize] = Place::Nobody;
        self.tree.add(time, false);
        self.size -= 1;
    }

    /// Times without anybody are left out: there are as many times as pages and holes then.
    fn renumber(&mut self) {
        self.at.retain(|place| *place != Place::Nobody);
        self.holes.clear();
        for (time, place) in self.at.iter().enumerate() {
            match place {
                Place::Page(page) => self.last[*page as usize] = time as u32,
                Place::Hole => self.holes.push(time as u32),
                Place::Nobody => {}
            }
        }
        self.tree.fill(self.at.len());
    }
}

/// How many places in use lie before a time (Fenwick, Software: Practice and Experience 24, 1994).
#[derive(Debug)]
struct Fenwick(Vec<u32>);

impl Fenwick {
    fn add(&mut self, time: u32, up: bool) {
        let mut at = time as usize + 1;
        while at < self.0.len() {
            self.0[at] = if up { self.0[at] + 1 } else { self.0[at] - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Strictly before.
    fn before(&self, time: u32) -> u32 {
        let (mut at, mut sum) = (time as usize, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }

    /// The first so many are in use, and no others.
    fn fill(&mut self, used: usize) {
        for at in 1..self.0.len() {
            let from = at & (at - 1);
            self.0[at] = (used.min(at) - used.min(from)) as u32;
        }
    }
}
