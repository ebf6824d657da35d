//! Transactions that memory has no room for: what is found in them is the same.

use mine::progress::Progress;
use mine::quest::{Generator, Quest};
use mine::shelf::{Room, Shelf};
use mine::single::{Settings, mine};
use mine::transactions::Transactions;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct InMemory {
    bytes: Mutex<Vec<u8>>,
    fetched: AtomicUsize,
    broken: bool,
}

impl Shelf for InMemory {
    fn keep(&self, bytes: &[u8]) -> u64 {
        let mut kept = self.bytes.lock().unwrap();
        let at = kept.len() as u64;
        kept.extend_from_slice(bytes);
        at
    }

    fn fetch(&self, at: u64, bytes: &mut [u8]) -> bool {
        bytes.copy_from_slice(&self.bytes.lock().unwrap()[at as usize..][..bytes.len()]);
        self.fetched.fetch_add(1, Relaxed);
        !self.broken
    }
}

/// Some blocks.
fn quest(items: u32, room: Option<Room>) -> Transactions {
    let quest = Quest {
        count: 25_000,
        length: 10.0,
        pattern: 4.0,
        patterns: 200,
        items,
        correlation: 0.5,
        confidence: 0.5,
        deviation: 0.1,
    };
    let generator = Generator::new(quest, 5).unwrap();
    let mut transactions = Transactions::within(room);
    (0..generator.blocks()).for_each(|block| generator.block(block, |items| transactions.push(items)));
    transactions
}

#[test]
fn what_is_found_does_not_depend_on_the_room() {
    // Passes over few items, narrow; a depth-first search of many; items that need wide words.
    for (items, minimum) in [(100, 400), (3000, 25), (80_000, 15)] {
        let settings = Settings { minimum, longest: Some(3), memory: 4 << 20, threads: 1 };
        let wanted = mine(quest(items, None), &settings, &Progress::default()).unwrap().0;
        let digest = quest(items, None).digest();
        assert!(wanted.len() > 2, "there are itemsets of three items");
        for (bytes, threads) in [(0, 1), (200_000, 3)] {
            let shelf = Arc::new(InMemory::default());
            let transactions = quest(items, Some(Room { bytes, shelf: shelf.clone() }));
            assert!(transactions.held().is_none() && transactions.bytes() < bytes + 900_000);
            assert_eq!(transactions.digest(), digest);
            let settings = Settings { threads, ..settings };
            assert_eq!(mine(transactions, &settings, &Progress::default()).unwrap().0, wanted);
            assert!(shelf.fetched.load(Relaxed) > 0);
        }
    }
}

#[test]
fn mining_ends_when_nothing_can_be_fetched() {
    let shelf = Arc::new(InMemory { broken: true, ..InMemory::default() });
    let transactions = quest(100, Some(Room { bytes: 0, shelf }));
    let settings = Settings { minimum: 1, longest: Some(3), memory: 1 << 20, threads: 2 };
    mine(transactions, &settings, &Progress::default());
}
