//! Journals: one for servers in memory, and what is read of one that is cut or damaged.

use crate::journal::{Batch, sound};
use crate::ledger::{Ledger, SnapshotError};
use crate::sink::{Ends, FinishedWalk, Sink};
use crate::store::{self, Store};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// A journal that begins again with a snapshot at every fourth time.
#[derive(Clone)]
pub struct Log(Arc<Mutex<(Vec<u8>, Batch, u32)>>);

impl Default for Log {
    fn default() -> Log {
        Log(Arc::new(Mutex::new((Vec::new(), Batch::new(false), 0))))
    }
}

impl Store for Log {
    fn save(&mut self, snapshot: &dyn Fn() -> Vec<u8>) -> bool {
        let mut inner = self.0.lock().unwrap();
        let (journal, batch, saves) = &mut *inner;
        batch.take(|record| journal.extend_from_slice(record));
        *saves += 1;
        if *saves % 4 == 0 {
            *journal = snapshot();
        }
        true
    }

    /// What had not been written is gone with the process.
    fn load(&mut self) -> Option<Vec<u8>> {
        let mut inner = self.0.lock().unwrap();
        inner.1 = Batch::new(false);
        (!inner.0.is_empty()).then(|| inner.0.clone())
    }
}

/// A sink, and a log of what goes into it.
pub struct Logged<S>(pub S, pub Log);

impl<S: Sink> Sink for Logged<S> {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.1.0.lock().unwrap().1.add(walk);
        self.0.finished(walk);
    }

    fn recall(&mut self, walk: &FinishedWalk<'_>) {
        self.0.recall(walk);
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        self.0.restore(state)
    }
}

/// Walks of a source, as they were finished.
struct Paths(Vec<(u32, u32, Vec<u32>)>);

impl Sink for Paths {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.0.push((walk.start, walk.number, walk.path.to_vec()));
    }

    fn save(&self, _: &mut Vec<u8>) {}

    fn restore(&mut self, _: Option<&[u8]>) -> bool {
        self.0.clear();
        true
    }
}

const STARTS: u32 = 6;
const WALKS: u32 = 40;

fn ledger() -> Ledger {
    Ledger::new((0..STARTS).collect(), WALKS, u16::MAX, true)
}

/// Different walks, in any order.
fn finished() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let all: Vec<_> = (0..STARTS).flat_map(|start| (0..WALKS).map(move |number| (start, number))).collect();
    (0..all.len()).prop_flat_map(move |most| proptest::sample::subsequence(all.clone(), most).prop_shuffle())
}

fn end(start: u32, number: u32) -> u32 {
    (start * 7 + number) % 5
}

/// A journal of these walks: a snapshot of the first `kept`, and batches of `each`.
fn written(walks: &[(u32, u32)], kept: usize, each: usize) -> Vec<u8> {
    let (kept, later) = walks.split_at(kept.min(walks.len()));
    let mut journal = Vec::new();
    if !kept.is_empty() {
        let (mut ledger, mut ends) = (ledger(), Ends::default());
        for &(start, number) in kept {
            ledger.recall(ledger.entry(start, number).unwrap());
            *ends.counts.entry((start, end(start, number))).or_default() += 1;
        }
        journal = store::encode(3, &ledger, &ends);
    }
    let mut batch = Batch::new(false);
    for walks in later.chunks(each) {
        for &(start, number) in walks {
            batch.add(&FinishedWalk { start, number, end: end(start, number), steps: 9, path: &[] });
        }
        batch.take(|record| journal.extend_from_slice(record));
    }
    journal
}

fn counted(ends: &Ends) -> u64 {
    ends.counts.values().sum()
}

proptest! {
    #[test]
    fn of_a_journal_that_is_torn_the_beginning_is_read(
        walks in finished(), kept in 0usize..60, each in 1usize..30, at: prop::sample::Index
    ) {
        let journal = written(&walks, kept, each);
        let (mut whole, mut ends) = (ledger(), Ends::default());
        let life = store::decode(&journal, &mut whole, &mut ends);
        prop_assert_eq!(life, Ok(if kept.min(walks.len()) > 0 { 3 } else { 0 }));
        prop_assert_eq!((whole.finished(), counted(&ends)), (walks.len() as u64, walks.len() as u64));
        prop_assert_eq!(sound(&journal), journal.len());
        let torn = &journal[..at.index(journal.len() + 1)];
        let (mut part, mut fewer) = (ledger(), Ends::default());
        let read = store::decode(torn, &mut part, &mut fewer);
        if sound(torn) == 0 && !torn.is_empty() {
            prop_assert_eq!(read, Err(SnapshotError::Damaged));
        } else {
            prop_assert!(read.is_ok());
            prop_assert_eq!(part.finished(), counted(&fewer));
            // What is behind is appended where it was cut.
            let mut mended = torn[..sound(torn)].to_vec();
            mended.extend_from_slice(&journal[sound(torn)..]);
            prop_assert_eq!(mended, journal);
        }
    }

    #[test]
    fn a_damaged_byte_ends_what_is_read(
        walks in finished(), kept in 0usize..60, at: prop::sample::Index, to in 1u8..
    ) {
        let mut journal = written(&walks, kept, 7);
        prop_assume!(!journal.is_empty());
        let at = at.index(journal.len());
        journal[at] ^= to;
        prop_assert!(sound(&journal) <= at);
        let (mut ledger, mut ends) = (ledger(), Ends::default());
        match store::decode(&journal, &mut ledger, &mut ends) {
            Ok(_) => prop_assert_eq!(ledger.finished(), counted(&ends)),
            Err(error) => prop_assert_eq!((error, ledger.finished()), (SnapshotError::Damaged, 0)),
        }
    }

    #[test]
    fn paths_come_back_as_they_were(lengths in proptest::collection::vec(1usize..9, 0..WALKS as usize)) {
        let walks: Vec<(u32, u32, Vec<u32>)> =
            lengths.iter().zip(0..).map(|(length, number)| (2, number, vec![number; *length])).collect();
        let mut batch = Batch::new(true);
        for (start, number, path) in &walks {
            let (start, number, steps) = (*start, *number, path.len() as u32 - 1);
            batch.add(&FinishedWalk { start, number, end: number, steps, path });
        }
        let journal = batch.take(<[u8]>::to_vec).unwrap_or_default();
        let mut found = Paths(Vec::new());
        prop_assert_eq!(store::decode(&journal, &mut ledger(), &mut found), Ok(0));
        prop_assert_eq!(found.0, walks);
        prop_assert!(batch.take(|_| ()).is_none());
    }
}

#[test]
fn a_walk_is_read_once_and_a_foreign_one_never() {
    let record = |start: u32, number: u32| {
        let mut batch = Batch::new(false);
        batch.add(&FinishedWalk { start, number, end: 0, steps: 1, path: &[] });
        batch.take(<[u8]>::to_vec).unwrap()
    };
    let twice = [record(1, 1), record(1, 1)].concat();
    let (mut restored, mut ends) = (ledger(), Ends::default());
    assert_eq!(store::decode(&twice, &mut restored, &mut ends), Ok(0));
    assert_eq!((restored.finished(), counted(&ends)), (1, 1));
    for foreign in [record(STARTS, 0), record(0, WALKS)] {
        let mut ledger = ledger();
        let read = store::decode(&foreign, &mut ledger, &mut Ends::default());
        assert!(matches!(read, Err(SnapshotError::Other(_))));
        assert_eq!(ledger.finished(), 0);
    }
}
