//! The cache does what a list of pages does that is searched from its front each time.

use farmem::cache::{Cache, Evicted, Policy};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Access(u64, bool),
    Dirty(u64),
    Free(u64),
    Evict,
    MakeRoom(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    page: u64,
    dirty: bool,
    accessed: bool,
}

/// The oldest first.
struct Model {
    capacity: usize,
    policy: Policy,
    held: Vec<Held>,
}

fn evicted(held: Held) -> Evicted {
    Evicted { page: held.page, dirty: held.dirty }
}

impl Model {
    fn evict(&mut self) -> Option<Evicted> {
        while self.policy == Policy::Clock && self.held.first()?.accessed {
            let spared = self.held.remove(0);
            self.held.push(Held { accessed: false, ..spared });
        }
        (!self.held.is_empty()).then(|| evicted(self.held.remove(0)))
    }

    fn touch(&mut self, page: u64, write: bool) -> bool {
        let Some(at) = self.held.iter().position(|held| held.page == page) else { return false };
        self.held[at].dirty |= write;
        self.held[at].accessed = true;
        if self.policy == Policy::Lru {
            let held = self.held.remove(at);
            self.held.push(held);
        }
        true
    }

    fn mark_dirty(&mut self, page: u64) -> bool {
        let held = self.held.iter_mut().find(|held| held.page == page);
        held.map(|held| held.dirty = true).is_some()
    }

    fn fault(&mut self, page: u64, write: bool) -> Option<Evicted> {
        let gone = if self.held.len() == self.capacity { self.evict() } else { None };
        self.held.push(Held { page, dirty: write, accessed: false });
        gone
    }

    fn remove(&mut self, page: u64) -> Option<Evicted> {
        let at = self.held.iter().position(|held| held.page == page)?;
        Some(evicted(self.held.remove(at)))
    }
}

/// Numbers that collide in a table, neighbours, and the ends.
fn page() -> impl Strategy<Value = u64> {
    prop_oneof![0..24u64, (0..24u64).prop_map(|n| n << 52), (0..4u64).prop_map(|n| u64::MAX - n)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (page(), any::<bool>()).prop_map(|(page, write)| Step::Access(page, write)),
        2 => page().prop_map(Step::Free),
        1 => page().prop_map(Step::Dirty),
        1 => Just(Step::Evict),
        1 => (0..5u32).prop_map(Step::MakeRoom),
    ]
}

fn same(capacity: u32, policy: Policy, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut cache = Cache::new(capacity, policy);
    let mut model = Model { capacity: capacity as usize, policy, held: Vec::new() };
    for step in steps {
        match *step {
            Step::Access(page, write) => {
                let hit = cache.touch(page, write);
                prop_assert_eq!(hit, model.touch(page, write));
                if !hit {
                    prop_assert_eq!(cache.fault(page, write), model.fault(page, write));
                }
            }
            Step::Free(page) => prop_assert_eq!(cache.remove(page), model.remove(page)),
            Step::Dirty(page) => prop_assert_eq!(cache.mark_dirty(page), model.mark_dirty(page)),
            Step::Evict => prop_assert_eq!(cache.evict(), model.evict()),
            Step::MakeRoom(pages) => {
                let full = model.held.len() == model.capacity;
                let mut gone = Vec::new();
                cache.make_room(pages, |each| gone.push(each));
                let expected: Vec<_> =
                    (0..if full { pages } else { 0 }).map_while(|_| model.evict()).collect();
                prop_assert_eq!(gone, expected);
            }
        }
        let held: Vec<_> = model.held.iter().copied().map(evicted).collect();
        prop_assert_eq!(cache.pages().collect::<Vec<_>>(), held);
        prop_assert_eq!(cache.len() as usize, model.held.len());
        prop_assert_eq!(cache.is_full(), model.held.len() == model.capacity);
    }
    Ok(())
}

proptest! {
    #[test]
    fn as_a_list(capacity in 1..20u32, steps in prop::collection::vec(step(), 0..150)) {
        for policy in Policy::ALL {
            same(capacity, policy, &steps)?;
        }
    }
}

/// Faults of a string of references.
fn faults(capacity: u32, policy: Policy, references: &[u64]) -> usize {
    let mut cache = Cache::new(capacity, policy);
    let miss = |page: &&u64| {
        let hit = cache.touch(**page, false);
        if !hit {
            cache.fault(**page, false);
        }
        !hit
    };
    references.iter().filter(miss).count()
}

#[test]
fn beladys_anomaly_comes_out_of_fifo_only() {
    // Belady, Nelson, Shedler, CACM 12 (1969): with FIFO, four frames fault more often than three.
    let references = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    assert_eq!([3, 4].map(|frames| faults(frames, Policy::Fifo, &references)), [9, 10]);
    assert_eq!([3, 4].map(|frames| faults(frames, Policy::Lru, &references)), [10, 8]);
}

#[test]
fn the_textbooks_string_of_references() {
    // Silberschatz, Galvin, Gagne, Operating System Concepts, section 10.4: three frames, 15 faults with
    // FIFO, 12 with LRU.
    let references = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
    assert_eq!(faults(3, Policy::Fifo, &references), 15);
    assert_eq!(faults(3, Policy::Lru, &references), 12);
}

#[test]
fn a_page_that_is_read_and_written_again_is_clean_again() {
    let mut cache = Cache::new(1, Policy::Fifo);
    assert_eq!(cache.fault(1, true), None);
    assert_eq!(cache.fault(2, false), Some(Evicted { page: 1, dirty: true }));
    assert_eq!(cache.fault(1, false), Some(Evicted { page: 2, dirty: false }));
    assert!(cache.touch(1, true));
    assert_eq!(cache.evict(), Some(Evicted { page: 1, dirty: true }));
    assert!(cache.is_empty());
}
