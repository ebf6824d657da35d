//! Exchange of what is frequent in a node's own transactions: what is large among all of them is so at one
//! node at least, so an owner hears of it, and asks the others for the counts that it lacks. D. Cheung et
//! al., "A fast distributed algorithm for mining association rules", PDIS 1996 (FDM), section 3.
//!
//! A node that has not said a count has less than its least frequent one; a candidate that is not large with
//! these either is not asked for.

use process::wire::Malformed;
use std::collections::BTreeMap;

/// The counts that came of each node, and what is asked for, in a slice.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// Of each node, by number.
    given: Vec<Vec<(u32, u32)>>,
    /// Counts of what may be large.
    sums: BTreeMap<u32, u64>,
    /// What each node is asked for.
    pub asks: Vec<Vec<u32>>,
    /// How much of it has been answered.
    answered: Vec<usize>,
}

impl Asking {
    pub(crate) fn new(nodes: usize) -> Asking {
        let (given, asks) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        Asking { given, sums: BTreeMap::new(), asks, answered: vec![0; nodes] }
    }

    /// Counts that a node found frequent.
    pub(crate) fn give(&mut self, from: usize, counts: Vec<(u32, u32)>) -> Result<(), Malformed> {
        let given = &mut self.given[from];
        if given.last().zip(counts.first()).is_some_and(|(last, first)| first.0 <= last.0) {
            return Err(Malformed);
        }
        given.extend(counts);
        Ok(())
    }

    /// All have said what they found frequent: each node's least frequent count, and that of what is large.
    pub(crate) fn ask(&mut self, least: &[u64], minimum: u64) {
        let mut heard: BTreeMap<u32, (u64, Vec<usize>)> = BTreeMap::new();
        for (node, given) in self.given.iter_mut().enumerate() {
            for (number, count) in std::mem::take(given) {
                let (sum, of) = heard.entry(number).or_default();
                *sum += u64::from(count);
                of.push(node);
            }
        }
        let most_unsaid: u64 = least.iter().map(|least| least - 1).sum();
        for (number, (sum, of)) in heard {
            let said: u64 = of.iter().map(|node| least[*node] - 1).sum();
            if sum + most_unsaid - said < minimum {
                continue;
            }
            self.sums.insert(number, sum);
            let silent = (0..least.len()).filter(|node| least[*node] > 1 && !of.contains(node));
            silent.for_each(|node| self.asks[node].push(number));
        }
    }

    /// Answers of a node: in the order in which it was asked.
    pub(crate) fn answer(&mut self, from: usize, counts: &[(u32, u32)]) -> Result<(), Malformed> {
        let asked = &self.asks[from][self.answered[from]..];
        if counts.len() > asked.len() || counts.iter().zip(asked).any(|(answer, asked)| answer.0 != *asked) {
            return Err(Malformed);
        }
        for (number, count) in counts {
            *self.sums.get_mut(number).expect("it was asked for") += u64::from(*count);
        }
        self.answered[from] += counts.len();
        Ok(())
    }

    /// Whether a node has answered everything.
    pub(crate) fn is_answered(&self, from: usize) -> bool {
        self.answered[from] == self.asks[from].len()
    }

    /// What is large.
    pub(crate) fn large(&mut self, minimum: u64) -> Vec<(u32, u32)> {
        let sums = std::mem::take(&mut self.sums).into_iter();
        sums.filter(|(_, sum)| *sum >= minimum).map(|(number, sum)| (number, sum as u32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_large_is_asked_of_who_has_not_said_it() {
        // Of 10 at least: frequent are 4, 4 and 2.
        let mut asking = Asking::new(3);
        asking.give(0, vec![(1, 5), (2, 4)]).unwrap();
        asking.give(1, vec![(1, 6)]).unwrap();
        asking.give(2, vec![(2, 2), (9, 3)]).unwrap();
        assert_eq!(asking.give(2, vec![(9, 3)]), Err(Malformed), "again");
        asking.ask(&[4, 4, 2], 10);
        // 1 is large for certain, but not with which count; 2 has 6 and at most 3 more; 9 has at most 3 + 3 +
        // 3.
        assert_eq!(asking.asks, [vec![], vec![], vec![1]]);
        assert_eq!(asking.answer(2, &[(2, 1)]), Err(Malformed), "not asked");
        asking.answer(2, &[(1, 1)]).unwrap();
        assert!(asking.is_answered(2));
        assert_eq!(asking.large(10), [(1, 12)]);
    }

    #[test]
    fn who_finds_everything_frequent_is_not_asked() {
        let mut asking = Asking::new(2);
        asking.give(0, vec![(3, 7)]).unwrap();
        asking.ask(&[2, 1], 5);
        assert_eq!((asking.asks.clone(), asking.large(5)), (vec![vec![], vec![]], vec![(3, 7)]));
    }
}
