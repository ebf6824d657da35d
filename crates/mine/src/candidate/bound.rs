//! How many longer itemsets may follow: an upper bound from the large itemsets of a pass alone.
//!
//! F. Geerts, B. Goethals and J. Van den Bussche, "Tight upper bounds on the number of candidate patterns",
//! ACM TODS 30(2), 2005: theorem 2 (Kruskal and Katona) for all itemsets together, and the same for those
//! with a common beginning.

use crate::items::Level;

/// Where a sum is not told from infinity any more.
const ENDLESS: f64 = 1e30;

/// Itemsets longer than those of a level that may be large when just these are, at most.
pub fn to_come(large: &Level) -> f64 {
    together(large.len() as u64, large.length()).min(by_beginnings(large))
}

/// From their number `large` alone: it is C(a, k) + C(b, k − 1) + … with a > b > …, and C(a, k + p) + C(b, k
/// − 1 + p) + … are at most the itemsets of k + p items.
fn together(large: u64, length: usize) -> f64 {
    let (mut left, mut sum) = (u128::from(large), 0.0);
    for length in (1..=length as u64).rev() {
        if left == 0 {
            break;
        }
        let (items, ways) = items_of(left, length);
        left -= ways;
        sum += longer(items, length, ways as f64);
    }
    sum
}

/// The most items of which there are no more than `ways` sets of `length`, and how many sets that are.
fn items_of(ways: u128, length: u64) -> (u64, u128) {
    if length == 1 {
        return (u64::try_from(ways).unwrap_or(u64::MAX), ways);
    }
    let (mut items, mut found) = (length, 1);
    loop {
        let next = found * u128::from(items + 1) / u128::from(items + 1 - length);
        if next > ways {
            return (items, found);
        }
        (items, found) = (items + 1, next);
    }
}

/// Sets of more than `length` items of so many; `ways` have just `length`.
fn longer(items: u64, length: u64, mut ways: f64) -> f64 {
    let mut sum = 0.0;
    for length in length..items {
        ways *= (items - length) as f64 / (length + 1) as f64;
        sum += ways;
        if sum > ENDLESS {
            return f64::INFINITY;
        }
    }
    sum
}

/// Each longer itemset has the beginning of some, and otherwise last items of these.
fn by_beginnings(large: &Level) -> f64 {
    let beginning = |itemset: &[u32]| itemset[..large.length() - 1].to_vec();
    let (mut sum, mut before, mut items) = (0.0, Vec::new(), 0);
    for (itemset, _) in large.iter() {
        if itemset[..large.length() - 1] != before[..] || items == 0 {
            sum += longer(items, 1, items as f64);
            (before, items) = (beginning(itemset), 0);
        }
        items += 1;
    }
    sum + longer(items, 1, items as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::generate;

    fn pairs(holds: impl Fn(u32, u32) -> bool, items: u32) -> Level {
        let mut level = Level::new(2);
        (0..items).for_each(|a| (a + 1..items).filter(|b| holds(a, *b)).for_each(|b| level.push(&[a, b], 1)));
        level
    }

    #[test]
    fn all_sets_of_some_items_have_all_longer_ones() {
        for items in [3u32, 10, 60] {
            let all = pairs(|_, _| true, items);
            let longer = 2f64.powi(items as i32) - 1.0 - f64::from(items) - all.len() as f64;
            assert!((to_come(&all) / longer - 1.0).abs() < 1e-12, "{items}: {}", to_come(&all));
        }
        assert_eq!(to_come(&pairs(|_, _| true, 2)), 0.0);
        assert_eq!(to_come(&pairs(|_, _| true, 200)), f64::INFINITY);
    }

    #[test]
    fn thirteen_triples_give_at_most_four_and_one_as_in_the_paper() {
        // 13 = C(5, 3) + C(3, 2): at most C(5, 4) + C(3, 3) of four items, and C(5, 5) of five.
        assert_eq!(together(13, 3), 6.0 + 1.0);
    }

    #[test]
    fn there_are_never_more_than_it_says() {
        for step in 2..9 {
            let mut level = pairs(|a, b| (a * 7 + b * 3) % step != 0, 14);
            let mut most = to_come(&level);
            while !level.is_empty() {
                let candidates = generate(&level);
                let mut next = Level::new(level.length() + 1);
                candidates.iter().for_each(|itemset| next.push(itemset, 1));
                assert!(next.len() as f64 <= most, "{step}: {} of {most}", next.len());
                most -= next.len() as f64;
                level = next;
            }
        }
    }
}
