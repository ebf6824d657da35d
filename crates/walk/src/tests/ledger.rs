//! Whatever happens to attempts, each walk is finished once.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

impl Ledger {
    /// The next walk sets out.
    pub(crate) fn begin_next(&mut self) -> Option<(Entry, u16)> {
        let next = self.next(1)?;
        self.begin(next, 1);
        Some((next.first, next.attempt))
    }

    fn walk(&self, entry: Entry) -> (u32, u32) {
        self.walks(entry).next().unwrap()
    }
}

#[test]
fn walks_of_all_start_nodes_take_turns_and_lost_ones_come_first() {
    let mut ledger = Ledger::new(vec![7, 3], 2, u16::MAX, true);
    let (first, attempt) = ledger.begin_next().unwrap();
    assert_eq!((ledger.walk(first), attempt), ((3, 0), 1));
    assert!(ledger.lose(first, 1));
    assert!(!ledger.lose(first, 1), "counted once");
    assert!(!ledger.lose(first, 2), "nobody has begun it");
    assert_eq!(ledger.begin_next(), Some((first, 2)));
    let rest: Vec<_> =
        std::iter::from_fn(|| ledger.begin_next().map(|(entry, _)| ledger.walk(entry))).collect();
    assert_eq!(rest, [(7, 0), (3, 1), (7, 1)]);
    assert_eq!(ledger.entry(7, 1).map(|entry| ledger.walk(entry)), Some((7, 1)));
    assert_eq!((ledger.entry(7, 2), ledger.entry(4, 0)), (None, None));
}

#[test]
fn a_confirmation_is_worth_what_it_is() {
    let mut ledger = Ledger::new(vec![0], 2, u16::MAX, true);
    let (entry, _) = ledger.begin_next().unwrap();
    let unborn = ledger.entry(0, 1).unwrap();
    assert_eq!(ledger.end(unborn, 1), Worth::Unknown, "nobody has begun it");
    ledger.lose(entry, 1);
    assert_eq!(ledger.end(entry, 1), Worth::Late);
    assert_eq!(ledger.end(entry, 2), Worth::Again);
    let (second, _) = ledger.begin_next().unwrap();
    assert_eq!(second, unborn, "the late one is not generated again");
    assert_eq!(ledger.end(second, 1), Worth::Finished);
    assert!(ledger.is_complete() && ledger.begin_next().is_none());
}

#[test]
fn without_regeneration_a_lost_walk_is_given_up_until_it_ends_late() {
    let mut ledger = Ledger::new(vec![0], 1, u16::MAX, false);
    let (entry, _) = ledger.begin_next().unwrap();
    ledger.lose(entry, 1);
    assert!(ledger.is_complete() && ledger.begin_next().is_none());
    assert_eq!((ledger.end(entry, 1), ledger.finished()), (Worth::Late, 1));
    assert!(ledger.is_complete());
}

#[test]
fn a_walk_is_given_up_once_so_many_attempts_became_overdue_whatever_was_dropped() {
    for most in [1, 2, 3, 1000] {
        let mut ledger = Ledger::new(vec![0], 1, most, true);
        for overdue in 0..most {
            for _ in 0..3 {
                let (entry, attempt) = ledger.begin_next().unwrap();
                assert!(ledger.lose(entry, attempt), "a queue has dropped it");
            }
            let (entry, attempt) = ledger.begin_next().unwrap();
            assert_eq!((ledger.given_up(), ledger.is_complete()), (0, false), "{overdue} of {most}");
            assert_eq!(ledger.time_out_all(entry, 1, attempt), 1);
        }
        assert_eq!((ledger.begin_next(), ledger.given_up(), ledger.finished()), (None, 1, 0));
        assert!(ledger.is_complete());
        // Whatever attempt comes to its end after all, even one that a stranger has made up.
        let entry = ledger.entry(0, 0).unwrap();
        let due = ledger.attempts[0];
        for (attempt, worth) in [(1, Worth::Late), (due, Worth::Finished)] {
            let mut ledger = ledger.clone();
            assert_eq!((ledger.end(entry, attempt), ledger.given_up()), (worth, 0));
            assert!(ledger.is_complete());
        }
    }
}

