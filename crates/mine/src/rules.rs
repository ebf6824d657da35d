//! Association rules of large itemsets: R. Agrawal and R. Srikant, "Fast algorithms for mining association
//! rules", VLDB 1994, section 3 (ap-genrules): when a consequent is too seldom right, so are all that hold
//! it, because their antecedents are in more transactions. So consequents grow like itemsets do.
//!
//! Measures are those of mlxtend, under its names: from supports as shares, with the same value where a
//! quotient has none.

use crate::candidate::generate;
use crate::items::{Item, Level};

/// A rule: who holds the antecedent also holds the consequent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Ascending items.
    pub antecedent: Vec<Item>,
    /// Ascending items, none of them the antecedent's.
    pub consequent: Vec<Item>,
    /// Transactions that hold all of them.
    pub both: u64,
    /// Transactions that hold the antecedent.
    pub with_antecedent: u64,
    /// Transactions that hold the consequent.
    pub with_consequent: u64,
}

/// What a rule is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Share of transactions with the antecedent.
    pub antecedent_support: f64,
    /// Share of transactions with the consequent.
    pub consequent_support: f64,
    /// Share of transactions with both.
    pub support: f64,
    /// Share of the antecedent's transactions that hold the consequent.
    pub confidence: f64,
    /// Confidence over the consequent's support.
    pub lift: f64,
    /// Support less what it were if both were independent.
    pub leverage: f64,
    /// How much oftener the rule failed if both were independent; infinite when it never fails.
    pub conviction: f64,
    /// T. Zhang, "Association rules", PAKDD 2000: −1 to 1.
    pub zhangs_metric: f64,
    /// Transactions with both over those with either.
    pub jaccard: f64,
    /// Gain of confidence over the consequent's support, by what could be gained.
    pub certainty: f64,
    /// Mean of the rule's confidence and of its reverse.
    pub kulczynski: f64,
}

impl Rule {
    /// Its measures among so many transactions.
    pub fn measures(&self, transactions: u64) -> Measures {
        let share = |count: u64| count as f64 / transactions as f64;
        let (both, a, c) = (share(self.both), share(self.with_antecedent), share(self.with_consequent));
        let confidence = both / a;
        let leverage = both - a * c;
        let most = (both * (1.0 - a)).max(a * (c - both));
        Measures {
            antecedent_support: a,
            consequent_support: c,
            support: both,
            confidence,
            lift: confidence / c,
            leverage,
            conviction: if confidence < 1.0 { (1.0 - c) / (1.0 - confidence) } else { f64::INFINITY },
            zhangs_metric: if most == 0.0 { 0.0 } else { leverage / most },
            jaccard: both / (a + c - both),
            certainty: if c == 1.0 { 0.0 } else { (confidence - c) / (1.0 - c) },
            kulczynski: (confidence + both / c) / 2.0,
        }
    }
}

/// Calls `take` with each rule of a minimum confidence: by itemset, then by length of the consequent, then by
/// consequent. `levels` are all large itemsets from length 1 on. There can be many more rules than itemsets,
/// so none is kept here.
///
/// # Errors
/// The first that `take` returns; no more rules are made then.
pub fn rules<E>(
    levels: &[Level],
    confidence: f64,
    mut take: impl FnMut(Rule) -> Result<(), E>,
) -> Result<(), E> {
    for level in levels.iter().filter(|level| level.length() > 1) {
        for (itemset, both) in level.iter() {
            of_itemset(levels, itemset, both, confidence, &mut take)?;
        }
    }
    Ok(())
}

fn of_itemset<E>(
    levels: &[Level],
    itemset: &[Item],
    both: u64,
    confidence: f64,
    take: &mut impl FnMut(Rule) -> Result<(), E>,
) -> Result<(), E> {
    let mut consequents = (0..itemset.len() as u32).map(|place| vec![place]).collect::<Vec<_>>();
    for length in 1..itemset.len() {
        let mut kept = Level::new(length);
        for places in &consequents {
            let (consequent, antecedent): (Vec<_>, Vec<_>) = divide(itemset, places);
            let with_antecedent = count(levels, &antecedent);
            if both as f64 / with_antecedent as f64 >= confidence {
                kept.push(places, 0);
                let with_consequent = count(levels, &consequent);
                take(Rule { antecedent, consequent, both, with_antecedent, with_consequent })?;
            }
        }
        consequents = generate(&kept).iter().map(<[u32]>::to_vec).collect();
    }
    Ok(())
}

/// Items at these places, and the others.
fn divide(itemset: &[Item], places: &[u32]) -> (Vec<Item>, Vec<Item>) {
    let mut places = places.iter().copied().peekable();
    let mut at = 0..;
    itemset.iter().partition(|_| at.next().is_some_and(|at| places.next_if_eq(&at).is_some()))
}

fn count(levels: &[Level], itemset: &[Item]) -> u64 {
    let level = &levels[itemset.len() - 1];
    level.count(level.find(itemset).expect("subsets of large itemsets are large"))
}
