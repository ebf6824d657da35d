//! Apriori against the definition: every subset of every transaction is counted.

use mine::begun::Begun;
use mine::codes::Codes;
use mine::count::{ItemCounts, Triangle, tiles};
use mine::items::{Item, Level};
use mine::journal::{Kept, keep};
use mine::progress::Progress;
use mine::quest::{Generator, Quest};
use mine::single::{Settings, Unfinished, go_on, mine};
use mine::transactions::Transactions;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use units::testing::cases;

/// Few items, so that itemsets are large; some beyond two bytes, some beyond the array of near ones.
fn item() -> impl Strategy<Value = Item> {
    prop_oneof![8 => 0u32..8, 1 => 65_534u32..65_538, 1 => Just(4_294_967_295)]
}

fn database() -> impl Strategy<Value = Vec<BTreeSet<Item>>> {
    prop::collection::vec(prop::collection::btree_set(item(), 1..8), 1..150)
}

fn transactions(database: &[BTreeSet<Item>]) -> Transactions {
    let mut transactions = Transactions::default();
    for items in database {
        transactions.push(&items.iter().copied().collect::<Vec<_>>());
    }
    transactions
}

/// Every itemset that is large, and its count.
fn by_definition(database: &[BTreeSet<Item>], minimum: u64) -> BTreeMap<Vec<Item>, u64> {
    let mut counts = BTreeMap::new();
    for items in database {
        let items: Vec<_> = items.iter().copied().collect();
        for chosen in 1u32..1 << items.len() {
            let subset = (0..items.len()).filter(|at| chosen >> at & 1 == 1).map(|at| items[at]);
            *counts.entry(subset.collect::<Vec<_>>()).or_insert(0) += 1;
        }
    }
    counts.retain(|_, count| *count >= minimum);
    counts
}

