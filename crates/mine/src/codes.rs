//! Codes: the large items of pass 1, numbered from 0 without gaps, in the order of the items.
//!
//! Transactions in codes hold nothing else, so later passes neither look at items that are not large nor at
//! transactions with fewer than two of them. Codes keep the order of items, so an itemset in order is so in
//! codes too.

use crate::block::{Block, Word, Words, each};
use crate::count::ItemCounts;
use crate::items::{Item, Level, NEAR, hash};
use crate::transactions::Transactions;
use hashbrown::HashTable;

/// No code.
const NONE: u32 = u32::MAX;

/// Large items and their codes.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    items: Vec<Item>,
    near: Vec<u32>,
    far: HashTable<(Item, u32)>,
}

impl Codes {
    /// Of ascending items.
    pub fn new(items: &[Item]) -> Self {
        debug_assert!(items.is_sorted_by(|a, b| a < b), "items ascend");
        let mut codes = Self { items: items.to_vec(), ..Self::default() };
        for (code, item) in items.iter().enumerate() {
            codes.set(*item, code as u32);
        }
        codes
    }

    /// Of the itemsets of one item each that are large.
    pub fn of(large: &Level) -> Self {
        Self::new(large.items())
    }

    fn set(&mut self, item: Item, code: u32) {
        let at = item as usize;
        if at < NEAR {
            if self.near.len() <= at {
                self.near.resize(at + 1, NONE);
            }
            self.near[at] = code;
        } else {
            self.far.insert_unique(hash(item), (item, code), |(item, _)| hash(*item));
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no item is large.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item of a code.
    pub fn item(&self, code: u32) -> Item {
        self.items[code as usize]
    }

    /// The code of an item, if it is large.
    #[inline]
    pub fn code(&self, item: Item) -> Option<u32> {
        let code = match self.near.get(item as usize) {
            Some(code) => *code,
            None => self.far.find(hash(item), |(other, _)| *other == item).map_or(NONE, |(_, code)| *code),
        };
        (code != NONE).then_some(code)
    }

    /// Makes items of the codes of a level.
    pub fn decode(&self, level: &mut Level) {
        level.replace_items(|code| self.item(code));
    }

    /// Makes codes of the items of a level.
    ///
    /// # Panics
    /// When it holds an item that is not large.
    pub fn encode_level(&self, level: &mut Level) {
        level.replace_items(|item| self.code(item).expect("its items are large"));
    }

    /// Transactions in codes, in the same room; those with fewer than two are left out. Memory of the items
    /// is given back block by block.
    pub fn encode(&self, transactions: Transactions) -> Transactions {
        let mut coded = Transactions::within(transactions.room().cloned());
        let mut scratch = Vec::new();
        for block in transactions.into_blocks() {
            self.encode_block(&block, &mut scratch, &mut coded);
        }
        coded
    }

    /// Appends a block in codes.
    pub fn encode_block(&self, block: &Block, scratch: &mut Vec<u32>, coded: &mut Transactions) {
        match block.words() {
            Words::Narrow(words) => self.encode_words(words, block.ends(), scratch, coded),
            Words::Wide(words) => self.encode_words(words, block.ends(), scratch, coded),
        }
    }

    fn encode_words<W: Word>(
        &self,
        words: &[W],
        ends: &[u32],
        scratch: &mut Vec<u32>,
        coded: &mut Transactions,
    ) {
        each(words, ends, |transaction| {
            scratch.resize(transaction.len().max(scratch.len()), 0);
            let mut length = 0;
            for word in transaction {
                // Written in any case, kept only when it has a code: no branch that is hard to predict.
                let code = self.code(word.item());
                scratch[length] = code.unwrap_or(NONE);
                length += usize::from(code.is_some());
            }
            if length > 1 {
                coded.push(&scratch[..length]);
            }
        });
    }
}

/// The items that at least `minimum` transactions hold.
pub fn large(counts: &ItemCounts, minimum: u64) -> Level {
    let mut large = Level::new(1);
    for (item, count) in counts.iter() {
        if count >= minimum {
            large.push(&[item], count);
        }
    }
    large
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_keep_their_large_items_as_codes() {
        let codes = Codes::new(&[3, 5, 70_000, 4_000_000_000]);
        let mut transactions = Transactions::default();
        for items in [&[1, 3, 5][..], &[5, 6], &[3, 70_000, 4_000_000_000], &[]] {
            transactions.push(items);
        }
        let coded = codes.encode(transactions);
        let block = coded.blocks().next().expect("one");
        assert_eq!(block.words(), &Words::Narrow(vec![0, 1, 0, 2, 3]));
        assert_eq!(block.ends(), [2, 5]);
        assert_eq!(codes.code(4_000_000_001), None);
        assert_eq!((codes.item(3), codes.code(4_000_000_000)), (4_000_000_000, Some(3)));
    }
}
