//! The candidates of a pass by number, in slices that memory allows, and who owns which.
//!
//! Numbers count from 0 in each slice, in the order of the itemsets. A candidate's owner is its number modulo the nodes: a
//! hash without collisions, so that owners' parts differ by one candidate at most and need no table of keys. Items of
//! pass 1, whose numbers say nothing, are hashed. HPA: T. Shintani and M. Kitsuregawa, PDIS 1996.

use crate::candidate::Candidates;
use crate::codes::hash;
use crate::count::{pairs_before, tiles};
use std::ops::Range;

/// Candidates are of one of these kinds.
#[derive(Debug)]
pub(crate) enum Space {
    /// Of pass 1: any items.
    Items,
    /// Of pass 2: all pairs of so many codes. Slices are ranges of lower codes.
    Pairs { codes: u32, slices: Vec<Range<u32>> },
    /// Of a later pass. Slices are ranges of them.
    List { candidates: Candidates, slices: Vec<Range<u32>> },
}

/// The owner of an item.
pub(crate) fn owner_of_item(item: u32, nodes: usize) -> usize {
    (hash(item) % nodes as u64) as usize
}

/// The owner of a candidate by its number in a slice.
#[inline]
pub(crate) fn owner(number: u32, nodes: usize) -> usize {
    number as usize % nodes
}

/// Ranges of at most `most`.
pub(crate) fn split(range: Range<u32>, most: u64) -> Vec<Range<u32>> {
    let step = most.clamp(1, u64::from(u32::MAX)) as usize;
    range.clone().step_by(step).map(|at| at..at.saturating_add(step as u32).min(range.end)).collect()
}

impl Space {
    /// All pairs of codes, in slices of at most so many.
    pub(crate) fn pairs(codes: u32, most: u64) -> Space {
        Space::Pairs { codes, slices: tiles(codes, 0..codes.saturating_sub(1), most) }
    }

    /// A list, in slices of at most so many.
    pub(crate) fn list(candidates: Candidates, most: u64) -> Space {
        let slices = split(0..candidates.len() as u32, most);
        Space::List { candidates, slices }
    }

    pub(crate) fn slices(&self) -> usize {
        match self {
            Space::Items => 1,
            Space::Pairs { slices, .. } | Space::List { slices, .. } => slices.len(),
        }
    }

    /// Candidates of all slices.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Space::Items => 0,
            Space::Pairs { codes, .. } => pairs_before(*codes, codes.saturating_sub(1)),
            Space::List { candidates, .. } => candidates.len() as u64,
        }
    }

    /// Candidates of a slice.
    pub(crate) fn size(&self, slice: usize) -> u32 {
        match self {
            Space::Items => u32::MAX,
            Space::Pairs { codes, slices } => {
                let rows = &slices[slice];
                (pairs_before(*codes, rows.end) - pairs_before(*codes, rows.start)) as u32
            }
            Space::List { slices, .. } => slices[slice].len() as u32,
        }
    }

    /// Codes of an itemset.
    pub(crate) fn length(&self) -> usize {
        match self {
            Space::Items => 1,
            Space::Pairs { .. } => 2,
            Space::List { candidates, .. } => candidates.length(),
        }
    }

    /// The number of a candidate of a slice; nothing for an itemset that is none.
    pub(crate) fn number(&self, slice: usize, itemset: &[u32]) -> Option<u32> {
        match (self, itemset) {
            (Space::Items, [item]) => Some(*item),
            (Space::Pairs { codes, slices }, [low, high]) => {
                let rows = &slices[slice];
                let is_one = rows.contains(low) && low < high && high < codes;
                is_one.then(|| pair(*codes, rows.start, *low, *high))
            }
            (Space::List { candidates, slices }, _) if itemset.len() == candidates.length() => {
                let range = &slices[slice];
                let at = find(candidates, range.clone(), itemset)?;
                Some(at - range.start)
            }
            _ => None,
        }
    }

    /// The owner of a candidate of any slice; nothing for an itemset that is none.
    pub(crate) fn owner(&self, itemset: &[u32], nodes: usize) -> Option<usize> {
        if let (Space::Items, [item]) = (self, itemset) {
            return Some(owner_of_item(*item, nodes));
        }
        let slice = match self {
            Space::Items => return None,
            Space::Pairs { slices, .. } => slices.partition_point(|rows| rows.end <= itemset[0]),
            Space::List { candidates, slices } => {
                let at = find(candidates, 0..candidates.len() as u32, itemset)?;
                slices.partition_point(|range| range.end <= at)
            }
        };
        if slice >= self.slices() {
            return None;
        }
        Some(owner(self.number(slice, itemset)?, nodes))
    }

    /// Calls `visit` with the itemsets of ascending numbers of a slice.
    pub(crate) fn each(
        &self,
        slice: usize,
        numbers: impl Iterator<Item = (u32, u32)>,
        mut visit: impl FnMut(&[u32], u32),
    ) {
        match self {
            Space::Items => numbers.for_each(|(item, with)| visit(&[item], with)),
            Space::Pairs { codes, slices } => {
                let first = slices[slice].start;
                let mut row = first;
                for (number, with) in numbers {
                    while pair(*codes, first, row + 1, row + 2) <= number && row + 2 < *codes {
                        row += 1;
                    }
                    visit(&[row, row + 1 + (number - pair(*codes, first, row, row + 1))], with);
                }
            }
            Space::List { candidates, slices } => {
                let (start, length) = (slices[slice].start, candidates.length());
                for (number, with) in numbers {
                    visit(&candidates.codes()[(start + number) as usize * length..][..length], with);
                }
            }
        }
    }
}

