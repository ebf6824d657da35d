//! Quest's data against the definitions of Agrawal and Srikant 1994, section 2.4.3.

use mine::quest::{BLOCK, Generator, Quest};
use std::collections::BTreeMap;

const PLAIN: Quest = Quest {
    count: 40_000,
    length: 10.0,
    pattern: 4.0,
    patterns: 500,
    items: 1000,
    correlation: 0.5,
    confidence: 0.5,
    deviation: 0.1,
};

fn all(quest: Quest, seed: u64) -> Vec<Vec<u32>> {
    let generator = Generator::new(quest, seed).unwrap();
    let mut found = Vec::new();
    (0..generator.blocks()).for_each(|block| generator.block(block, |items| found.push(items.to_vec())));
    found
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, values.map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

#[test]
fn transactions_are_sets_of_items_that_there_are() {
    let found = all(PLAIN, 1);
    assert_eq!(found.len(), 40_000);
    for items in &found {
        assert!(!items.is_empty() && items.is_sorted_by(|a, b| a < b));
        assert!(items.iter().all(|item| *item < PLAIN.items));
    }
}

#[test]
fn lengths_have_the_mean_that_was_asked_for() {
    // What doesn't fit is put in anyway half the time, and what is there already counts once: both move the
    // mean a little, in opposite directions.
    for length in [10.0, 20.0, 40.0] {
        let found = all(Quest { length, ..PLAIN }, 2);
        let (mean, _) = mean(found.iter().map(|items| items.len() as f64));
        assert!((mean / length - 1.0).abs() < 0.1, "{mean} for {length}");
    }
}

#[test]
fn lengths_are_one_and_a_poisson_number_where_patterns_cannot_disturb_them() {
    // Patterns of one item that are never lost fit always, and with so many of them few come twice.
    let single = Quest {
        pattern: 1.0,
        patterns: 50_000,
        items: 1_000_000,
        correlation: 0.0,
        confidence: 1.0,
        deviation: 0.0,
        ..PLAIN
    };
    let found = all(single, 3);
    let mut seen = [0u32; 40];
    found.iter().for_each(|items| seen[items.len()] += 1);
    let mut probability = (-9.0f64).exp();
    let mut chi_square = 0.0;
    for (more, seen) in seen[1..24].iter().enumerate() {
        if more > 0 {
            probability *= 9.0 / more as f64;
        }
        let expected = probability * 40_000.0;
        chi_square += (f64::from(*seen) - expected).powi(2) / expected;
    }
    // 23 degrees of freedom: above 60 in one case of 30,000.
    assert!(chi_square < 60.0, "{chi_square}");
}

/// Patterns as they are, each by itself: of transactions that have room for one only.
fn patterns(quest: Quest, seed: u64) -> BTreeMap<Vec<u32>, u32> {
    let whole = Quest { length: 1.0, confidence: 1.0, deviation: 0.0, ..quest };
    let mut counts = BTreeMap::new();
    all(whole, seed).into_iter().for_each(|items| *counts.entry(items).or_insert(0) += 1);
    counts
}

#[test]
fn pattern_lengths_and_weights_are_those_of_the_paper() {
    let quest = Quest { patterns: 1000, items: 100_000, correlation: 0.0, count: 400_000, ..PLAIN };
    let found = patterns(quest, 4);
    // Each transaction is one pattern: the first that fits, or the first that is put in anyway.
    let lengths: Vec<f64> = found.keys().map(|items| items.len() as f64).collect();
    let (length, variance) = mean(lengths.iter().copied());
    assert!((length - 4.0).abs() < 0.25, "1 + Poisson(3): {length}");
    assert!((variance - 3.0).abs() < 0.6, "{variance}");
    // Those of one length are drawn by their weights, which are exponential: the deviation is the mean.
    let long: Vec<f64> =
        found.iter().filter(|(items, _)| items.len() == 4).map(|(_, n)| f64::from(*n)).collect();
    let (count, variance) = mean(long.iter().copied());
    assert!((variance.sqrt() / count - 1.0).abs() < 0.2, "{} of {count}", variance.sqrt());
}

#[test]
fn patterns_share_items_with_the_one_before_by_the_correlation() {
    let shared = |correlation| {
        let quest = Quest { patterns: 300, items: 1_000_000, correlation, count: 60_000, ..PLAIN };
        let found = patterns(quest, 5);
        let total: usize = found.keys().map(Vec::len).sum();
        let mut distinct: Vec<u32> = found.into_keys().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        1.0 - distinct.len() as f64 / total as f64
    };
    // Of items by chance nearly none comes twice here.
    assert!(shared(0.0) < 0.01);
    // The share is exponential, cut at 1 and at the length of the previous: below its mean.
    let (some, more) = (shared(0.25), shared(0.5));
    assert!((0.15..0.25).contains(&some), "{some}");
    assert!((0.3..0.45).contains(&more), "{more}");
}

#[test]
fn patterns_lose_items_by_their_confidence() {
    // A pattern of n items keeps n less a geometric number of them.
    let quest = Quest { length: 1.0, patterns: 1, deviation: 0.0, items: 1000, ..PLAIN };
    let whole = all(Quest { confidence: 1.0, ..quest }, 6);
    let size = whole[0].len();
    assert!(size > 2 && whole.iter().all(|items| items.len() == size), "{size}");
    // With room for one item, what is put in anyway is longer; lengths above one are in proportion.
    let found = all(Quest { confidence: 0.5, ..quest }, 6);
    let count = |length| found.iter().filter(|items| items.len() == length).count() as f64;
    for lost in 0..size - 2 {
        let ratio = count(size - lost) / count(size - lost - 1);
        assert!((ratio / 2.0 - 1.0).abs() < 0.2, "half of those that lost {lost} lose one more: {ratio}");
    }
}

#[test]
fn a_block_depends_on_its_number_and_the_seed_only() {
    let generator = Generator::new(PLAIN, 7).unwrap();
    let text = |generator: &Generator, block| {
        let mut text = Vec::new();
        generator.text(block, &mut text);
        text
    };
    let last = text(&generator, 4);
    assert_eq!(generator.blocks(), PLAIN.count.div_ceil(BLOCK));
    assert_eq!(text(&Generator::new(PLAIN, 7).unwrap(), 4), last);
    assert_ne!(text(&generator, 3), text(&generator, 2));
    assert_ne!(text(&Generator::new(PLAIN, 8).unwrap(), 4), last);
    let lines = (0..generator.blocks()).map(|block| text(&generator, block));
    let lines: usize = lines.map(|text| text.iter().filter(|byte| **byte == b'\n').count()).sum();
    assert_eq!(lines as u64, PLAIN.count);
    let more = Generator::new(Quest { count: 1_000_000_000, ..PLAIN }, 7).unwrap();
    assert_eq!(text(&more, 0), text(&generator, 0), "more transactions change none");
    assert!(text(&generator, generator.blocks()).is_empty());
}

#[test]
fn what_cannot_be_is_refused_and_extremes_end() {
    let refused = |quest| Generator::new(quest, 1).unwrap_err().path.to_string();
    assert_eq!(refused(Quest { count: 0, ..PLAIN }), "count");
    assert_eq!(refused(Quest { length: 0.5, ..PLAIN }), "length");
    assert_eq!(refused(Quest { pattern: f64::NAN, ..PLAIN }), "pattern");
    assert_eq!(refused(Quest { patterns: 0, ..PLAIN }), "patterns");
    assert_eq!(refused(Quest { items: 0, ..PLAIN }), "items");
    assert_eq!(refused(Quest { correlation: 1.5, ..PLAIN }), "correlation");
    assert_eq!(refused(Quest { confidence: 0.0, ..PLAIN }), "confidence");
    assert_eq!(refused(Quest { deviation: -1.0, ..PLAIN }), "deviation");
    let few = Quest { count: 100, items: 3, pattern: 50.0, length: 100.0, patterns: 2, ..PLAIN };
    assert_eq!(all(few, 1).len(), 100);
    let lost = Quest { count: 100, confidence: 0.001, deviation: 1.0, patterns: 1, ..PLAIN };
    assert_eq!(all(lost, 1).len(), 100);
}
