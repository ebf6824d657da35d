//! Accesses that are made up, those of a program's threads together or the share of one.

use crate::steps::Step;
use rand::RngExt;
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use units::Time;

/// The order of accesses that are made up one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, again and again.
    Sequential,
    /// Any.
    Random,
    /// Some much more often than others: the page of rank k with a weight of k^-skew, whose skew is above 0.
    /// Ranks lie anywhere.
    Zipf(f64),
}

/// What decides which page comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// An order, for as many accesses as [`Pattern::times`] says.
    Ordered(Order),
    /// A square matrix, row by row of the result: its rows above and below are read, and the result is
    /// written behind the matrix.
    Convolution {
        /// Rows.
        rows: u32,
        /// Bytes of a row.
        row: u64,
        /// Rows and columns of the kernel: odd.
        kernel: u32,
        /// Bytes of a page.
        page: u64,
    },
}

/// Accesses that are made up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// Which page comes next.
    pub shape: Shape,
    /// How many there are. A convolution has as many as it needs, two for each row and its neighbours.
    pub pages: u32,
    /// How many accesses; a convolution does with the whole matrix what it does so many times.
    pub times: u64,
    /// Part of the accesses that write; a convolution writes its result.
    pub writes: f64,
    /// What the program computes before each.
    pub compute: Time,
}

impl Pattern {
    /// A convolution of a matrix with so many rows, in pages of so many bytes.
    pub fn convolution(rows: u32, row: u64, kernel: u32, page: u64, times: u64, compute: Time) -> Pattern {
        let shape = Shape::Convolution { rows, row, kernel, page };
        let pages = 2 * (u64::from(rows) * row).div_ceil(page) as u32;
        Pattern { shape, pages, times, writes: 0.0, compute }
    }

    /// Pages that remote memory has before anything happens: all but the result of a convolution.
    pub fn stored(&self) -> u32 {
        if let Shape::Convolution { .. } = self.shape { self.pages / 2 } else { self.pages }
    }

    /// How many accesses there are in all.
    pub fn accesses(&self) -> u64 {
        self.of_part(0..self.parts())
    }

    /// What is shared among threads: accesses, or the rows of a convolution.
    pub fn parts(&self) -> u64 {
        if let Shape::Convolution { rows, .. } = self.shape { rows.into() } else { self.times }
    }

    /// How many accesses there are in these parts.
    fn of_part(&self, part: Range<u64>) -> u64 {
        let Shape::Convolution { rows, row, kernel, page } = self.shape else { return part.end - part.start };
        let (rows, half) = (u64::from(rows), u64::from(kernel / 2));
        // Rows above the first and below the last are not there.
        let reads = |of: u64| (of + half).min(rows - 1) + 1 - of.saturating_sub(half);
        self.times * row.div_ceil(page) * part.map(|of| reads(of) + 1).sum::<u64>()
    }
}

/// Where a convolution is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    time: u64,
    row: u64,
    /// Page of the row.
    part: u64,
    /// Neighbour, from the first to the last, then the result.
    at: u64,
}

/// The share that one of some threads has of so much.
fn share(all: u64, (thread, threads): (u64, u64)) -> Range<u64> {
    let begin = |thread| (u128::from(all) * u128::from(thread) / u128::from(threads)) as u64;
    begin(thread)..begin(thread + 1)
}

/// The accesses of a thread, which come from a random stream of its own.
#[derive(Clone, Debug)]
pub(super) struct Making {
    pattern: Pattern,
    /// Its share of what the program's threads do.
    part: Range<u64>,
    /// Pages in sequence, if they are: its share too.
    pages: Range<u64>,
    random: Box<Pcg64>,
    /// Which page has which rank: the same for all threads.
    ranks: Arc<[u32]>,
    done: u64,
    place: Place,
}

impl Making {
    /// A thread for each random stream: no more than there are parts, and pages.
    pub(super) fn threads(pattern: Pattern, mut random: Vec<Pcg64>) -> Vec<Making> {
        let mut ranks: Vec<u32> = Vec::new();
        if let (Shape::Ordered(Order::Zipf(_)), Some(first)) = (pattern.shape, random.first_mut()) {
            ranks.extend(0..pattern.pages);
            (1..ranks.len()).rev().for_each(|at| ranks.swap(at, first.random_range(0..=at)));
        }
        let (ranks, threads) = (Arc::<[u32]>::from(ranks), random.len() as u64);
        let of_thread = |(thread, random)| {
            let part = share(pattern.parts(), (thread, threads));
            let pages = share(pattern.pages.into(), (thread, threads));
            let place = Place { row: part.start, ..Place::default() };
            let (random, ranks) = (Box::new(random), Arc::clone(&ranks));
            Making { pattern, part, pages, random, ranks, done: 0, place }
        };
        (0..).zip(random).map(of_thread).collect()
    }

    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// How many accesses the thread has.
    pub(super) fn accesses(&self) -> u64 {
        self.pattern.of_part(self.part.clone())
    }

    /// The next access, and what is computed before it.
    pub(super) fn next(&mut self, computed: &mut Time) -> Option<Step> {
        let step = match self.pattern.shape {
            Shape::Convolution { .. } => self.convolve()?,
            Shape::Ordered(_) if self.done == self.part.end - self.part.start => return None,
            Shape::Ordered(order) => {
                let page = self.pick(order);
                let writes = self.random.random_bool(self.pattern.writes);
                if writes { Step::Write(page) } else { Step::Read(page) }
            }
        };
        self.done += 1;
        *computed = computed.saturating_add(self.pattern.compute);
        Some(step)
    }

    fn pick(&mut self, order: Order) -> u32 {
        let pages = self.pattern.pages;
        match order {
            Order::Zipf(skew) => {
                let rank =
                    Zipf::new(f64::from(pages), skew).expect("it was checked").sample(&mut self.random);
                self.ranks[rank as usize - 1]
            }
            Order::Random => self.random.random_range(0..pages),
            Order::Sequential => (self.pages.start + self.done % (self.pages.end - self.pages.start)) as u32,
        }
    }

    fn convolve(&mut self) -> Option<Step> {
        let Making { pattern, part: share, place, .. } = self;
        let Shape::Convolution { rows, row, kernel, page } = pattern.shape else { return None };
        let (rows, half) = (u64::from(rows), u64::from(kernel / 2));
        loop {
            if place.time == pattern.times {
                return None;
            }
            let Place { row: of, part, at, .. } = *place;
            let byte = |of: u64| (of * row + part * page) / page;
            if at < u64::from(kernel) {
                place.at += 1;
                // The rows above and below, as far as they are there.
                if let Some(read) = (of + at).checked_sub(half).filter(|read| *read < rows) {
                    return Some(Step::Read(byte(read) as u32));
                }
                continue;
            }
            place.at = 0;
            place.part += 1;
            if place.part == row.div_ceil(page) {
                (place.part, place.row) = (0, of + 1);
            }
            if place.row == share.end {
                (place.row, place.time) = (share.start, place.time + 1);
            }
            return Some(Step::Write(pattern.pages / 2 + byte(of) as u32));
        }
    }
}
