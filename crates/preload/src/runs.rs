//! Runs of pages: large allocations and anonymous mappings. First the smallest that fits, else from the end.
//!
//! What malloc gets back is kept with its pages, like what heaps keep. What munmap(2) gets back is gone, and
//! zero when it comes again.

use crate::areas;
use crate::config::config;
use crate::layout::{self, ALL_HEAPS, BASE, BYTES};
use crate::lock::Lock;
use std::collections::{BTreeMap, BTreeSet};
use sys::userfaultfd::Range;

/// Runs, by offsets into the program's memory.
pub(crate) struct Runs {
    /// Bytes by start of what is free; neighbours are joined.
    free: BTreeMap<usize, usize>,
    /// The same by size.
    sizes: BTreeSet<(usize, usize)>,
    /// Bytes by start of what malloc has.
    allocated: BTreeMap<usize, usize>,
    /// Bytes by start of mappings, where pages of remote memory are larger than the processor's.
    mapped: BTreeMap<usize, usize>,
    end: usize,
}

/// The runs of the program.
pub(crate) static RUNS: Lock<Runs> = Lock::new(Runs {
    free: BTreeMap::new(),
    sizes: BTreeSet::new(),
    allocated: BTreeMap::new(),
    mapped: BTreeMap::new(),
    end: ALL_HEAPS,
});

/// A run that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Its address.
    pub(crate) start: usize,
    /// Whether it was somebody's before.
    pub(crate) used: bool,
}

/// All that was ever given.
pub(crate) fn range() -> Range {
    // Only the end is read, and whoever moves it may be waiting for the reader.
    let end = END.load(std::sync::atomic::Ordering::Relaxed).max(ALL_HEAPS);
    Range { start: layout::start() + ALL_HEAPS, bytes: end - ALL_HEAPS }
}

static END: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Whole pages of remote memory.
pub(crate) fn whole(bytes: usize) -> usize {
    bytes.next_multiple_of(config().page)
}

impl Runs {
    /// A run of at least so many bytes.
    pub(crate) fn find(&mut self, bytes: usize, align: usize) -> Option<Run> {
        if bytes > BYTES {
            return None;
        }
        let (bytes, page) = (whole(bytes), config().page);
        if align > page {
            // The part before the first multiple goes back at once.
            let run = self.find(bytes + align, page)?;
            let start = run.start.next_multiple_of(align);
            self.put(run.start, start - run.start);
            self.put(start + bytes, run.start + whole(align) - start);
            return Some(Run { start, ..run });
        }
        let found = self.sizes.range((bytes, 0)..).next().copied();
        if let Some((size, at)) = found {
            self.unlink(at, size);
            if size > bytes {
                self.link(at + bytes, size - bytes);
            }
            return Some(Run { start: layout::start() + at, used: true });
        }
        let at = self.end;
        if at + bytes > BYTES {
            return None;
        }
        areas::reserve(Range { start: layout::start() + at, bytes });
        self.end += bytes;
        END.store(self.end, std::sync::atomic::Ordering::Relaxed);
        Some(Run { start: layout::start() + at, used: false })
    }

    /// A run is free.
    pub(crate) fn put(&mut self, start: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let (mut at, mut size) = (start - layout::start(), bytes);
        if let Some((&before, &its)) = self.free.range(..at).next_back()
            && before + its == at
        {
            self.unlink(before, its);
            (at, size) = (before, size + its);
        }
        if let Some(&its) = self.free.get(&(at + size)) {
            self.unlink(at + size, its);
            size += its;
        }
        self.link(at, size);
    }

    fn link(&mut self, at: usize, size: usize) {
        self.free.insert(at, size);
        self.sizes.insert((size, at));
    }

    fn unlink(&mut self, at: usize, size: usize) {
        self.free.remove(&at);
        self.sizes.remove(&(size, at));
    }

    /// A run for malloc.
    pub(crate) fn allocate(&mut self, bytes: usize, align: usize) -> Option<Run> {
        let run = self.find(bytes, align)?;
        self.allocated.insert(run.start, whole(bytes));
        Some(run)
    }

    /// A run for a mapping. Where pages of remote memory are larger than the processor's, a mapping is given
    /// back as a whole only.
    pub(crate) fn map(&mut self, bytes: usize) -> Option<Run> {
        if config().page == BASE {
            return self.find(bytes, BASE);
        }
        let run = self.allocate(bytes, BASE)?;
        self.mapped.insert(run.start, bytes);
        Some(run)
    }

    /// A mapping has become longer or shorter where it is.
    pub(crate) fn stretched(&mut self, start: usize, bytes: usize) {
        if let Some(had) = self.mapped.get_mut(&start) {
            *had = bytes;
            let size = self.size(start).max(whole(bytes));
            self.allocated.insert(start, size);
        }
    }

    /// A mapping, or a part of one, is free. Addresses of parts of larger pages are not used again: the
    /// rest of the page may still be the program's.
    pub(crate) fn unmap(&mut self, range: Range) {
        if config().page == BASE {
            self.put(range.start, range.bytes);
        } else if self.mapped.get(&range.start).is_some_and(|bytes| range.bytes >= *bytes) {
            self.mapped.remove(&range.start);
            self.release(range.start);
        }
    }

    /// Malloc's run is free; nothing when it is none.
    pub(crate) fn release(&mut self, start: usize) {
        if let Some(bytes) = self.allocated.remove(&start) {
            self.put(start, bytes);
        }
    }

    /// Bytes of malloc's run; 0 when it is none.
    pub(crate) fn size(&self, start: usize) -> usize {
        self.allocated.get(&start).copied().unwrap_or(0)
    }

