//! Items, and itemsets of one length beside their counts.
//!
//! Itemsets are ordered by length, then lexicographically by item. Results come in this order, so that they
//! do not depend on how many nodes found them. Not here: what is frequent.
//!
//! Terms: R. Agrawal and R. Srikant, "Fast algorithms for mining association rules", VLDB 1994, section 1.

use serde::{Deserialize, Serialize};

/// What a transaction holds, by number.
pub type Item = u32;

/// Items below this number are looked up in an array.
pub(crate) const NEAR: usize = 1 << 22;

/// The hash of an item, for tables of items (Fibonacci hashing: D. Knuth, The Art of Computer Programming 3,
/// 6.4).
#[inline]
pub(crate) fn hash(item: Item) -> u64 {
    u64::from(item).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

/// Itemsets of one length and how many transactions hold each of them; items ascend in an itemset, and
/// itemsets are in lexicographic order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    length: usize,
    items: Vec<Item>,
    counts: Vec<u64>,
}

impl Level {
    /// No itemset of `length` items yet.
    ///
    /// # Panics
    /// When `length` is 0.
    pub fn new(length: usize) -> Self {
        assert!(length > 0, "an itemset has items");
        Self { length, ..Self::default() }
    }

    /// Itemsets of `length` items, one after the other, with their counts; nothing when they are out of
    /// order, or there is not a count for each.
    pub(crate) fn new_of(length: usize, items: Vec<Item>, counts: Vec<u64>) -> Option<Self> {
        let level = Self { length, items, counts };
        let whole = length > 0 && Some(level.items.len()) == level.len().checked_mul(length);
        let ascend = |itemset: &[Item]| itemset.is_sorted_by(|a, b| a < b);
        let sound = whole
            && level.items.chunks_exact(length).all(ascend)
            && level.items.chunks_exact(length).is_sorted_by(|a, b| a < b);
        sound.then_some(level)
    }

    /// Appends an itemset that is behind all others.
    ///
    /// # Panics
    /// When it has another length; in debug builds, when it is out of order.
    pub fn push(&mut self, itemset: &[Item], count: u64) {
        assert_eq!(itemset.len(), self.length, "a level has itemsets of one length");
        debug_assert!(itemset.is_sorted_by(|a, b| a < b), "items of an itemset ascend");
        debug_assert!(self.last().is_none_or(|last| last < itemset), "itemsets are in order");
        self.items.extend_from_slice(itemset);
        self.counts.push(count);
    }

    /// Itemsets of `length` items in any order, brought into order; one that comes twice is there once.
    pub fn sorted(length: usize, items: &[Item], counts: &[u64]) -> Self {
        let mut level = Self::new(length);
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        let itemset = |index: u32| &items[index as usize * length..][..length];
        order.sort_unstable_by(|a, b| itemset(*a).cmp(itemset(*b)));
        level.items.reserve_exact(items.len());
        level.counts.reserve_exact(counts.len());
        for index in order {
            if level.last() != Some(itemset(index)) {
                level.push(itemset(index), counts[index as usize]);
            }
        }
        level
    }

    /// Items of each itemset.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Number of itemsets.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Itemset `index`.
    pub fn itemset(&self, index: usize) -> &[Item] {
        &self.items[index * self.length..][..self.length]
    }

    /// Transactions that hold itemset `index`.
    pub fn count(&self, index: usize) -> u64 {
        self.counts[index]
    }

    /// Where an itemset is.
    pub fn find(&self, itemset: &[Item]) -> Option<usize> {
        let mut from = 0;
        let mut to = self.len();
        while from < to {
            let middle = from.midpoint(to);
            match self.itemset(middle).cmp(itemset) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Itemsets and their counts, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[Item], u64)> + Clone {
        self.items.chunks_exact(self.length.max(1)).zip(self.counts.iter().copied())
    }

    /// The items of all itemsets, one itemset after the other.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The count of each itemset.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Puts others in the place of its items, in the same order.
    pub(crate) fn replace_items(&mut self, other: impl Fn(Item) -> Item) {
        self.items.iter_mut().for_each(|item| *item = other(*item));
        debug_assert!(self.items.chunks_exact(self.length.max(1)).is_sorted_by(|a, b| a < b));
    }

    /// Leaves the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.counts.truncate(len);
        self.items.truncate(len * self.length);
    }

    /// Bytes of memory that an itemset takes.
    pub(crate) fn bytes_each(&self) -> usize {
        self.length * size_of::<Item>() + size_of::<u64>()
    }

    /// Bytes of memory that its itemsets take.
    pub fn bytes(&self) -> usize {
        self.len() * self.bytes_each()
    }

    pub(crate) fn last(&self) -> Option<&[Item]> {
        self.len().checked_sub(1).map(|index| self.itemset(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itemsets_come_in_lexicographic_order_and_are_found() {
        let level = Level::sorted(2, &[2, 9, 1, 30, 1, 4, 2, 9], &[5, 6, 7, 5]);
        let found: Vec<_> = level.iter().collect();
        assert_eq!(found, [(&[1, 4][..], 7), (&[1, 30], 6), (&[2, 9], 5)]);
        assert_eq!(level.find(&[1, 30]), Some(1));
        assert_eq!(level.find(&[1, 31]), None);
        assert!(Level::new(3).is_empty());
    }
}
