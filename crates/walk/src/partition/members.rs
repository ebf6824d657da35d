//! A set of node numbers that also numbers its members: one bit a node of the graph and half a bit for the
//! counts.
//!
//! Rank on bit vectors: G. Jacobson, "Space-efficient static trees and graphs", FOCS 1989.

/// The set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members {
    words: Vec<u64>,
    /// Members before each word.
    before: Vec<u32>,
    count: u32,
    /// The first one, if they follow one another: then there is nothing to look up.
    first: Option<u32>,
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

    /// The numbers in `numbers`.
    pub(crate) fn of(numbers: &[u32]) -> Self {
        let nodes = numbers.iter().max().map_or(0, |last| u64::from(*last) + 1);
        let mut words = vec![0u64; nodes.div_ceil(64) as usize];
        numbers.iter().for_each(|node| words[(node / 64) as usize] |= 1 << (node % 64));
        Self::from_words(words)
    }

    /// The numbers whose bits are set.
    pub(super) fn from_words(words: Vec<u64>) -> Self {
        let mut count = 0;
        let ranks = words.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        let mut members = Self { before: ranks.collect(), words, count, first: None };
        let first = members.iter().next();
        members.first = first.filter(|first| members.iter().last() == Some(first + (count - 1)));
        members
    }

    /// How many members there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// How many members are smaller, if `node` is one.
    #[inline]
    pub(crate) fn index(&self, node: u32) -> Option<u32> {
        if let Some(first) = self.first {
            let index = node.wrapping_sub(first);
            return (index < self.count).then_some(index);
        }
        let at = (node / 64) as usize;
        let (word, bit) = (*self.words.get(at)?, 1 << (node % 64));
        (word & bit != 0).then(|| self.before[at] + (word & (bit - 1)).count_ones())
    }

    /// The first one and how many they are, if they follow one another.
    pub(super) fn consecutive(&self) -> Option<(u32, u32)> {
        self.first.map(|first| (first, self.count))
    }

    /// Whether `node` is one.
    #[inline]
    pub(super) fn contains(&self, node: u32) -> bool {
        match self.first {
            Some(first) => node.wrapping_sub(first) < self.count,
            None => self.words.get((node / 64) as usize).is_some_and(|word| word >> (node % 64) & 1 == 1),
        }
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
        assert!((0..1100).all(|node| members.contains(node) == members.index(node).is_some()));
    }

    #[test]
    fn members_that_follow_one_another_are_found_the_same_way() {
        for (first, last) in [(0, 99), (100, 200), (63, 64), (999, 999)] {
            let members = Members::new(1000, |node| (first..=last).contains(&node));
            assert_eq!(members.first, Some(first));
            for node in (0..1100).chain([u32::MAX]) {
                let expected = (first..=last).contains(&node).then(|| node - first);
                assert_eq!((members.index(node), members.contains(node)), (expected, expected.is_some()));
            }
        }
        assert_eq!(Members::new(1000, |_| false).index(0), None);
    }
}
