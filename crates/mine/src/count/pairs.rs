//! Pass 2: counts of pairs of codes in an array without keys, a row for each lower code and a column for each higher one.
//!
//! Candidates of pass 2 are all pairs of large items, so none has to be looked up. A node of several has the columns that it
//! owns (`candidate::Owners`). Where the array is larger than the memory that is allowed it comes in tiles of rows, and the
//! transactions are looked at again for each of them.

use crate::candidate::Owners;
use crate::transactions::{Block, Word, Words, each};
use std::ops::Range;

/// Counts of the pairs of an owner whose lower code is in a range of rows.
#[derive(Clone, Debug)]
pub struct Triangle<'a> {
    owners: &'a Owners,
    owner: u32,
    rows: Range<u32>,
    /// Of a row: what is added to a column's quotient to get its counter. It may be negative, and wraps.
    bases: Vec<u32>,
    counts: Vec<u32>,
}

impl<'a> Triangle<'a> {
    /// For the pairs of `owner` whose lower code is in `rows`; all counts are 0.
    ///
    /// # Panics
    /// When there are 2^32 pairs or more: [`tiles`] gives smaller ranges.
    pub fn new(owners: &'a Owners, owner: u32, rows: Range<u32>) -> Self {
        assert!(owner < owners.nodes(), "a node owns it");
        let mut next = 0u32;
        let mut bases = Vec::with_capacity(rows.len());
        for row in rows.clone() {
            bases.push(next.wrapping_sub(owners.first(owner, row) / owners.nodes()));
            next = next.checked_add(owners.columns(owner, row)).expect("a tile has fewer than 2^32 pairs");
        }
        Self { owners, owner, rows, bases, counts: vec![0; next as usize] }
    }

    /// Adds the owner's pairs in the transactions of a block.
    pub fn add(&mut self, block: &Block) {
        match block.words() {
            Words::Narrow(words) => self.add_words(words, block.ends()),
            Words::Wide(words) => self.add_words(words, block.ends()),
        }
    }

    fn add_words<W: Word>(&mut self, words: &[W], ends: &[u32]) {
        let Range { start, end } = self.rows.clone();
        let alone = self.owners.nodes() == 1;
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
                if alone {
                    for column in columns {
                        self.counts[base.wrapping_add(column.item()) as usize] += 1;
                    }
                } else {
                    self.add_owned(row, base, columns);
                }
                rest = columns;
            }
        });
    }

    #[inline(always)]
    fn add_owned<W: Word>(&mut self, row: u32, base: u32, columns: &[W]) {
        let wanted = self.owners.residue(self.owner, row);
        let (residues, quotients) = (self.owners.residues(), self.owners.quotients());
        for column in columns {
            if residues[column.index()] == wanted {
                self.counts[base.wrapping_add(quotients[column.index()]) as usize] += 1;
            }
        }
    }

    /// Where a pair's counter is; nothing for a pair that somebody else owns, or of other rows.
    #[inline]
    pub fn index(&self, low: u32, high: u32) -> Option<usize> {
        let ours = low < high && high < self.owners.codes() && self.rows.contains(&low);
        if !ours || self.owners.of_pair(low, high) != self.owner {
            return None;
        }
        let base = self.bases[(low - self.rows.start) as usize];
        Some(base.wrapping_add(self.owners.quotients()[high as usize]) as usize)
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
        self.rows.clone().flat_map(move |row| {
            let columns = self.owners.first(self.owner, row)..self.owners.codes();
            columns.step_by(self.owners.nodes() as usize).map(move |column| [row, column])
        })
    }

    /// Pairs that are in at least `minimum` transactions, and in how many, in order.
    pub fn large(&self, minimum: u64) -> impl Iterator<Item = ([u32; 2], u64)> {
        let minimum = u32::try_from(minimum).unwrap_or(u32::MAX);
        let nodes = self.owners.nodes();
        let mut rest = &self.counts[..];
        self.rows.clone().flat_map(move |row| {
            let (counts, next) = rest.split_at(self.owners.columns(self.owner, row) as usize);
            rest = next;
            let columns = (self.owners.first(self.owner, row)..).step_by(nodes as usize);
            let pairs = counts.iter().zip(columns).filter(move |(count, _)| **count >= minimum);
            pairs.map(move |(count, column)| ([row, column], u64::from(*count)))
        })
    }
}

/// Ranges of rows of which the counts of an owner take at most `bytes` bytes, at least a row; together all rows.
pub fn tiles(owners: &Owners, owner: u32, bytes: usize) -> Vec<Range<u32>> {
    let room = (bytes / size_of::<u32>()).min(u32::MAX as usize) as u64;
    let rows = owners.codes().saturating_sub(1);
    let mut tiles = Vec::new();
    let (mut start, mut used) = (0, 0);
    for row in 0..rows {
        let more = u64::from(owners.columns(owner, row));
        if used + more > room && row > start {
            tiles.push(start..row);
            (start, used) = (row, 0);
        }
        used += more;
    }
    if rows > 0 {
        tiles.push(start..rows);
    }
    tiles
}
