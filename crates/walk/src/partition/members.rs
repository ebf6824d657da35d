//! A set of node numbers that also numbers its members: one bit a node of the graph and half a bit for the counts.
//!
//! Rank on bit vectors: G. Jacobson, "Space-efficient static trees and graphs", FOCS 1989.

/// The set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    words: Vec<u64>,
    /// Members before each word.
    before: Vec<u32>,
    count: u32,
}

impl Members {
    /// The numbers below `nodes` that `contains` says.
    pub(super) fn new(nodes: u32, contains: impl Fn(u32) -> bool) -> Self {
        let mut words = vec![0u64; nodes.div_ceil(64) as usize];
        for node in (0..nodes).filter(|&node| contains(node)) {
            words[(node / 64) as usize] |= 1 << (node % 64);
        }
        Self::from_words(words)
    }

    /// The numbers whose bits are set.
    pub(super) fn from_words(words: Vec<u64>) -> Self {
        let mut count = 0;
        let ranks = words.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        Self { before: ranks.collect(), words, count }
    }

    /// How many members there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// How many members are smaller, if `node` is one.
    #[inline]
    pub(super) fn index(&self, node: u32) -> Option<u32> {
        let at = (node / 64) as usize;
        let (word, bit) = (*self.words.get(at)?, 1 << (node % 64));
        (word & bit != 0).then(|| self.before[at] + (word & (bit - 1)).count_ones())
    }

    /// The members, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.words).flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.before.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_numbered_in_order() {
        let members = Members::new(1000, |node| node % 7 == 3);
        assert_eq!(members.count(), 143);
        assert!((0..).zip(members.iter()).all(|(index, node)| members.index(node) == Some(index)));
        assert!([0, 4, 999, 1000, u32::MAX].iter().all(|&node| members.index(node).is_none()));
    }
}
