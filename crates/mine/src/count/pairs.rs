//! Pass 2: counts of pairs of codes in an array without keys, a row for each lower code and a column for each
//! higher one.
//!
//! Candidates of pass 2 are all pairs of large items, so none has to be looked up. Where the array is larger
//! than the memory that is allowed it comes in tiles of rows, and the transactions are looked at again for
//! each of them.

use crate::block::{Block, Word, Words, each};
use std::ops::Range;

/// Counts of the pairs whose lower code is in a range of rows.
#[derive(Clone, Debug)]
pub struct Triangle {
    codes: u32,
    rows: Range<u32>,
    /// Of a row: what is added to a column to get its counter. It may be negative, and wraps.
    bases: Vec<u32>,
    counts: Vec<u32>,
}

impl Triangle {
    /// For the pairs of `codes` codes whose lower one is in `rows`; all counts are 0.
    ///
    /// # Panics
    /// When there are 2^32 pairs or more: [`tiles`] gives smaller ranges.
    pub fn new(codes: u32, rows: Range<u32>) -> Self {
        let mut next = 0u32;
        let mut bases = Vec::with_capacity(rows.len());
        for row in rows.clone() {
            bases.push(next.wrapping_sub(row + 1));
            next = next.checked_add(codes - row - 1).expect("a tile has fewer than 2^32 pairs");
        }
        Self { codes, rows, bases, counts: vec![0; next as usize] }
    }

    /// Adds the pairs in the transactions of a block.
    pub fn add(&mut self, block: &Block) {
        match block.words() {
            Words::Narrow(words) => self.add_words(words, block.ends()),
            Words::Wide(words) => self.add_words(words, block.ends()),
        }
    }

    fn add_words<W: Word>(&mut self, words: &[W], ends: &[u32]) {
        let Range { start, end } = self.rows.clone();
        each(words, ends, |transaction| {
            let mut rest = transaction;
            if start > 0 {
                rest = &rest[rest.partition_point(|word| word.item() < start)..];
            }
            while let [row, columns @ ..] = rest {
                let row = row.item();
                if row >= end {
                    break;
                }
                let base = self.bases[(row - start) as usize];
                for column in columns {
                    self.counts[base.wrapping_add(column.item()) as usize] += 1;
                }
                rest = columns;
            }
        });
    }

    /// The counters, in the order of [`Self::pairs`].
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The counters, to be added to.
    pub fn counts_mut(&mut self) -> &mut [u32] {
        &mut self.counts
    }

    /// The pairs that it counts, in order.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        self.rows.clone().flat_map(|row| (row + 1..self.codes).map(move |column| [row, column]))
    }

    /// Pairs that are in at least `minimum` transactions, and in how many, in order.
    pub fn large(&self, minimum: u64) -> impl Iterator<Item = ([u32; 2], u64)> {
        let minimum = u32::try_from(minimum).unwrap_or(u32::MAX);
        let mut rest = &self.counts[..];
        self.rows.clone().flat_map(move |row| {
            let (counts, next) = rest.split_at((self.codes - row - 1) as usize);
            rest = next;
            let pairs = counts.iter().zip(row + 1..).filter(move |(count, _)| **count >= minimum);
            pairs.map(move |(count, column)| ([row, column], u64::from(*count)))
        })
    }
}

/// Pairs of `codes` codes whose lower one is below `row`.
pub fn pairs_before(codes: u32, row: u32) -> u64 {
    u64::from(row) * (2 * u64::from(codes)).saturating_sub(u64::from(row) + 1) / 2
}

/// Ranges of rows with at most `most` pairs and fewer than 2^32, at least a row; together all of `rows`.
pub fn tiles(codes: u32, rows: Range<u32>, most: u64) -> Vec<Range<u32>> {
    let most = most.min(u64::from(u32::MAX));
    let mut tiles = Vec::new();
    let mut start = rows.start;
    for row in rows.clone() {
        if row > start && pairs_before(codes, row + 1) - pairs_before(codes, start) > most {
            tiles.push(start..row);
            start = row;
        }
    }
    if start < rows.end {
        tiles.push(start..rows.end);
    }
    tiles
}