fn flat(levels: &[Level]) -> BTreeMap<Vec<Item>, u64> {
    levels.iter().flat_map(Level::iter).map(|(itemset, count)| (itemset.to_vec(), count)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn large_itemsets_are_those_of_the_definition(
        database in database(),
        minimum in 1u64..30,
        memory in prop_oneof![Just(0usize), Just(24), Just(1 << 20)],
        threads in 1usize..4,
    ) {
        let transactions = transactions(&database);
        let settings = Settings { minimum, longest: None, memory, threads };
        let (levels, passes) = mine(transactions, &settings, &Progress::default()).unwrap();
        prop_assert_eq!(flat(&levels), by_definition(&database, minimum));
        for (level, pass) in levels.iter().zip(&passes) {
            prop_assert_eq!(level.len() as u64, pass.large);
            prop_assert!(level.iter().is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn the_longest_itemsets_may_be_limited(database in database(), longest in 1usize..4) {
        let transactions = transactions(&database);
        let settings = Settings { minimum: 2, longest: Some(longest), memory: 1 << 20, threads: 1 };
        let (levels, _) = mine(transactions, &settings, &Progress::default()).unwrap();
        let mut wanted = by_definition(&database, 2);
        wanted.retain(|itemset, _| itemset.len() <= longest);
        prop_assert_eq!(flat(&levels), wanted);
    }

    #[test]
    fn tiles_share_the_pairs_out(database in database(), most in 0u64..50) {
        let transactions = transactions(&database);
        let mut counts = ItemCounts::default();
        transactions.blocks().for_each(|block| counts.add(&block));
        let codes = Codes::new(&counts.iter().map(|(item, _)| item).collect::<Vec<_>>());
        let coded = codes.encode(transactions);
        let several = codes.len() as u32;
        let mut found = BTreeMap::new();
        let mut pairs = BTreeSet::new();
        for rows in tiles(several, 0..several.saturating_sub(1), most) {
            let one = rows.len() == 1;
            let mut triangle = Triangle::new(several, rows);
            prop_assert!(one || triangle.counts().len() as u64 <= most);
            coded.blocks().for_each(|block| triangle.add(&block));
            prop_assert_eq!(triangle.pairs().count(), triangle.counts().len());
            for pair in triangle.pairs() {
                prop_assert!(pairs.insert(pair), "no other tile has it");
            }
            let large = triangle.large(1).map(|(pair, count)| (pair.map(|code| codes.item(code)).to_vec(), count));
            found.extend(large);
        }
        prop_assert_eq!(pairs.len() as u32, several * several.saturating_sub(1) / 2);
        let mut wanted = by_definition(&database, 1);
        wanted.retain(|itemset, _| itemset.len() == 2);
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn who_looks_sees_passes_and_may_stop_them() {
    let database = [BTreeSet::from([1, 2, 3]), BTreeSet::from([1, 2, 3])];
    let settings = Settings { minimum: 1, longest: None, memory: 0, threads: 1 };
    let progress = Progress::default();
    let (_, passes) = mine(transactions(&database), &settings, &progress).unwrap();
    assert_eq!(progress.passes(), passes);
    let figures: Vec<_> =
        passes.iter().map(|pass| (pass.number, pass.candidates, pass.large, pass.scans)).collect();
    assert_eq!(figures, [(1, None, 3, 1), (2, Some(3), 3, 2), (3, Some(1), 1, 1)]);
    assert_eq!(progress.of_pass(), (2, 2));
    progress.stop();
    assert!(mine(transactions(&database), &settings, &progress).is_none());
}

#[test]
fn a_run_goes_on_behind_passes_of_the_same_transactions_and_task() {
    let database = vec![BTreeSet::from_iter(1..=8); 5000];
    let task = Settings { minimum: 5000, longest: Some(4), memory: 1 << 20, threads: 1 };
    let wanted = mine(transactions(&database), &task, &Progress::default()).unwrap();
    // Somebody stops it in pass 3, which scans them 56 times; it may take him several tries.
    let slow = Settings { memory: 0, ..task };
    let stopped = loop {
        let progress = Progress::default();
        let found = std::thread::scope(|scope| {
            let mining = scope.spawn(|| go_on(transactions(&database), &slow, &progress, None));
            while progress.passes().len() < 2 && !mining.is_finished() {
                std::thread::yield_now();
            }
            progress.stop();
            mining.join().unwrap()
        });
        if let Err(Unfinished { begun: Some(begun), .. }) = found {
            break begun;
        }
    };
    assert_eq!(stopped.levels, wanted.0[..stopped.levels.len()]);
    // These are not counted again; another's are not believed.
    let mut marked = stopped.clone();
    marked.passes[1].scans = 77;
    let goes_on = |task: &Settings, database: &[BTreeSet<u32>]| {
        let progress = Progress::default();
        let (found, did) = go_on(transactions(database), task, &progress, kept(&marked)).unwrap();
        assert_eq!((progress.passes(), &found), (did.clone(), &wanted.0));
        did[1].scans
    };
    assert_eq!(goes_on(&task, &database), 77);
    assert_eq!(goes_on(&Settings { minimum: 4999, ..task }, &database), 1);
    let other = [&database[..], &[BTreeSet::from([8, 9])]].concat();
    let found = go_on(transactions(&other), &task, &Progress::default(), kept(&marked)).unwrap();
    assert_eq!(found.1[1].scans, 1);
}

fn kept(begun: &Begun) -> Option<Kept> {
    let mut bytes = Vec::new();
    keep(begun, &mut bytes).unwrap();
    Kept::open(Cursor::new(bytes))
}

#[test]
fn threads_and_windows_change_nothing() {
    let quest = Quest { count: 3000, ..QUEST };
    let mut transactions = Transactions::default();
    let generator = Generator::new(quest, 3).unwrap();
    (0..generator.blocks()).for_each(|block| generator.block(block, |items| transactions.push(items)));
    let found = |memory, threads| {
        let settings = Settings { minimum: 15, longest: None, memory, threads };
        mine(transactions.clone(), &settings, &Progress::default()).unwrap().0
    };
    let alone = found(1 << 26, 1);
    assert!(alone.len() > 4, "long itemsets are there");
    for (memory, threads) in [(1 << 26, 3), (20_000, 1), (30_000, 2)] {
        assert_eq!(found(memory, threads), alone);
    }
}

const QUEST: Quest = Quest {
    count: 0,
    length: 10.0,
    pattern: 4.0,
    patterns: 100,
    items: 200,
    correlation: 0.5,
    confidence: 0.5,
    deviation: 0.1,
};
