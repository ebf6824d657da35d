//! The pool of patterns: what people tend to buy together ("maximal potentially large itemsets").
//!
//! Section 2.4.3: the length of a pattern is Poisson about its mean; some of its items are the previous
//! pattern's, their share exponential about the correlation level; a pattern has a weight, exponential with
//! mean 1, and a corruption level, normal, that stays with it. IBM's program draws 1 + Poisson(|I| − 1), and
//! new items by weights that are exponential too.

use super::{Quest, above_one, length};
use crate::items::Item;
use rand::seq::index::sample;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, Exp1, Normal};
use rand_pcg::Pcg64;

/// A pattern that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) items: Vec<Item>,
    pub(super) confidence: f64,
}

/// All patterns, and how often each is drawn.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) patterns: Vec<Pattern>,
    pub(super) by_weight: WeightedAliasIndex<f64>,
}

impl Pool {
    pub(super) fn draw(quest: &Quest, rng: &mut Pcg64) -> Self {
        let items = weights(quest.items, rng);
        let more = above_one(quest.pattern);
        let confidence = Normal::new(quest.confidence, quest.deviation).expect("a finite deviation");
        let mut patterns: Vec<Pattern> = Vec::with_capacity(quest.patterns as usize);
        for _ in 0..quest.patterns {
            let wanted = length(more.as_ref(), rng).min(quest.items as usize);
            let previous = patterns.last().map_or(&[][..], |pattern| &pattern.items);
            let mut chosen = shared(previous, wanted, quest.correlation, rng);
            fill(&mut chosen, wanted, &items, quest.items, rng);
            // A pattern that loses all its items would never fill a transaction.
            let confidence = confidence.sample(rng).clamp(0.01, 1.0);
            patterns.push(Pattern { items: chosen, confidence });
        }
        let by_weight = weights(quest.patterns, rng);
        Self { patterns, by_weight }
    }
}

/// Weights that are exponential with mean 1, ready to be drawn by.
fn weights(several: u32, rng: &mut Pcg64) -> WeightedAliasIndex<f64> {
    let weights: Vec<f64> = (0..several).map(|_| Exp1.sample(rng)).collect();
    WeightedAliasIndex::new(weights).expect("positive weights")
}

/// Some items of the previous pattern.
fn shared(previous: &[Item], wanted: usize, correlation: f64, rng: &mut Pcg64) -> Vec<Item> {
    let share: f64 = Exp1.sample(rng);
    let several = (wanted as f64 * correlation * share + 0.5) as usize;
    let several = several.min(wanted).min(previous.len());
    sample(rng, previous.len(), several).iter().map(|index| previous[index]).collect()
}

/// Adds items by weight until there are `wanted`.
fn fill(
    chosen: &mut Vec<Item>,
    wanted: usize,
    by_weight: &WeightedAliasIndex<f64>,
    items: u32,
    rng: &mut Pcg64,
) {
    // Where nearly all items are wanted, light ones would take for ever: after so many draws in vain the
    // lowest that is missing is taken.
    let mut patience = 100 * wanted;
    while chosen.len() < wanted {
        let drawn = by_weight.sample(rng) as Item;
        if !chosen.contains(&drawn) {
            chosen.push(drawn);
        } else if patience > 0 {
            patience -= 1;
        } else {
            chosen.extend((0..items).find(|item| !chosen.contains(item)));
        }
    }
}