/// The number of a pair in a slice from row `first` on.
#[inline]
pub(crate) fn pair(codes: u32, first: u32, low: u32, high: u32) -> u32 {
    (pairs_before(codes, low) - pairs_before(codes, first)) as u32 + (high - low - 1)
}

fn find(candidates: &Candidates, range: Range<u32>, itemset: &[u32]) -> Option<u32> {
    let length = candidates.length();
    let at = |index: u32| &candidates.codes()[index as usize * length..][..length];
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from.midpoint(to);
        match at(middle).cmp(itemset) {
            std::cmp::Ordering::Less => from = middle + 1,
            std::cmp::Ordering::Greater => to = middle,
            std::cmp::Ordering::Equal => return Some(middle),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(space: &Space) -> Vec<Vec<u32>> {
        let mut found = Vec::new();
        for slice in 0..space.slices() {
            space.each(slice, (0..space.size(slice)).map(|number| (number, number)), |itemset, number| {
                assert_eq!(space.number(slice, itemset), Some(number));
                assert_eq!(space.owner(itemset, 3), Some(owner(number, 3)));
                found.push(itemset.to_vec());
            });
        }
        found
    }

    #[test]
    fn pairs_have_numbers_in_any_slices() {
        for most in [1, 4, 7, 1000] {
            let space = Space::pairs(9, most);
            let found = all(&space);
            assert_eq!(found.len() as u64, space.len());
            assert!(found.is_sorted());
            assert_eq!(found.len(), 36);
        }
        assert_eq!(Space::pairs(9, 8).slices(), 6);
        assert_eq!(Space::pairs(9, 1000).number(0, &[3, 9]), None);
        assert_eq!((Space::pairs(1, 9).slices(), Space::pairs(0, 9).len()), (0, 0));
    }

    #[test]
    fn numbers_of_many_pairs_fit() {
        let space = Space::pairs(200_000, u64::MAX);
        assert!(space.len() == 19_999_900_000 && space.slices() > 4);
        let last = space.slices() - 1;
        assert_eq!(space.number(last, &[199_998, 199_999]), Some(space.size(last) - 1));
    }

    #[test]
    fn lists_have_numbers_in_any_slices() {
        let mut candidates = Candidates::new(3);
        [[0, 1, 2], [0, 1, 5], [2, 3, 4], [2, 3, 9], [6, 7, 8]].iter().for_each(|c| candidates.push(c));
        for most in [1, 2, 100] {
            assert_eq!(all(&Space::list(candidates.clone(), most)).len(), 5);
        }
        let space = Space::list(candidates, 2);
        assert_eq!((space.number(0, &[2, 3, 4]), space.owner(&[1, 2, 3], 3)), (None, None));
    }
}
