//! What a node has counted of the candidates that it owns.

use super::space::{Space, owner, owner_of_item};
use crate::items::Level;
use process::wire::Malformed;
use std::collections::BTreeMap;

/// Counts of the candidates of a slice that the node owns.
#[derive(Debug)]
pub(crate) enum OwnedCounts {
    /// Of items that came.
    Items(BTreeMap<u32, u32>),
    /// A counter for each, by number.
    Sums(Vec<u32>),
}

impl OwnedCounts {
    /// None yet.
    pub(crate) fn new(space: &Space, slice: usize, (me, nodes): (usize, usize)) -> OwnedCounts {
        match space {
            Space::Items => OwnedCounts::Items(BTreeMap::new()),
            _ => OwnedCounts::Sums(vec![0; (space.size(slice) as usize).saturating_sub(me).div_ceil(nodes)]),
        }
    }

    /// Adds counts by number: all of them, or none when one of them can't be.
    pub(crate) fn add(&mut self, more: &[(u32, u32)], (me, nodes): (usize, usize)) -> Result<(), Malformed> {
        match self {
            OwnedCounts::Items(sums) => {
                if more.iter().any(|(item, _)| owner_of_item(*item, nodes) != me) {
                    return Err(Malformed);
                }
                for (item, count) in more {
                    let sum = sums.entry(*item).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            OwnedCounts::Sums(sums) => {
                let ours = |number: u32| owner(number, nodes) == me && (number as usize / nodes) < sums.len();
                if !more.iter().all(|(number, _)| ours(*number)) {
                    return Err(Malformed);
                }
                for (number, count) in more {
                    let sum = &mut sums[*number as usize / nodes];
                    *sum = sum.saturating_add(*count);
                }
            }
        }
        Ok(())
    }

    /// Appends what is large.
    pub(crate) fn large(
        &self,
        space: &Space,
        slice: usize,
        minimum: u64,
        (me, nodes): (usize, usize),
        into: &mut Level,
    ) {
        let is_large = |count: &u32| u64::from(*count) >= minimum;
        let mut push = |itemset: &[u32], count: u32| into.push(itemset, count.into());
        match self {
            OwnedCounts::Items(sums) => {
                sums.iter()
                    .filter(|(_, count)| is_large(count))
                    .for_each(|(item, count)| push(&[*item], *count));
            }
            OwnedCounts::Sums(sums) => {
                let found = sums.iter().enumerate().filter(|(_, count)| is_large(count));
                let numbers = found.map(|(at, count)| ((at * nodes + me) as u32, *count));
                space.each(slice, numbers, push);
            }
        }
    }
}
