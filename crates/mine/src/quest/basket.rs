//! A transaction: patterns by weight, until it has its length.
//!
//! Section 2.4.3: a pattern loses items as long as a uniform number is above its confidence (the paper: below
//! its corruption level). One that does not fit is put in anyway in half of the cases and kept for the next
//! transaction in the other half. IBM's program: which items are lost is random; items that are there already
//! count once; after |L| patterns a transaction stays shorter; one without items is drawn again.

use super::length;
use super::patterns::Pool;
use crate::items::Item;
use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_pcg::Pcg64;

/// A transaction that is being filled.
pub(super) struct Basket<'a> {
    pool: &'a Pool,
    items: Vec<Item>,
    /// What did not fit into the transaction before.
    kept: Option<usize>,
    /// Items of a pattern, in any order.
    pattern: Vec<Item>,
}

impl<'a> Basket<'a> {
    pub(super) fn new(pool: &'a Pool) -> Self {
        Self { pool, items: Vec::new(), kept: None, pattern: Vec::new() }
    }

    /// The next transaction, of 1 + Poisson items or about so many; its items ascend.
    pub(super) fn fill(&mut self, rng: &mut Pcg64, more: Option<&Poisson<f64>>) -> &[Item] {
        loop {
            let wanted = length(more, rng);
            self.items.clear();
            for _ in 0..self.pool.patterns.len() {
                if self.items.len() >= wanted || !self.put(rng, wanted) {
                    break;
                }
            }
            if !self.items.is_empty() {
                self.items.sort_unstable();
                return &self.items;
            }
        }
    }

    /// Puts a pattern in; false when it is kept for the next transaction.
    fn put(&mut self, rng: &mut Pcg64, wanted: usize) -> bool {
        let number = self.kept.take().unwrap_or_else(|| self.pool.by_weight.sample(rng));
        let pattern = &self.pool.patterns[number];
        let mut left = pattern.items.len();
        while left > 0 && rng.random::<f64>() > pattern.confidence {
            left -= 1;
        }
        if self.items.len() + left > wanted && rng.random::<bool>() {
            self.kept = Some(number);
            return false;
        }
        self.pattern.clear();
        self.pattern.extend_from_slice(&pattern.items);
        for at in 0..left {
            let chosen = rng.random_range(at..self.pattern.len());
            self.pattern.swap(at, chosen);
            let item = self.pattern[at];
            if !self.items.contains(&item) {
                self.items.push(item);
            }
        }
        true
    }
}
