//! apriori-gen: itemsets one longer than the large ones, whose subsets are all large; R. Agrawal and R. Srikant, "Fast
//! algorithms for mining association rules", VLDB 1994, section 2.1.1.
//!
//! The paper joins pairs with a common beginning and then looks up the subsets of each. Here both are one step: with the
//! beginning and the item behind it fixed, the last items that may follow are those that follow in each subset too, so
//! sorted lists are intersected, and no candidate is made to be thrown away. A [`Generator`] makes them in portions, and
//! from a [`Mark`] on, so that not all have to be held at once.

use super::Candidates;
use crate::items::Level;

/// Candidates one longer than the large itemsets.
pub fn generate(large: &Level) -> Candidates {
    Generator::new(large, Mark::default()).portion(usize::MAX)
}

/// A place among candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The group of their beginning, and which of its tails is the item behind it.
    group: usize,
    second: usize,
    /// Last items behind these that have been made.
    made: usize,
}

/// Makes the candidates one longer than the large itemsets, in order.
pub struct Generator<'a> {
    length: usize,
    groups: Groups<'a>,
    mark: Mark,
}

impl<'a> Generator<'a> {
    /// From a place on.
    pub fn new(large: &'a Level, mark: Mark) -> Generator<'a> {
        Generator { length: large.length(), groups: Groups::new(large), mark }
    }

    /// Where it is.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The next candidates, at most so many; none when all have been made.
    pub fn portion(&mut self, most: usize) -> Candidates {
        let length = self.length;
        let mut candidates = Candidates::new(length + 1);
        let mut candidate = vec![0; length + 1];
        let mut last = Vec::new();
        // An itemset of k + 1 items has k + 1 subsets of k.
        let groups = if self.groups.large.len() <= length { 0 } else { self.groups.len() };
        while self.mark.group < groups {
            let (beginning, tails) =
                (self.groups.beginning(self.mark.group), self.groups.tails(self.mark.group));
            candidate[..length - 1].copy_from_slice(beginning);
            for (at, second) in tails.iter().enumerate().skip(self.mark.second) {
                candidate[length - 1] = *second;
                last.clear();
                last.extend_from_slice(&tails[at + 1..]);
                self.groups.prune(beginning, *second, &mut last);
                for item in &last[self.mark.made..] {
                    if candidates.len() == most {
                        return candidates;
                    }
                    candidate[length] = *item;
                    candidates.push(&candidate);
                    self.mark.made += 1;
                }
                (self.mark.second, self.mark.made) = (at + 1, 0);
            }
            self.mark = Mark { group: self.mark.group + 1, ..Mark::default() };
        }
        candidates
    }
}

/// Large itemsets by their beginnings: all items but the last.
struct Groups<'a> {
    large: &'a Level,
    /// The last item of each itemset.
    tails: Vec<u32>,
    /// Where each group begins, and the end of the last.
    starts: Vec<u32>,
}

impl<'a> Groups<'a> {
    fn new(large: &'a Level) -> Self {
        let beginning = |index: usize| &large.itemset(index)[..large.length() - 1];
        let mut starts: Vec<u32> = (0..large.len())
            .filter(|index| *index == 0 || beginning(*index) != beginning(index - 1))
            .map(|index| index as u32)
            .collect();
        starts.push(large.len() as u32);
        let tails = large.items().iter().skip(large.length() - 1).step_by(large.length()).copied().collect();
        Self { large, tails, starts }
    }

    fn beginning(&self, group: usize) -> &'a [u32] {
        &self.large.itemset(self.starts[group] as usize)[..self.large.length() - 1]
    }

    fn tails(&self, group: usize) -> &[u32] {
        &self.tails[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Leaves of `last` what makes a candidate of `beginning`, `second` and it: all subsets without an item of the
    /// beginning are large.
    fn prune(&self, beginning: &[u32], second: u32, last: &mut Vec<u32>) {
        let mut subset = Vec::with_capacity(beginning.len());
        for without in 0..beginning.len() {
            if last.is_empty() {
                return;
            }
            subset.clear();
            subset.extend_from_slice(&beginning[..without]);
            subset.extend_from_slice(&beginning[without + 1..]);
            subset.push(second);
            match self.find(&subset) {
                Some(group) => intersect(last, self.tails(group)),
                None => last.clear(),
            }
        }
    }

    fn find(&self, beginning: &[u32]) -> Option<usize> {
        let (mut from, mut to) = (0, self.starts.len() - 1);
        while from < to {
            let middle = from.midpoint(to);
            match self.beginning(middle).cmp(beginning) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// Leaves what `others` has too; both ascend.
fn intersect(items: &mut Vec<u32>, others: &[u32]) {
    let mut others = others.iter().copied().peekable();
    items.retain(|item| {
        while others.next_if(|other| other < item).is_some() {}
        others.peek() == Some(item)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(itemsets: &[&[u32]]) -> Level {
        let mut level = Level::new(itemsets[0].len());
        itemsets.iter().for_each(|itemset| level.push(itemset, 1));
        level
    }

    #[test]
    fn the_papers_example() {
        // Section 2.1.1: {1 3 4 5} is joined too, and pruned because {1 4 5} is not large.
        let large = level(&[&[1, 2, 3], &[1, 2, 4], &[1, 3, 4], &[1, 3, 5], &[2, 3, 4]]);
        assert_eq!(generate(&large).iter().collect::<Vec<_>>(), [[1, 2, 3, 4]]);
    }

    #[test]
    fn portions_from_any_mark_are_all_candidates_in_order() {
        let mut large = Level::new(2);
        (0..7u32).for_each(|a| (a + 1..7).filter(|b| (a + b) % 5 > 0).for_each(|b| large.push(&[a, b], 1)));
        let all = generate(&large);
        assert!(all.len() > 10);
        for most in [1, 2, 3, 7, 100] {
            let (mut found, mut mark) = (Vec::new(), Mark::default());
            loop {
                let mut generator = Generator::new(&large, mark);
                let portion = generator.portion(most);
                if portion.is_empty() {
                    break;
                }
                assert!(portion.len() == most || found.len() / 3 + portion.len() == all.len());
                found.extend_from_slice(portion.codes());
                mark = generator.mark();
            }
            assert_eq!(found, all.codes());
        }
    }

    #[test]
    fn pairs_of_items_are_all_candidates() {
        let found = generate(&level(&[&[0], &[4], &[7]]));
        assert_eq!(found.iter().collect::<Vec<_>>(), [[0, 4], [0, 7], [4, 7]]);
        assert!(generate(&level(&[&[3]])).is_empty());
    }
}
