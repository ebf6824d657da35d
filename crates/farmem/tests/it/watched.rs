//! Of what is seen of accesses, as much comes out as can: with all pages watched, CLOCK and LRU are exact.

use farmem::cache::{Cache, Policy};
use farmem::watched::Watched;
use proptest::prelude::*;

/// Faults of a string of references in a cache that sees all of them.
fn exact(capacity: u32, policy: Policy, references: &[u64]) -> Vec<u64> {
    let mut cache = Cache::new(capacity, policy);
    let miss = |page: &u64| {
        let hit = cache.touch(*page, false);
        if !hit {
            cache.fault(*page, false);
        }
        !hit
    };
    references.iter().copied().filter(miss).collect()
}

/// A program behind a handler of faults.
struct Program {
    cache: Watched,
    /// Pages that the program can use without a fault.
    reach: std::collections::BTreeSet<u64>,
    soft: usize,
}

impl Program {
    fn new(cache: Watched) -> Program {
        Program { cache, reach: Default::default(), soft: 0 }
    }

    /// Whether an access fetches.
    fn access(&mut self, page: u64) -> bool {
        if self.reach.contains(&page) {
            return false;
        }
        let fetches = !self.cache.contains(page);
        if fetches {
            while self.cache.is_full() {
                let gone = self.cache.evict().unwrap();
                self.reach.remove(&gone.page);
            }
            self.cache.fault(page, false);
        } else {
            assert!(self.cache.access(page, false), "a page within reach does not fault");
            self.soft += 1;
        }
        self.reach.insert(page);
        while let Some(next) = self.cache.watch() {
            assert!(self.reach.remove(&next.page));
        }
        fetches
    }
}

fn seen(cache: Watched, references: &[u64]) -> (Vec<u64>, usize) {
    let mut program = Program::new(cache);
    let faults = references.iter().copied().filter(|page| program.access(*page)).collect();
    (faults, program.soft)
}

fn references() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..30u64, 1..300)
}

proptest! {
    #[test]
    fn exact_where_all_is_watched(capacity in 2..20u32, references in references()) {
        for policy in [Policy::Clock, Policy::Lru] {
            let (faults, _) = seen(Watched::with_reach(capacity, policy, 0), &references);
            prop_assert_eq!(faults, exact(capacity, policy, &references), "{}", policy.name());
        }
    }

    #[test]
    fn first_in_first_out_is_exact_and_sees_nothing(capacity in 1..20u32, references in references()) {
        let (faults, soft) = seen(Watched::new(capacity, Policy::Fifo), &references);
        prop_assert_eq!((faults, soft), (exact(capacity, Policy::Fifo, &references), 0));
    }

    #[test]
    fn it_holds_what_it_can_hold(
        capacity in 1..20u32,
        steps in prop::collection::vec((0..30u64, 0..8u8), 1..300),
    ) {
        for policy in Policy::ALL {
            let mut program = Program::new(Watched::new(capacity, policy));
            for (page, what) in &steps {
                if *what == 0 {
                    program.cache.remove(*page);
                    program.reach.remove(page);
                    prop_assert!(!program.cache.contains(*page));
                } else {
                    program.access(*page);
                    prop_assert!(program.cache.contains(*page));
                }
                prop_assert!(program.cache.len() <= capacity);
                prop_assert!(program.reach.iter().all(|page| program.cache.contains(*page)));
            }
        }
    }
}

/// Zipf's law, exponent 0.9, over so many pages that lie anywhere.
fn zipf(pages: u64, many: usize) -> Vec<u64> {
    let mut sums = vec![0.0];
    (1..=pages).for_each(|rank| sums.push(sums[sums.len() - 1] + (rank as f64).powf(-0.9)));
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..many).map(|_| sums.partition_point(|sum| *sum < draw() * sums[sums.len() - 1]) as u64).collect()
}

#[test]
fn what_is_watched_comes_close_to_the_policy() {
    let references = zipf(4000, 200_000);
    // The most beyond the policy's own faults; and of that what FIFO has, where the policy makes a
    // difference.
    for (policy, beyond, of_fifo) in [(Policy::Clock, 1.06, 0.15), (Policy::Lru, 1.04, 0.2)] {
        for capacity in [200, 1000, 2000] {
            let all = exact(capacity, policy, &references).len() as f64;
            let fifo = exact(capacity, Policy::Fifo, &references).len() as f64;
            let (faults, soft) = seen(Watched::new(capacity, policy), &references);
            let faults = faults.len() as f64;
            assert!(faults <= beyond * all, "{} {capacity}: {faults} against {all}", policy.name());
            assert!(
                faults - all <= of_fifo * (fifo - all),
                "{} {capacity}: {faults}, {all}, {fifo}",
                policy.name()
            );
            assert!(soft < references.len() / 2);
        }
    }
}
