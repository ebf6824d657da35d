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
    end: usize,
}

/// The runs of the program.
pub(crate) static RUNS: Lock<Runs> = Lock::new(Runs {
    free: BTreeMap::new(),
    sizes: BTreeSet::new(),
    allocated: BTreeMap::new(),
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
        if config().page == BASE { self.find(bytes, BASE) } else { self.allocate(bytes, BASE) }
    }

    /// A mapping, or a part of one, is free. Addresses of parts of larger pages are not used again.
    pub(crate) fn unmap(&mut self, range: Range) {
        if config().page == BASE {
            self.put(range.start, range.bytes);
        } else if self.size(range.start) == whole(range.bytes) {
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
