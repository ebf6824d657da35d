//! A set of addresses as intervals: sorted, disjoint, none empty. It tracks parts of an address space without
//! a bit per page.

use std::collections::BTreeMap;
use std::ops::Range;

/// The set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// The end of each, by its start.
    ends: BTreeMap<usize, usize>,
}

impl Intervals {
    /// Nothing is in it.
    pub const fn new() -> Intervals {
        Intervals { ends: BTreeMap::new() }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of the range is in it from now on.
    pub fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        while let Some((&from, &to)) = self.ends.range(..=end).next_back()
            && to >= start
        {
            self.ends.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.ends.insert(start, end);
    }

    /// Nothing of the range is in it from now on; how many addresses were.
    pub fn remove(&mut self, range: Range<usize>) -> usize {
        let mut removed = 0;
        while let Some((&from, &to)) = self.ends.range(..range.end).next_back()
            && to > range.start
            && !range.is_empty()
        {
            self.ends.remove(&from);
            removed += to.min(range.end) - from.max(range.start);
            if to > range.end {
                self.ends.insert(range.end, to);
            }
            if from < range.start {
                self.ends.insert(from, range.start);
            }
        }
        removed
    }

    /// What of the range is in it, in order.
    pub fn inside(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let before = self.ends.range(..range.start).next_back().filter(|(_, end)| **end > range.start);
        let (first, end) = (range.start, range.end);
        before
            .into_iter()
            .chain(self.ends.range(range))
            .map(move |(&from, &to)| from.max(first)..to.min(end))
            .filter(|part| !part.is_empty())
    }

    /// What of the range is not in it, in order.
    pub fn outside(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut next = range.start;
        let end = range.end..range.end;
        self.inside(range).chain(std::iter::once(end)).filter_map(move |part| {
            let gap = next..part.start;
            next = part.end;
            (!gap.is_empty()).then_some(gap)
        })
    }
}
