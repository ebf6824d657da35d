//! Pass 2: counts of pairs of codes in an array without keys, a row for each lower code and a column for each higher one.
//!
//! Candidates of pass 2 are all pairs of large items, so none has to be looked up. Where the array is larger than the
//! memory that is allowed it comes in tiles of rows, and the transactions are looked at again for each of them.

use crate::transactions::{Block, Word, Words, each};
use std::ops::Range;

/// Counts of the pairs whose lower code is in a range of rows.
#[derive(Clone, Debug)]
pub struct Triangle {
    rows: Range<u32>,
    codes: u32,
    /// A row's first counter less its first column, so that a column's code is the rest of the index.
    bases: Vec<u32>,
    counts: Vec<u32>,
}

impl Triangle {
    /// For pairs of `codes` codes whose lower one is in `rows`; all counts are 0.
    ///
    /// # Panics
    /// When there are more than 2^32 pairs: [`tiles`] gives smaller ranges.
    pub fn new(rows: Range<u32>, codes: u32) -> Self {
        let mut next = 0u32;
        let mut bases = Vec::with_capacity(rows.len());
        for row in rows.clone() {
            bases.push(next.wrapping_sub(row + 1));
            next = next.checked_add(columns(row, codes)).expect("a tile has fewer than 2^32 pairs");
        }
        Self { rows, codes, bases, counts: vec![0; next as usize] }
    }

    /// Adds the transactions of a block.
    pub fn add(&mut self, block: &Block) {
        match block.words() {
            Words::Narrow(words) => self.add_words(words, block.ends()),
            Words::Wide(words) => self.add_words(words, block.ends()),
        }
    }

    fn add_words<W: Word>(&mut self, words: &[W], ends: &[u32]) {
        let Range { start, end } = self.rows.clone();
        let whole = start == 0 && end + 1 >= self.codes;
        each(words, ends, |transaction| {
            let mut rest = transaction;
            if !whole {
                let first = rest.partition_point(|word| word.item() < start);
                rest = &rest[first..];
            }
            while let [row, columns @ ..] = rest {
                let row = row.item();
                if !whole && row >= end {
                    break;
                }
                let Some(base) = self.bases.get((row - start) as usize) else { break };
                for column in columns {
                    self.counts[base.wrapping_add(column.item()) as usize] += 1;
                }
                rest = columns;
            }
        });
    }

    /// Adds the counts of other transactions for the same rows.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!((&self.rows, self.codes), (&other.rows, other.codes), "counts of the same pairs");
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// Pairs that are in at least `minimum` transactions, and in how many, in order.
    pub fn large(&self, minimum: u64) -> impl Iterator<Item = ([u32; 2], u64)> {
        let minimum = u32::try_from(minimum).unwrap_or(u32::MAX);
        self.rows.clone().zip(&self.bases).flat_map(move |(row, base)| {
            let first = base.wrapping_add(row + 1) as usize;
            let counts = &self.counts[first..][..columns(row, self.codes) as usize];
            let pairs = counts.iter().zip(row + 1..).filter(move |(count, _)| **count >= minimum);
            pairs.map(move |(count, column)| ([row, column], u64::from(*count)))
        })
    }

    /// Pairs that it counts.
    pub fn pairs(&self) -> u64 {
        self.counts.len() as u64
    }
}

fn columns(row: u32, codes: u32) -> u32 {
    codes - 1 - row
}

/// Ranges of rows whose counts take at most `bytes` bytes each, at least a row; together all rows of `codes` codes.
pub fn tiles(codes: u32, bytes: usize) -> Vec<Range<u32>> {
    let room = (bytes / size_of::<u32>()).min(u32::MAX as usize) as u64;
    let mut tiles = Vec::new();
    let (mut start, mut used) = (0, 0);
    for row in 0..codes.saturating_sub(1) {
        let more = u64::from(columns(row, codes));
        if used + more > room && row > start {
            tiles.push(start..row);
            (start, used) = (row, 0);
        }
        used += more;
    }
    if codes > 1 {
        tiles.push(start..codes - 1);
    }
    tiles
}
