//! The candidates of a pass in slices of which each fits into memory. They are made again whenever they are
//! needed, so only where each slice begins has to be kept; where there is one slice only, it is kept itself.

use super::generate::{Generator, Mark};
use super::list::Candidates;
use crate::items::Level;
use std::sync::Arc;

/// Candidates one longer than the large itemsets.
#[derive(Clone, Debug)]
pub struct Slices {
    large: Level,
    /// Candidates of each slice but the last.
    most: usize,
    marks: Vec<Mark>,
    len: u64,
    /// The only slice.
    only: Option<Arc<Candidates>>,
}

impl Slices {
    /// In slices of at most so many.
    pub fn new(large: Level, most: u64) -> Slices {
        Slices::new_while(large, most, || true)
    }

    /// The same, but only some when `go_on` says no: it is asked after each slice.
    pub fn new_while(large: Level, most: u64, go_on: impl Fn() -> bool) -> Slices {
        let most = most.clamp(1, u64::from(u32::MAX)) as usize;
        let (mut marks, mut len, mut only) = (Vec::new(), 0, None);
        let mut generator = Generator::new(&large, Mark::default());
        loop {
            let mark = generator.mark();
            let portion = generator.portion(most);
            if portion.is_empty() {
                break;
            }
            len += portion.len() as u64;
            marks.push(mark);
            only = (marks.len() == 1).then(|| Arc::new(portion));
            if !go_on() {
                break;
            }
        }
        Slices { large, most, marks, len, only }
    }

    /// The large itemsets that they were made from.
    pub fn into_large(self) -> Level {
        self.large
    }

    /// Codes of each candidate.
    pub fn length(&self) -> usize {
        self.large.length() + 1
    }

    /// Candidates of all slices.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many slices there are.
    pub fn count(&self) -> usize {
        self.marks.len()
    }

    /// Candidates of a slice.
    pub fn size(&self, slice: usize) -> u32 {
        let before = slice as u64 * self.most as u64;
        (self.len - before).min(self.most as u64) as u32
    }

    /// The candidates of a slice, made again where there are several.
    pub fn make(&self, slice: usize) -> Arc<Candidates> {
        match &self.only {
            Some(only) => Arc::clone(only),
            None => Arc::new(Generator::new(&self.large, self.marks[slice]).portion(self.most)),
        }
    }

    /// Whether an itemset is one of them: all that is left of it without one of its codes is large.
    pub fn holds(&self, itemset: &[u32]) -> bool {
        let mut subset = Vec::with_capacity(itemset.len());
        itemset.len() == self.length()
            && itemset.is_sorted_by(|a, b| a < b)
            && (0..itemset.len()).all(|without| {
                subset.clear();
                subset.extend(
                    itemset.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, code)| code),
                );
                self.large.find(&subset).is_some()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;

    #[test]
    fn slices_together_are_all_candidates_and_it_knows_which_are_none() {
        let mut large = Level::new(2);
        (0..8u32).for_each(|a| (a + 1..8).filter(|b| (a * b) % 7 != 3).for_each(|b| large.push(&[a, b], 1)));
        let all = generate(&large);
        for most in [1, 4, 9, 1000] {
            let slices = Slices::new(large.clone(), most);
            let mut found = Vec::new();
            for slice in 0..slices.count() {
                let made = slices.make(slice);
                assert_eq!(made.len(), slices.size(slice) as usize);
                found.extend_from_slice(made.codes());
            }
            assert_eq!((&found[..], slices.len()), (all.codes(), all.len() as u64));
            let holds = |a, b, c| slices.holds(&[a, b, c]);
            for (a, b, c) in (0..9).flat_map(|a| (0..9).flat_map(move |b| (0..9).map(move |c| (a, b, c)))) {
                assert_eq!(holds(a, b, c), all.iter().any(|candidate| candidate == [a, b, c]), "{a} {b} {c}");
            }
        }
        assert_eq!(Slices::new(Level::new(2), 5).count(), 0);
    }
}
