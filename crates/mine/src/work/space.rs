//! The candidates of a pass by number, in slices that memory allows, and who owns which.
//!
//! Numbers count from 0 in each slice, in the order of the itemsets. A candidate's owner is its number modulo
//! the nodes: a hash without collisions, so that owners' parts differ by one candidate at most and need no
//! table of keys. Items of pass 1, whose numbers say nothing, are hashed. Pairs follow from their numbers;
//! the itemsets of later passes are held for the slices that are being counted only. HPA: T. Shintani and M.
//! Kitsuregawa, PDIS 1996.

use crate::candidate::{Candidates, Slices};
use crate::count::{pairs_before, tiles};
use crate::items::hash;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Candidates are of one of these kinds.
#[derive(Debug)]
pub(crate) enum Space {
    /// Of pass 1: any items.
    Items,
    /// Of pass 2: all pairs of so many codes. Slices are ranges of lower codes.
    Pairs { codes: u32, slices: Vec<Range<u32>> },
    /// Of a later pass, with the slices that are held.
    List { slices: Slices, held: BTreeMap<usize, Arc<Candidates>> },
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

impl Space {
    /// All pairs of codes, in slices of at most so many.
    pub(crate) fn pairs(codes: u32, most: u64) -> Space {
        Space::Pairs { codes, slices: tiles(codes, 0..codes.saturating_sub(1), most) }
    }

    /// Holds these slices, and no others.
    pub(crate) fn hold(&mut self, wanted: [usize; 2]) {
        if let Space::List { slices, held } = self {
            held.retain(|slice, _| wanted.contains(slice));
            for slice in wanted {
                held.entry(slice).or_insert_with(|| slices.make(slice));
            }
        }
    }

    /// The candidates of a slice that is held.
    pub(crate) fn held(held: &BTreeMap<usize, Arc<Candidates>>, slice: usize) -> &Arc<Candidates> {
        held.get(&slice).expect("what is counted is held")
    }

    pub(crate) fn slices(&self) -> usize {
        match self {
            Space::Items => 1,
            Space::Pairs { slices, .. } => slices.len(),
            Space::List { slices, .. } => slices.count(),
        }
    }

    /// Candidates of all slices.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Space::Items => 0,
            Space::Pairs { codes, .. } => pairs_before(*codes, codes.saturating_sub(1)),
            Space::List { slices, .. } => slices.len(),
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
            Space::List { slices, .. } => slices.size(slice),
        }
    }

    /// Codes of an itemset.
    pub(crate) fn length(&self) -> usize {
        match self {
            Space::Items => 1,
            Space::Pairs { .. } => 2,
            Space::List { slices, .. } => slices.length(),
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
            (Space::List { slices, held }, _) if itemset.len() == slices.length() => {
                find(Self::held(held, slice), itemset)
            }
            _ => None,
        }
    }

    /// Whether a node can say that an itemset of any slice is large: it is a candidate, and its own, as far
    /// as that can be told without the slice.
    pub(crate) fn is_said_by(&self, itemset: &[u32], from: usize, nodes: usize) -> bool {
        match (self, itemset) {
            (Space::Items, [item]) => owner_of_item(*item, nodes) == from,
            (Space::Items, _) => false,
            (Space::Pairs { slices, .. }, [low, _]) => {
                let slice = slices.partition_point(|rows| rows.end <= *low);
                let number = (slice < slices.len()).then(|| self.number(slice, itemset)).flatten();
                number.is_some_and(|number| owner(number, nodes) == from)
            }
            (Space::Pairs { .. }, _) => false,
            (Space::List { slices, .. }, _) => slices.holds(itemset),
        }
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
            Space::List { held, .. } => {
                let candidates = Self::held(held, slice);
                for (number, with) in numbers {
                    visit(candidates.get(number), with);
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

fn find(candidates: &Candidates, itemset: &[u32]) -> Option<u32> {
    let (mut from, mut to) = (0, candidates.len() as u32);
    while from < to {
        let middle = from.midpoint(to);
        match candidates.get(middle).cmp(itemset) {
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
    use crate::items::Level;

    fn all(space: &mut Space) -> Vec<Vec<u32>> {
        let mut found = Vec::new();
        for slice in 0..space.slices() {
            space.hold([slice; 2]);
            space.each(slice, (0..space.size(slice)).map(|number| (number, number)), |itemset, number| {
                assert_eq!(space.number(slice, itemset), Some(number));
                assert!(space.is_said_by(itemset, owner(number, 3), 3));
                found.push(itemset.to_vec());
            });
        }
        found
    }

    #[test]
    fn pairs_have_numbers_in_any_slices() {
        for most in [1, 4, 7, 1000] {
            let mut space = Space::pairs(9, most);
            let found = all(&mut space);
            assert_eq!(found.len() as u64, space.len());
            assert!(found.is_sorted());
            assert_eq!(found.len(), 36);
            let said = |itemset: &[u32]| (0..3).filter(|from| space.is_said_by(itemset, *from, 3)).count();
            assert_eq!((said(&[0, 8]), said(&[0, 9]), said(&[8, 9]), said(&[3])), (1, 0, 0, 0));
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
        let mut large = Level::new(2);
        [[0, 1], [0, 2], [0, 5], [1, 2], [1, 5], [2, 5]].iter().for_each(|pair| large.push(pair, 1));
        let space = |most| Space::List { slices: Slices::new(large.clone(), most), held: BTreeMap::new() };
        for most in [1, 2, 100] {
            assert_eq!(all(&mut space(most)).len(), 4);
        }
        let mut space = space(2);
        for wanted in [[0, 1], [0, 0]] {
            space.hold(wanted);
            let Space::List { held, .. } = &space else { unreachable!("it is one") };
            assert!(held.keys().all(|slice| wanted.contains(slice)));
        }
        assert_eq!((space.number(0, &[0, 2, 5]), space.is_said_by(&[1, 2, 3], 0, 3)), (None, false));
    }
}
