//! A block of transactions, as narrow as its items allow: of items below 65,536 each takes two bytes, so that
//! a share of transactions is smaller than the text that it was read from.

use crate::items::Item;

/// A block is closed when it holds so many items: both halves of it fit a second-level cache.
pub const BLOCK_ITEMS: usize = 1 << 16;

/// The words of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// All items are below 65,536.
    Narrow(Vec<u16>),
    /// Any items.
    Wide(Vec<u32>),
}

/// Some transactions; the items of each ascend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    words: Words,
    ends: Vec<u32>,
}

/// A word that an item is kept in.
pub trait Word: Copy + Ord + Send + Sync + 'static {
    /// The item in it.
    fn item(self) -> Item;
    /// As an index into tables of items.
    fn index(self) -> usize {
        self.item() as usize
    }
}

impl Word for u16 {
    #[inline(always)]
    fn item(self) -> Item {
        Item::from(self)
    }
}

impl Word for u32 {
    #[inline(always)]
    fn item(self) -> Item {
        self
    }
}

impl Default for Block {
    fn default() -> Self {
        Self { words: Words::Narrow(Vec::new()), ends: Vec::new() }
    }
}

impl Block {
    pub(crate) fn new(words: Words, ends: Vec<u32>) -> Block {
        Block { words, ends }
    }

    /// The words of all its transactions, one transaction after the other.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Where each transaction ends in [`Self::words`].
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Items of all transactions together.
    pub fn items(&self) -> usize {
        match &self.words {
            Words::Narrow(words) => words.len(),
            Words::Wide(words) => words.len(),
        }
    }

    /// Calls `visit` with the items of each transaction; narrow ones are widened in `scratch`.
    pub fn each(&self, scratch: &mut Vec<Item>, mut visit: impl FnMut(&[Item])) {
        match &self.words {
            Words::Narrow(words) => each(words, &self.ends, |items| {
                scratch.clear();
                scratch.extend(items.iter().map(|word| word.item()));
                visit(scratch);
            }),
            Words::Wide(words) => each(words, &self.ends, |items| visit(items)),
        }
    }

    /// Appends a transaction whose items ascend.
    pub fn push(&mut self, transaction: &[Item]) {
        debug_assert!(transaction.is_sorted_by(|a, b| a < b), "items of a transaction ascend");
        match &mut self.words {
            Words::Wide(words) => words.extend_from_slice(transaction),
            Words::Narrow(words) => {
                if transaction.last().is_none_or(|largest| *largest <= Item::from(u16::MAX)) {
                    words.extend(transaction.iter().map(|item| *item as u16));
                } else {
                    let mut wide: Vec<u32> = words.iter().copied().map(Item::from).collect();
                    wide.extend_from_slice(transaction);
                    self.words = Words::Wide(wide);
                }
            }
        }
        let end = u32::try_from(self.items()).expect("a block is far from 2^32 items");
        self.ends.push(end);
    }

    pub(crate) fn shrink(&mut self) {
        match &mut self.words {
            Words::Narrow(words) => words.shrink_to_fit(),
            Words::Wide(words) => words.shrink_to_fit(),
        }
        self.ends.shrink_to_fit();
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        let words = match &self.words {
            Words::Narrow(words) => words.capacity() * size_of::<u16>(),
            Words::Wide(words) => words.capacity() * size_of::<u32>(),
        };
        words + self.ends.capacity() * size_of::<u32>()
    }
}

/// Calls `visit` with each transaction of a slice of words.
#[inline(always)]
pub fn each<W>(words: &[W], ends: &[u32], mut visit: impl FnMut(&[W])) {
    let mut start = 0;
    for end in ends {
        let end = *end as usize;
        visit(&words[start..end]);
        start = end;
    }
}
