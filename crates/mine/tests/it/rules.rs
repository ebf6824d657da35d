//! Rules, maximal and closed itemsets against their definitions.

use mine::condense::{Kind, condense};
use mine::items::{Item, Level};
use mine::progress::Progress;
use mine::rules::{Rule, rules};
use mine::single::{Settings, mine};
use mine::transactions::Transactions;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn levels(database: &[BTreeSet<Item>], minimum: u64) -> Vec<Level> {
    let mut transactions = Transactions::default();
    for items in database {
        transactions.push(&items.iter().copied().collect::<Vec<_>>());
    }
    let settings = Settings { minimum, longest: None, memory: 1 << 20, threads: 1 };
    mine(transactions, &settings, &Progress::default()).unwrap().0
}

fn flat(levels: &[Level]) -> BTreeMap<BTreeSet<Item>, u64> {
    let pairs = levels.iter().flat_map(Level::iter);
    pairs.map(|(itemset, count)| (itemset.iter().copied().collect(), count)).collect()
}

fn database() -> impl Strategy<Value = Vec<BTreeSet<Item>>> {
    prop::collection::vec(prop::collection::btree_set(0u32..7, 1..7), 1..60)
}

proptest! {
    #[test]
    fn rules_are_all_divisions_that_are_right_often_enough(
        database in database(),
        minimum in 1u64..10,
        percent in 0u32..=100,
        most in prop_oneof![Just(usize::MAX), 1..20usize],
    ) {
        let confidence = f64::from(percent) / 100.0;
        let levels = levels(&database, minimum);
        let large = flat(&levels);
        let mut wanted = BTreeSet::new();
        for (itemset, both) in &large {
            let items: Vec<_> = itemset.iter().copied().collect();
            for chosen in 1u32..(1 << items.len()) - 1 {
                let (a, c): (BTreeSet<Item>, BTreeSet<Item>) =
                    items.iter().partition(|item| chosen >> items.iter().position(|i| i == *item).unwrap() & 1 == 1);
                if *both as f64 / large[&a] as f64 >= confidence {
                    wanted.insert((a.clone(), c.clone(), *both, large[&a], large[&c]));
                }
            }
        }
        let mut found = BTreeSet::new();
        let ended = rules(&levels, confidence, |rule| {
            let set = |items: &[Item]| items.iter().copied().collect::<BTreeSet<_>>();
            let (a, c) = (set(&rule.antecedent), set(&rule.consequent));
            assert!(found.insert((a, c, rule.both, rule.with_antecedent, rule.with_consequent)), "once each");
            if found.len() < most { Ok(()) } else { Err("enough") }
        });
        prop_assert_eq!(ended.is_err(), wanted.len() >= most);
        if ended.is_err() {
            prop_assert!(found.len() == most && found.is_subset(&wanted));
            return Ok(());
        }
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn maximal_and_closed_are_those_that_nothing_covers(database in database(), minimum in 1u64..10) {
        let levels = levels(&database, minimum);
        let large = flat(&levels);
        for kind in [Kind::Maximal, Kind::Closed] {
            let mut wanted = large.clone();
            wanted.retain(|itemset, count| !large.iter().any(|(other, others)| {
                other.len() > itemset.len() && other.is_superset(itemset) && (kind == Kind::Maximal || others == count)
            }));
            prop_assert_eq!(flat(&condense(&levels, kind)), wanted);
        }
    }
}

#[test]
fn measures_worked_by_hand() {
    // Of 10 transactions 5 hold a, 4 hold c, 3 hold both.
    let mut rule =
        Rule { antecedent: vec![1], consequent: vec![2], both: 3, with_antecedent: 5, with_consequent: 4 };
    let found = rule.measures(10);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    near(found.confidence, 0.6);
    near(found.lift, 1.5);
    near(found.leverage, 0.1);
    near(found.conviction, 1.5);
    near(found.zhangs_metric, 0.1 / 0.15);
    near(found.jaccard, 0.5);
    near(found.certainty, 1.0 / 3.0);
    near(found.kulczynski, 0.675);
    rule.both = 5;
    rule.with_consequent = 10;
    let sure = rule.measures(10);
    assert_eq!((sure.conviction, sure.certainty, sure.zhangs_metric), (f64::INFINITY, 0.0, 0.0));
}
