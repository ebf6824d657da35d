//! Which chunk uses which tree: smooth weighted round robin (as nginx balances servers), so that every range
//! of chunks is divided in proportion to the trees' rates. All hosts compute the same from the plan.

use crate::plan::Plan;

/// Deals chunks to trees, one after the other.
#[derive(Clone, Debug)]
pub struct Assign {
    weights: Vec<i128>,
    credit: Vec<i128>,
    total: i128,
}

impl Assign {
    /// Trees with these rates; at least one is above zero.
    pub fn new(rates: impl IntoIterator<Item = u64>) -> Assign {
        let weights: Vec<i128> = rates.into_iter().map(i128::from).collect();
        let total = weights.iter().sum();
        assert!(total > 0, "a tree with a rate");
        Assign { credit: vec![0; weights.len()], weights, total }
    }

    /// The trees of a plan that has some.
    pub fn of(plan: &Plan) -> Assign {
        Assign::new(plan.trees().map(|tree| tree.rate().as_bps()))
    }
}

impl Iterator for Assign {
    type Item = usize;

    /// The tree of the next chunk: every tree earns its rate, the richest pays for all.
    fn next(&mut self) -> Option<usize> {
        let mut richest = 0;
        for (tree, weight) in self.weights.iter().enumerate() {
            self.credit[tree] += weight;
            if self.credit[tree] > self.credit[richest] {
                richest = tree;
            }
        }
        self.credit[richest] -= self.total;
        Some(richest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_one_one_is_dealt_smoothly() {
        // The example in nginx's commit 52327e0: a, a, b, a, c, a, a.
        let dealt: Vec<usize> = Assign::new([5, 1, 1]).take(7).collect();
        assert_eq!(dealt, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn each_round_is_in_proportion() {
        let mut assign = Assign::new([10, 30, 60]);
        for _ in 0..3 {
            let mut counts = [0; 3];
            assign.by_ref().take(100).for_each(|tree| counts[tree] += 1);
            assert_eq!(counts, [10, 30, 60]);
        }
    }

    #[test]
    fn every_stretch_is_nearly_in_proportion() {
        let rates = [101, 7, 350, 42, 500];
        let mut counts = [0.0; 5];
        for (dealt, tree) in Assign::new(rates).take(5_000).enumerate() {
            counts[tree] += 1.0;
            for (count, rate) in counts.iter().zip(rates) {
                let share = (dealt + 1) as f64 * rate as f64 / 1_000.0;
                assert!((count - share).abs() < 2.0, "{count} of {share} after {dealt}");
            }
        }
    }
}