#[test]
fn a_snapshot_of_another_job_or_a_damaged_one_is_refused() {
    let mut bytes = Vec::new();
    Ledger::new(vec![1, 2], 5, u16::MAX, true).save(&mut bytes);
    for other in [Ledger::new(vec![1, 2], 4, u16::MAX, true), Ledger::new(vec![1, 3], 5, u16::MAX, true)] {
        assert!(matches!(other.clone().restore(&bytes), Err(SnapshotError::Other(_))));
    }
    let mut same = Ledger::new(vec![1, 2], 5, u16::MAX, true);
    assert_eq!(same.restore(&bytes[..bytes.len() - 1]), Err(SnapshotError::Damaged));
    *bytes.last_mut().unwrap() = 0x80;
    assert_eq!(same.restore(&bytes), Err(SnapshotError::Damaged));
}

proptest! {
    #[test]
    fn each_walk_is_finished_once_whatever_happens(
        starts in proptest::collection::btree_set(0u32..50, 1..9), walks in 1u32..20,
        moves in proptest::collection::vec((0u8..5, any::<prop::sample::Index>()), 0..400)
    ) {
        let mut ledger = Ledger::new(starts.into_iter().collect(), walks, u16::MAX, true);
        let (mut seen, mut finished) = (Vec::new(), BTreeSet::new());
        let mut under_way = BTreeSet::new();
        let (mut generated, mut begun) = (0, BTreeSet::new());
        for (what, which) in moves {
            match what {
                0 | 1 => {
                    let most = 1 + which.index(9) as u32;
                    let Some(next) = ledger.next(most) else { continue };
                    prop_assert!((1..=most).contains(&next.count));
                    let count = 1 + which.index(next.count as usize) as u32;
                    ledger.begin(next, count);
                    let walks: Vec<_> = ledger.walks(next.first).take(count as usize).collect();
                    for (number, (start, walk)) in (0..count).zip(walks) {
                        let entry = next.first.plus(number);
                        prop_assert_eq!(ledger.entry(start, walk), Some(entry));
                        prop_assert!(under_way.insert(entry));
                        seen.push((entry, next.attempt));
                        generated += 1;
                        begun.insert(entry);
                    }
                }
                _ if seen.is_empty() => {}
                2 => {
                    let (entry, attempt) = seen[which.index(seen.len())];
                    let news = ledger.lose(entry, attempt);
                    prop_assert!(!(news && finished.contains(&entry)));
                    prop_assert!(!news || under_way.remove(&entry));
                }
                3 => {
                    let (entry, attempt) = seen[which.index(seen.len())];
                    let worth = ledger.end(entry, attempt);
                    prop_assert_eq!(matches!(worth, Worth::Finished | Worth::Late), finished.insert(entry));
                    under_way.remove(&entry);
                }
                _ => {
                    let mut bytes = Vec::new();
                    ledger.save(&mut bytes);
                    prop_assert_eq!(ledger.restore(&bytes), Ok(&[][..]));
                    // A walk that set out before belongs to an earlier life.
                    seen.iter_mut().for_each(|(_, attempt)| *attempt = 0);
                    under_way.clear();
                }
            }
            prop_assert_eq!(ledger.finished(), finished.len() as u64);
            prop_assert_eq!(ledger.under_way(), under_way.len() as u64);
            prop_assert_eq!(ledger.additional(), generated - begun.len() as u64);
        }
        // Everything that is left can still be finished.
        for (entry, attempt) in seen {
            ledger.lose(entry, attempt);
        }
        while let Some((entry, attempt)) = ledger.begin_next() {
            ledger.end(entry, attempt);
        }
        prop_assert!(ledger.is_complete());
        prop_assert_eq!(ledger.finished(), ledger.required());
    }
}
