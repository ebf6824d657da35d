//! Pass 1: how many transactions hold each item.

use crate::block::{Block, Word, Words};
use crate::items::{Item, NEAR, hash};
use hashbrown::HashTable;

/// Counts of items: an array for small numbers, a table for others.
#[derive(Clone, Debug, Default)]
pub struct ItemCounts {
    near: Vec<u32>,
    far: HashTable<(Item, u32)>,
}

impl ItemCounts {
    /// Adds the transactions of a block.
    pub fn add(&mut self, block: &Block) {
        match block.words() {
            Words::Narrow(words) => self.add_words(words),
            Words::Wide(words) => self.add_words(words),
        }
    }

    fn add_words<W: Word>(&mut self, words: &[W]) {
        let largest = words.iter().map(|word| word.index()).filter(|index| *index < NEAR).max();
        let room = largest.map_or(0, |largest| largest + 1);
        if self.near.len() < room {
            self.near.resize(room, 0);
        }
        for word in words {
            match self.near.get_mut(word.index()) {
                Some(count) => *count += 1,
                None => self.add_far(word.item(), 1),
            }
        }
    }

    fn add_far(&mut self, item: Item, count: u32) {
        self.far
            .entry(hash(item), |(other, _)| *other == item, |(other, _)| hash(*other))
            .or_insert((item, 0))
            .get_mut()
            .1 += count;
    }

    /// Adds the counts of other transactions.
    pub fn merge(&mut self, other: &Self) {
        let room = self.near.len().max(other.near.len());
        self.near.resize(room, 0);
        self.near.iter_mut().zip(&other.near).for_each(|(count, more)| *count += more);
        other.far.iter().for_each(|(item, count)| self.add_far(*item, *count));
    }

    /// Items that occur and their counts, by item.
    pub fn iter(&self) -> impl Iterator<Item = (Item, u64)> {
        let mut far: Vec<_> = self.far.iter().map(|(item, count)| (*item, u64::from(*count))).collect();
        far.sort_unstable();
        let near = self.near.iter().enumerate().filter(|(_, count)| **count > 0);
        near.map(|(item, count)| (item as Item, u64::from(*count))).chain(far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::Transactions;

    #[test]
    fn items_of_any_size_are_counted_and_come_in_order() {
        let mut transactions = Transactions::default();
        for items in [&[7, 4_000_000_000][..], &[7, 8, 5_000_000], &[4_000_000_000]] {
            transactions.push(items);
        }
        let mut counts = ItemCounts::default();
        transactions.blocks().for_each(|block| counts.add(&block));
        let found: Vec<_> = counts.iter().collect();
        assert_eq!(found, [(7, 2), (8, 1), (5_000_000, 1), (4_000_000_000, 2)]);
    }
}
