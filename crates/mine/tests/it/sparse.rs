//! Sparse transactions are searched depth-first: what is found is what passes find, from any row on and after
//! a stop.

use mine::codes::{Codes, large};
use mine::count::ItemCounts;
use mine::items::Level;
use mine::journal::{Kept, keep};
use mine::progress::Progress;
use mine::single::{Settings, go_on, mine};
use mine::sparse::{Found, Occurrences, Task};
use mine::transactions::Transactions;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Cursor;

fn transactions(database: &[BTreeSet<u32>]) -> Transactions {
    let mut transactions = Transactions::default();
    for items in database {
        transactions.push(&items.iter().copied().collect::<Vec<_>>());
    }
    transactions
}

/// The itemsets of a search whose first code is one of the first so many.
fn before(rows: u32, found: &Found) -> Vec<Level> {
    let some = |level: &Level| {
        let mut some = Level::new(level.length());
        let begin = level.iter().filter(|(codes, _)| codes[0] < rows);
        begin.for_each(|(codes, count)| some.push(codes, count));
        some
    };
    found.levels.iter().map(some).filter(|level| !level.is_empty()).collect()
}

proptest! {
    #[test]
    fn a_search_finds_what_passes_find_from_any_row_on(
        database in prop::collection::vec(prop::collection::btree_set(0u32..12, 1..9), 1..80),
        minimum in 1u64..20,
        longest in prop_oneof![1usize..5, Just(usize::MAX)],
        threads in 1usize..4,
        row in 0u32..14,
    ) {
        let mut counts = ItemCounts::default();
        transactions(&database).blocks().for_each(|block| counts.add(&block));
        let first = large(&counts, minimum);
        let codes = Codes::of(&first);
        let occurrences = Occurrences::new(codes.encode(transactions(&database)), codes.len() as u32);
        let task = Task { minimum, longest, room: 1 << 20 };
        let found = occurrences.search(0, &task, threads, &Progress::default());
        let mut decoded = found.levels.clone();
        decoded.iter_mut().for_each(|level| codes.decode(level));
        let settings = Settings { minimum, longest: Some(longest), memory: 1 << 20, threads: 1 };
        let (levels, _) = mine(transactions(&database), &settings, &Progress::default()).unwrap();
        prop_assert_eq!(&decoded[..], levels.get(1..).unwrap_or(&[]));

        let row = row.min(codes.len() as u32);
        let mut again = Found { levels: before(row, &found), rows: row, full: None };
        again.append(occurrences.search(row, &task, threads, &Progress::default()).levels);
        prop_assert_eq!(again.levels, found.levels);
    }
}

#[test]
fn a_search_that_was_stopped_goes_on_where_it_was() {
    // Pairs of 3,000 items, and ten that are in many transactions, so that rows take long enough to be
    // stopped between.
    let database: Vec<BTreeSet<u32>> = (0..20_000u32)
        .map(|at| {
            let few = [at * 7 % 3000, at * 31 % 3000, at * 57 % 2999];
            few.into_iter().chain((3000..3010).filter(|often| at % (often - 2990) < 3)).collect()
        })
        .collect();
    let settings = Settings { minimum: 4, longest: None, memory: 1 << 24, threads: 2 };
    let (wanted, passes) = mine(transactions(&database), &settings, &Progress::default()).unwrap();
    assert_eq!(passes[1].candidates, None, "sparse transactions have no candidates");
    let mut stops = 0;
    let mut begun = None;
    let (found, did) = loop {
        let progress = Progress::default();
        let result = std::thread::scope(|scope| {
            let mining = scope.spawn(|| go_on(transactions(&database), &settings, &progress, begun.take()));
            while stops < 3 && progress.passes().is_empty() && !mining.is_finished() {
                std::thread::yield_now();
            }
            if stops < 3 {
                progress.stop();
            }
            mining.join().unwrap()
        });
        match result {
            Ok(found) => break found,
            Err(unfinished) => {
                let mut bytes = Vec::new();
                keep(&unfinished.begun.unwrap(), &mut bytes).unwrap();
                begun = Kept::open(Cursor::new(bytes));
            }
        }
        stops += 1;
    };
    assert_eq!((found, did), (wanted, passes));
}