    /// Takes so many bytes from this address on, if they are free.
    pub(crate) fn extend(&mut self, start: usize, bytes: usize) -> bool {
        let at = start - layout::start();
        match self.free.get(&at).copied() {
            Some(size) if size >= bytes => {
                self.unlink(at, size);
                self.put(start + bytes, size - bytes);
                true
            }
            _ => false,
        }
    }

    /// Makes malloc's run shorter, or longer where what follows is free.
    pub(crate) fn resize(&mut self, start: usize, bytes: usize) -> bool {
        let (had, wanted) = (self.size(start), whole(bytes));
        if wanted <= had {
            self.put(start + wanted, had - wanted);
        } else if !self.extend(start + had, wanted - had) {
            return false;
        }
        self.allocated.insert(start, wanted);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, want};

    fn taken(bytes: usize) -> usize {
        RUNS.lock().find(bytes, BASE).expect("there are addresses").start
    }

    /// What is free, by offsets; by size there is the same.
    fn free() -> Vec<(usize, usize)> {
        let runs = RUNS.lock();
        assert_eq!(runs.free.len(), runs.sizes.len());
        runs.free.iter().map(|(at, bytes)| (*at, *bytes)).collect()
    }

    fn mapped(bytes: usize) -> usize {
        RUNS.lock().map(bytes).expect("there are addresses").start
    }

    fn unmap(start: usize, bytes: usize) {
        RUNS.lock().unmap(Range { start, bytes });
    }

    fn size(start: usize) -> usize {
        RUNS.lock().size(start)
    }

    fn resize(start: usize, bytes: usize) -> bool {
        RUNS.lock().resize(start, bytes)
    }

    #[test]
    fn the_smallest_free_run_that_fits_is_taken() {
        alone!({
            want("local=1073741824,rate=1");
            let [large, _, small, _] = [4, 1, 2, 1].map(|pages| taken(pages * BASE));
            RUNS.lock().put(large, 4 * BASE);
            RUNS.lock().put(small, 2 * BASE);
            let found = RUNS.lock().find(2 * BASE, BASE).expect("a run");
            assert!(found.used && found.start == small, "not a part of the larger one");
            // What is left of a larger one stays free.
            assert_eq!([taken(BASE), taken(3 * BASE)], [large, large + BASE]);
            assert_eq!(range().bytes, 8 * BASE);
            assert!(
                !RUNS.lock().find(1, BASE).expect("a run").used,
                "nothing is free: it comes from the end"
            );
        });
    }

    #[test]
    fn neighbours_are_joined_in_any_order() {
        alone!({
            want("local=1073741824,rate=1");
            let first = taken(3 * BASE);
            let _ = taken(BASE);
            for page in [0, 2, 1] {
                RUNS.lock().put(first + page * BASE, BASE);
            }
            assert_eq!(free(), [(ALL_HEAPS, 3 * BASE)]);
            assert_eq!(taken(3 * BASE), first);
            assert!(free().is_empty());
        });
    }

    #[test]
    fn an_alignment_gives_back_what_lies_around() {
        alone!({
            want("local=1073741824,rate=1");
            let _ = taken(BASE);
            let run = RUNS.lock().find(BASE, 1 << 21).expect("there are addresses");
            assert!(run.start.is_multiple_of(1 << 21));
            let unused: usize = free().iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(range().bytes - unused, 2 * BASE, "one page more than the first is taken");
        });
    }

    #[test]
    fn a_run_of_malloc_grows_only_into_what_is_free() {
        alone!({
            want("local=1073741824,rate=1");
            let start = RUNS.lock().allocate(2 * BASE, BASE).expect("a run").start;
            let behind = taken(BASE);
            assert!(!resize(start, 3 * BASE), "what follows is somebody's");
            RUNS.lock().put(behind, BASE);
            assert!(resize(start, 3 * BASE) && free().is_empty());
            assert!(resize(start, 1));
            assert_eq!((size(start), free()), (BASE, vec![(start + BASE - layout::start(), 2 * BASE)]));
            RUNS.lock().release(start);
            RUNS.lock().release(start);
            assert_eq!((size(start), taken(3 * BASE)), (0, start), "freed once, though told twice");
        });
    }

    #[test]
    fn parts_of_larger_pages_are_not_used_again() {
        alone!({
            want("local=1073741824,rate=1,page=65536");
            let start = mapped(3 * BASE);
            unmap(start, BASE);
            assert_eq!((size(start), free().len()), (65536, 0), "the program has two thirds of it");
            unmap(start, 3 * BASE);
            assert_eq!(mapped(1), start);
        });
    }

    #[test]
    fn a_mapping_of_larger_pages_is_free_at_the_length_that_it_has_by_then() {
        alone!({
            want("local=1073741824,rate=1,page=65536");
            let start = mapped(3 * BASE);
            RUNS.lock().stretched(start, 5 * BASE);
            unmap(start, 3 * BASE);
            assert!(free().is_empty(), "it has become longer");
            RUNS.lock().stretched(start, 2 * BASE);
            unmap(start, 2 * BASE);
            assert_eq!(free(), [(ALL_HEAPS, 65536)], "and shorter");
        });
    }

    #[test]
    fn more_than_all_addresses_is_none() {
        alone!({
            want("local=1073741824,rate=1");
            assert!(RUNS.lock().find(BYTES + 1, BASE).is_none());
            assert!(RUNS.lock().find(BYTES - ALL_HEAPS + BASE, BASE).is_none());
            assert_eq!(range().bytes, 0, "nothing was taken");
        });
    }
}
