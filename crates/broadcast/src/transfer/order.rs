//! The order in which a chunk prefers the plan's trees. All hosts agree on it, and each takes the chunk from
//! its parent in the first of them that it is in.
//!
//! The first choice of chunks goes round the trees in proportion to their rates ([`Assign`]). Further choices
//! are drawn in proportion to rates among the rest, from the numbers of chunk and tree alone (weighted
//! rendezvous hashing). So chunks that a host's trees don't bring spread over the others in proportion to
//! their rates.
//!
//! No hosts wait in a cycle: a host's parent prefers the same tree, where it is nearer to the source, or a
//! tree that comes earlier in the chunk's order. That needs no nesting of the trees' members.

use crate::assign::Assign;

/// The order of each chunk.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    rates: Vec<u64>,
    /// The first tree of each chunk.
    first: Vec<u32>,
}

impl Order {
    /// For trees of such rates in bit/s, at least one.
    pub(crate) fn new(rates: &[u64], chunks: u32) -> Order {
        let first =
            Assign::new(rates.iter().copied()).take(chunks as usize).map(|tree| tree as u32).collect();
        Order { rates: rates.to_vec(), first }
    }

    /// The first tree of `chunk` among `mine`, and whether it is the chunk's first of all.
    pub(crate) fn choose(&self, chunk: u32, mine: impl Iterator<Item = u32> + Clone) -> Option<(u32, bool)> {
        let first = self.first[chunk as usize];
        if mine.clone().any(|tree| tree == first) {
            return Some((first, true));
        }
        let key = |tree: u32| waits(chunk, tree) / self.rates[tree as usize] as f64;
        mine.map(|tree| (key(tree), tree)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, tree)| (tree, false))
    }
}

/// A draw from the exponential distribution that belongs to `chunk` and `tree`: among trees, the smallest of
/// these divided by a weight falls to each with a chance in proportion to its weight.
fn waits(chunk: u32, tree: u32) -> f64 {
    let uniform = (mix((u64::from(chunk) << 32) | u64::from(tree)) >> 11) as f64 + 0.5;
    -libm::log(uniform / (1u64 << 53) as f64)
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ones_trees_do_not_bring_spreads_in_proportion_to_their_rates() {
        let order = Order::new(&[10, 30, 60], 10_000);
        let mut counts = [0; 2];
        for chunk in 0..10_000 {
            let (tree, own) = order.choose(chunk, [0, 1].into_iter()).unwrap();
            counts[tree as usize] += usize::from(!own);
        }
        assert_eq!(counts[0] + counts[1], 6_000);
        assert!((1_400..1_600).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn fewer_trees_never_change_a_choice_that_is_left() {
        let order = Order::new(&[5, 4, 3, 2, 1], 500);
        for chunk in 0..500 {
            let (tree, _) = order.choose(chunk, 0..5).unwrap();
            for without in (0..5).filter(|without| *without != tree) {
                assert_eq!(order.choose(chunk, (0..5).filter(|t| *t != without)).unwrap().0, tree);
            }
        }
    }

    #[test]
    fn who_is_in_no_tree_gets_nothing() {
        assert_eq!(Order::new(&[1], 3).choose(0, std::iter::empty()), None);
    }
}
