//! The curve of LRU counts what caches of each size count, one after the other; a sample comes near.

use farmem::cache::{Cache, Policy};
use farmem::curve::Curve;
use farmem::replay::{Counts, Setting, replay};
use farmem::steps::{Step, Steps};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn program(pages: u32, steps: Vec<Step>) -> Steps {
    Steps { steps, pages: (0..u64::from(pages)).collect(), page_bits: 12, ..Steps::default() }
}

fn step(pages: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..pages).prop_map(Step::Read),
        4 => (0..pages).prop_map(Step::Write),
        2 => (0..pages).prop_map(Step::Free),
        2 => (0..pages).prop_map(Step::Dirty),
    ]
}

/// The slow way: what is local and what remote memory has, as maps; times of last accesses searched for the
/// oldest.
fn slow(steps: &Steps, capacity: usize) -> Counts {
    let mut local: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
    let (mut remote, mut known) = (BTreeSet::new(), BTreeSet::new());
    let mut counts = Counts::default();
    for (time, step) in steps.steps.iter().enumerate() {
        let (page, write) = match *step {
            Step::Read(page) => (page, false),
            Step::Write(page) => (page, true),
            Step::Free(page) => {
                local.remove(&page);
                remote.remove(&page);
                known.remove(&page);
                continue;
            }
            Step::Dirty(page) => {
                match local.get_mut(&page) {
                    Some(held) => held.1 = true,
                    None if known.contains(&page) => drop(remote.insert(page)),
                    None => {}
                }
                continue;
            }
        };
        if let Some(held) = local.get_mut(&page) {
            *held = (time, held.1 | write);
            counts.hits += 1;
            continue;
        }
        if local.len() == capacity {
            let (oldest, dirty) =
                local.iter().min_by_key(|(_, held)| held.0).map(|(page, held)| (*page, held.1)).unwrap();
            local.remove(&oldest);
            if dirty {
                counts.written_back += 1;
                counts.sends += 1;
                remote.insert(oldest);
            }
        }
        local.insert(page, (time, write));
        known.insert(page);
        if remote.contains(&page) {
            counts.faults += 1;
            counts.fetched += 1;
            counts.requests += 1;
        } else {
            counts.cold += 1;
        }
    }
    counts
}

proptest! {
    #[test]
    fn all_sizes_at_once(steps in (1..14u32).prop_flat_map(|pages| prop::collection::vec(step(pages), 0..200))) {
        let program = program(14, steps);
        let curve = Curve::new(&program, 1);
        for capacity in 1..17 {
            let counts = slow(&program, capacity as usize);
            prop_assert_eq!(curve.counts(capacity), counts, "{} pages", capacity);
            prop_assert_eq!(replay(&program, &Setting::new(capacity, Policy::Lru)), counts);
            prop_assert_eq!(counts.faults == 0, capacity >= curve.enough().max(1));
        }
    }
}

/// A number that looks random.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    (n ^ (n >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d) >> 11
}

/// Pages of which some are accessed far more often than others, in a loop over all of them now and then.
fn skewed(pages: u32, accesses: u64) -> Steps {
    let page = |n: u64| {
        let random = mixed(n);
        let range = pages >> (random % 6);
        (mixed(random) % u64::from(range)) as u32
    };
    let warm = (0..pages).map(Step::Write);
    let access = |n| if n % 3 == 0 { Step::Write(page(n)) } else { Step::Read(page(n)) };
    program(pages, warm.chain((0..accesses).map(access)).collect())
}

#[test]
fn long_runs_renumber_their_times() {
    let steps = skewed(700, 20_000);
    let curve = Curve::new(&steps, 1);
    for capacity in [1, 10, 100, 300, 699, 700] {
        assert_eq!(curve.counts(capacity), replay(&steps, &Setting::new(capacity, Policy::Lru)));
    }
    assert_eq!(curve.counts(700).faults, 0);
}

#[test]
fn a_sample_comes_near() {
    // 8,000 pages are looked at: as many as the paper's figures have, with errors of about 0.01.
    let steps = skewed(80_000, 300_000);
    let (exact, sample) = (Curve::new(&steps, 1), Curve::new(&steps, 10));
    let accesses = steps.accesses() as f64;
    for capacity in (1..20).map(|n| n * 4000) {
        let (exact, sample) = (exact.counts(capacity), sample.counts(capacity));
        let apart = |a: u64, b: u64| (a as f64 - b as f64).abs() / accesses;
        assert!(apart(exact.faults, sample.faults) < 0.02, "{capacity}: {exact:?}, {sample:?}");
        assert!(apart(exact.written_back, sample.written_back) < 0.02, "{capacity}: {exact:?}, {sample:?}");
        assert_eq!(sample.hits + sample.faults + sample.cold, steps.accesses());
    }
}

#[test]
fn read_ahead_saves_requests_of_a_scan() {
    let scan = (0..100).map(Step::Write);
    let steps = program(100, scan.clone().chain(scan).collect());
    let alone = replay(&steps, &Setting::new(50, Policy::Fifo));
    let several = Setting { read_ahead: 7, pages_a_request: 8, ..Setting::new(50, Policy::Fifo) };
    let ahead = replay(&steps, &several);
    let single = replay(&steps, &Setting { pages_a_request: 1, ..several });
    assert_eq!((alone.faults, alone.fetched, alone.cold), (100, 100, 100));
    // Pages 0 to 49 are remote at first; by the time that the scan comes to 50, these are as well.
    assert_eq!((ahead.faults, ahead.fetched, ahead.requests, ahead.cold), (13, 100, 13, 100));
    assert_eq!(single, Counts { requests: 100, sends: 150, ..ahead });
    // A first access sends a page, a fault as many as come.
    assert_eq!((ahead.written_back, ahead.sends), (150, 50 + 13));
}

#[test]
fn batches_of_evictions_leave_room_for_a_while() {
    let scan = (0..100).map(Step::Write);
    let steps = program(100, scan.clone().chain(scan.rev()).collect());
    let one = replay(&steps, &Setting::new(50, Policy::Fifo));
    let many = replay(&steps, &Setting { batch: 20, ..Setting::new(50, Policy::Fifo) });
    // At the turn 50 pages are local, or after faults at 50, 70 and 90 only 40.
    assert_eq!((one.faults, many.faults), (50, 60));
}

#[test]
fn a_policy_that_is_not_lru_is_a_cache_gone_through() {
    let steps = skewed(300, 5_000);
    for policy in [Policy::Fifo, Policy::Clock] {
        let mut cache = Cache::new(100, policy);
        let mut misses = 0;
        for step in &steps.steps {
            let (Step::Read(page) | Step::Write(page)) = *step else { continue };
            if !cache.touch(u64::from(page), false) {
                misses += 1;
                cache.fault(u64::from(page), false);
            }
        }
        let counts = replay(&steps, &Setting::new(100, policy));
        assert_eq!(counts.faults + counts.cold, misses);
    }
}
