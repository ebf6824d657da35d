//! Large itemsets that stand for others: maximal ones (R. J. Bayardo, "Efficiently mining long patterns from
//! databases", SIGMOD 1998: no larger itemset is large) and closed ones (N. Pasquier et al., "Discovering
//! frequent closed itemsets for association rules", ICDT 1999: no larger itemset is in the same
//! transactions).

use crate::items::Level;

/// Which itemsets to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Those that are in no other large itemset.
    Maximal,
    /// Those that are in no other itemset with the same count.
    Closed,
}

/// Of each level what is maximal or closed among all large itemsets. Every itemset one shorter than a large
/// one is large, so only the next level decides.
pub fn condense(levels: &[Level], kind: Kind) -> Vec<Level> {
    let mut kept = Vec::with_capacity(levels.len());
    for (at, level) in levels.iter().enumerate() {
        let mut covered = vec![false; level.len()];
        if let Some(longer) = levels.get(at + 1) {
            cover(level, longer, kind, &mut covered);
        }
        let mut rest = Level::new(level.length());
        for ((itemset, count), covered) in level.iter().zip(covered) {
            if !covered {
                rest.push(itemset, count);
            }
        }
        kept.push(rest);
    }
    kept
}

fn cover(level: &Level, longer: &Level, kind: Kind, covered: &mut [bool]) {
    let mut subset = Vec::with_capacity(level.length());
    for (itemset, count) in longer.iter() {
        for without in 0..itemset.len() {
            subset.clear();
            subset.extend_from_slice(&itemset[..without]);
            subset.extend_from_slice(&itemset[without + 1..]);
            let at = level.find(&subset).expect("subsets of large itemsets are large");
            covered[at] |= kind == Kind::Maximal || level.count(at) == count;
        }
    }
}
