//! A program's memory accesses: a trace's steps, or generated ones.

use crate::steps::{Step, Steps};
use crate::trace::Trace;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Zipf};
use rand_pcg::Pcg64;
use std::sync::Arc;
use units::Time;

/// Steps of a trace, and when the program computed.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The steps.
    pub steps: Steps,
    /// Before which step the program computed, and for how long in nanoseconds.
    computed: Vec<(usize, u64)>,
}

impl Recorded {
    /// Those of a trace in pages of 2^`page_bits` bytes; nothing when these are smaller than the trace's or above 2 MiB.
    pub fn new(trace: &Trace<'_>, page_bits: u8) -> Option<Recorded> {
        let mut computed: Vec<(usize, u64)> = Vec::new();
        let steps = Steps::timed(trace, page_bits, |step, ns| match computed.last_mut() {
            _ if ns == 0 => {}
            Some((before, sum)) if *before == step => *sum = sum.saturating_add(ns),
            _ => computed.push((step, ns)),
        })?;
        Some(Recorded { steps, computed })
    }
}

/// Which page comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One after the other, again and again.
    Sequential,
    /// Any.
    Random,
    /// Some much more often than others: the page of rank k with a weight of k^-skew. Ranks lie anywhere.
    Zipf {
        /// Above 0.
        skew: f64,
    },
    /// A square matrix, row by row of the result: its rows above and below are read, and the result is written behind the matrix.
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
        let Shape::Convolution { rows, row, kernel, page } = self.shape else { return self.times };
        let (rows, half) = (u64::from(rows), u64::from(kernel / 2));
        // Rows above the first and below the last are not there.
        let missing = |distance: u64| 2 * distance.min(rows);
        let reads = rows * u64::from(kernel) - (1..=half).map(missing).sum::<u64>();
        self.times * row.div_ceil(page) * (reads + rows)
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

#[derive(Clone, Debug)]
enum Kind {
    Recorded { of: Arc<Recorded>, step: usize, computed: usize },
    Made { pattern: Pattern, random: Box<Pcg64>, ranks: Arc<[u32]>, done: u64, place: Place },
}

/// Steps, one by one.
#[derive(Clone, Debug)]
pub struct Source(Kind);

impl Source {
    /// A trace's.
    pub fn recorded(of: Arc<Recorded>) -> Source {
        Source(Kind::Recorded { of, step: 0, computed: 0 })
    }

    /// Made up, with a random stream of its own.
    pub fn made(pattern: Pattern, mut random: Pcg64) -> Source {
        let mut ranks: Vec<u32> = Vec::new();
        if let Shape::Zipf { .. } = pattern.shape {
            ranks.extend(0..pattern.pages);
            (1..ranks.len()).rev().for_each(|at| ranks.swap(at, random.random_range(0..=at)));
        }
        let (random, place) = (Box::new(random), Place::default());
        Source(Kind::Made { pattern, random, ranks: ranks.into(), done: 0, place })
    }

    /// The numbers of its pages, ascending, and how many of them remote memory has at first.
    pub fn pages(&self) -> (Arc<[u64]>, u32) {
        match &self.0 {
            Kind::Recorded { of, .. } => (of.steps.pages.as_slice().into(), of.steps.stored),
            Kind::Made { pattern, .. } => ((0..u64::from(pattern.pages)).collect(), pattern.stored()),
        }
    }

    /// What it takes with all memory local.
    pub fn all_local(&self) -> Time {
        match &self.0 {
            Kind::Recorded { of, .. } => Time::from_ns(1).saturating_mul(of.steps.computed_ns),
            Kind::Made { pattern, .. } => pattern.compute.saturating_mul(pattern.accesses()),
        }
    }

    /// The next step, and what the program computes before it is added to `computed`. Nothing at the end.
    pub fn next(&mut self, computed: &mut Time) -> Option<Step> {
        match &mut self.0 {
            Kind::Recorded { of, step, computed: at } => {
                while let Some((before, ns)) = of.computed.get(*at).filter(|(before, _)| before <= step) {
                    debug_assert!(before <= step);
                    *computed = computed.saturating_add(Time::from_ns(1).saturating_mul(*ns));
                    *at += 1;
                }
                let next = of.steps.steps.get(*step).copied();
                *step += 1;
                next
            }
            Kind::Made { pattern, random, ranks, done, place } => {
                let step = match pattern.shape {
                    Shape::Convolution { .. } => convolve(pattern, place)?,
                    _ if *done == pattern.times => return None,
                    shape => {
                        let page = pick(shape, pattern.pages, *done, ranks, random);
                        if random.random_bool(pattern.writes) { Step::Write(page) } else { Step::Read(page) }
                    }
                };
                *done += 1;
                *computed = computed.saturating_add(pattern.compute);
                Some(step)
            }
        }
    }
}

fn pick(shape: Shape, pages: u32, done: u64, ranks: &[u32], random: &mut dyn Rng) -> u32 {
    match shape {
        Shape::Zipf { skew } => {
            let rank = Zipf::new(f64::from(pages), skew).expect("it was checked").sample(random);
            ranks[rank as usize - 1]
        }
        Shape::Random => random.random_range(0..pages),
        Shape::Sequential | Shape::Convolution { .. } => (done % u64::from(pages)) as u32,
    }
}

fn convolve(pattern: &Pattern, place: &mut Place) -> Option<Step> {
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
        if place.row == rows {
            (place.row, place.time) = (0, place.time + 1);
        }
        return Some(Step::Write(pattern.pages / 2 + byte(of) as u32));
    }
}
