//! apriori-gen: itemsets one longer than the large ones, whose subsets are all large; R. Agrawal and R. Srikant, "Fast
//! algorithms for mining association rules", VLDB 1994, section 2.1.1.
//!
//! The paper joins pairs with a common beginning and then looks up the subsets of each. Here both are one step: with the
//! beginning and the item behind it fixed, the last items that may follow are those that follow in each subset too, so
//! sorted lists are intersected, and no candidate is made to be thrown away.

use super::Candidates;
use crate::items::Level;

/// Candidates one longer than the large itemsets.
pub fn generate(large: &Level) -> Candidates {
    let length = large.length();
    let mut candidates = Candidates::new(length + 1);
    if large.len() <= length {
        // An itemset of k + 1 items has k + 1 subsets of k.
        return candidates;
    }
    let groups = Groups::new(large);
    let mut candidate = vec![0; length + 1];
    let mut last = Vec::new();
    for (beginning, tails) in groups.iter() {
        candidate[..length - 1].copy_from_slice(beginning);
        for (at, second) in tails.iter().enumerate() {
            candidate[length - 1] = *second;
            last.clear();
            last.extend_from_slice(&tails[at + 1..]);
            groups.prune(beginning, *second, &mut last);
            for item in &last {
                candidate[length] = *item;
                candidates.push(&candidate);
            }
        }
    }
    candidates
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

    fn iter(&self) -> impl Iterator<Item = (&'a [u32], &[u32])> {
        (0..self.starts.len() - 1).map(|group| (self.beginning(group), self.tails(group)))
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
    fn pairs_of_items_are_all_candidates() {
        let found = generate(&level(&[&[0], &[4], &[7]]));
        assert_eq!(found.iter().collect::<Vec<_>>(), [[0, 4], [0, 7], [4, 7]]);
        assert!(generate(&level(&[&[3]])).is_empty());
    }
}
