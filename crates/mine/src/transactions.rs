//! Transactions in memory: items one after the other, in [blocks](crate::block).
//!
//! A transaction is never split over blocks. Blocks are also what a pass works on at a time. Where room is
//! limited, blocks that exceed it are on a [shelf](crate::shelf) and come back one by one. Not here: reading
//! them (`read`), counting what they hold (`count`).

use crate::block::{BLOCK_ITEMS, Block};
use crate::items::Item;
use crate::shelf::{Room, Shelved};
use std::borrow::Cow;
use std::ops::Range;

/// A node's transactions.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    held: Vec<Block>,
    /// Before the last of `held`, behind the others.
    shelved: Vec<Shelved>,
    room: Option<Room>,
    /// Bytes of the blocks of `held` that are closed.
    closed_bytes: usize,
    len: u64,
    items: u64,
}

/// A hash with one more number in it: against mistakes, not against people.
pub(crate) fn mix(hash: u64, number: u64) -> u64 {
    (hash.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Transactions {
    /// None yet, with so much room for them; without it all are held.
    #[must_use]
    pub fn within(room: Option<Room>) -> Transactions {
        Transactions { room, ..Transactions::default() }
    }

    /// The room that they have.
    pub fn room(&self) -> Option<&Room> {
        self.room.as_ref()
    }

    /// Appends a transaction whose items ascend.
    pub fn push(&mut self, transaction: &[Item]) {
        if self.held.last().is_none_or(|last| last.items() >= BLOCK_ITEMS) {
            self.shelve();
            self.held.push(Block::default());
        }
        let block = self.held.last_mut().expect("one is open");
        block.push(transaction);
        if block.items() >= BLOCK_ITEMS {
            block.shrink();
            self.closed_bytes += block.bytes();
        }
        self.len += 1;
        self.items += transaction.len() as u64;
    }

    /// The last block, which is closed, goes to the shelf when there is no room for it.
    fn shelve(&mut self) {
        let Some(room) = self.room.as_ref().filter(|room| self.closed_bytes > room.bytes) else { return };
        if let Some(block) = self.held.pop() {
            self.closed_bytes -= block.bytes();
            self.shelved.push(Shelved::put(&block, &*room.shelf));
        }
    }

    /// All of them, if there was room for them: in blocks, in the order in which they came.
    pub fn held(&self) -> Option<&[Block]> {
        self.shelved.is_empty().then_some(&self.held)
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.held.len() + self.shelved.len()
    }

    /// In blocks, in the order in which they came.
    pub fn blocks(&self) -> impl Iterator<Item = Cow<'_, Block>> {
        self.part(0..self.count())
    }

    /// Some of the blocks.
    pub fn part(&self, range: Range<usize>) -> impl Iterator<Item = Cow<'_, Block>> {
        range.map_while(|at| match self.find(at) {
            Ok(held) => Some(Cow::Borrowed(&self.held[held])),
            Err(shelved) => self.fetch(shelved).map(Cow::Owned),
        })
    }

    /// Transactions of some of the blocks.
    pub fn len_of(&self, range: Range<usize>) -> usize {
        let len = |at| match self.find(at) {
            Ok(held) => self.held[held].len(),
            Err(shelved) => self.shelved[shelved].len as usize,
        };
        range.map(len).sum()
    }

    /// Where a block is among those that are held, or those that are not.
    fn find(&self, at: usize) -> Result<usize, usize> {
        let before = if self.shelved.is_empty() { self.held.len() } else { self.held.len() - 1 };
        match at.checked_sub(before) {
            None => Ok(at),
            Some(behind) if behind < self.shelved.len() => Err(behind),
            Some(_) => Ok(at - self.shelved.len()),
        }
    }

    fn fetch(&self, shelved: usize) -> Option<Block> {
        self.shelved[shelved].get(&*self.room.as_ref()?.shelf)
    }

    /// The blocks themselves, so that memory can be given back one by one.
    pub fn into_blocks(mut self) -> impl Iterator<Item = Block> {
        (0..self.count()).map_while(move |at| match self.find(at) {
            Ok(held) => Some(std::mem::take(&mut self.held[held])),
            Err(shelved) => self.fetch(shelved),
        })
    }

    /// Number of transactions.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Items of all transactions together.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// A number that other transactions don't have, in whatever order they come.
    pub fn digest(&self) -> u64 {
        let (mut scratch, mut sum) = (Vec::new(), self.len);
        for block in self.blocks() {
            block.each(&mut scratch, |items| {
                let hash = items.iter().fold(items.len() as u64, |hash, item| mix(hash, u64::from(*item)));
                sum = sum.wrapping_add(mix(hash, hash >> 32));
            });
        }
        sum
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.held.iter().map(Block::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Word, Words, each};

    fn all(transactions: &Transactions) -> Vec<Vec<Item>> {
        let mut found = Vec::new();
        for block in transactions.blocks() {
            match block.words() {
                Words::Narrow(words) => {
                    each(words, block.ends(), |items| found.push(items.iter().map(|w| w.item()).collect()))
                }
                Words::Wide(words) => each(words, block.ends(), |items| found.push(items.to_vec())),
            }
        }
        found
    }

    #[test]
    fn a_block_becomes_wide_with_its_first_wide_item() {
        let mut transactions = Transactions::default();
        let given: [&[Item]; 4] = [&[1, 65_535], &[], &[3, 65_536], &[4]];
        given.iter().for_each(|items| transactions.push(items));
        assert_eq!(all(&transactions), given);
        assert_eq!((transactions.len(), transactions.items()), (4, 5));
        assert!(matches!(transactions.blocks().next().expect("one").words(), Words::Wide(_)));
    }

    #[test]
    fn a_block_is_closed_when_it_is_full_and_its_memory_is_what_it_holds() {
        let mut transactions = Transactions::default();
        let items: Vec<Item> = (0..1000).collect();
        (0..100).for_each(|_| transactions.push(&items));
        let blocks = transactions.held().expect("there is room");
        assert_eq!(blocks.iter().map(Block::len).collect::<Vec<_>>(), [66, 34]);
        assert_eq!(blocks[0].bytes(), 66_000 * 2 + 66 * 4);
    }
}
