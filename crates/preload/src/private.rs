//! The heap that is never remote: this library's own, and what the C library and the loader allocate for
//! themselves.
//!
//! Those touch what they allocated where no page fault may be handled yet: a forked child's C library goes
//! through open files before anybody else runs. dlmalloc, on a range of its own.

use crate::growing::{Addresses, Growing};
use crate::layout::{BASE, PRIVATE_BYTES};
use crate::lock::Lock;
use crate::{raw, signals, stats};
use dlmalloc::Dlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static START: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

/// Reserves the addresses, where nobody has needed them yet.
pub(crate) fn reserve() -> io::Result<usize> {
    if START.load(Relaxed) == 0 {
        START.store(raw::reserve(PRIVATE_BYTES)?, Relaxed);
    }
    Ok(START.load(Relaxed))
}

/// Bytes that this library has allocated.
static LIBRARY_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Begins this process's numbers, with where this heap lies.
pub(crate) fn begin_stats(folder: &str) {
    stats::begin(folder);
    stats::stats().private_at.set(START.load(Relaxed) as u64);
    stats::stats().private_bytes.set(PRIVATE_BYTES as u64);
    tell();
}

/// Writes down how many that are.
fn tell() {
    stats::stats().library_bytes.set(LIBRARY_BYTES.load(Relaxed) as u64);
}

/// Memory of a range, from one end to the other.
pub(crate) struct Range;

impl Addresses for Range {
    fn more(&self, bytes: usize) -> Option<(usize, usize)> {
        let start = reserve().ok()?;
        let bytes = bytes.next_multiple_of(16 * BASE);
        let at = USED.fetch_add(bytes, Relaxed);
        (at + bytes <= PRIVATE_BYTES).then_some((start + at, bytes))
    }
}

/// The heap.
pub(crate) static HEAP: Lock<Dlmalloc<Growing<Range>>> =
    Lock::new(Dlmalloc::new_with_allocator(Growing(Range)));

/// Whether it is memory of this heap.
pub(crate) fn owns(address: usize) -> bool {
    let start = START.load(Relaxed);
    start != 0 && (start..start + PRIVATE_BYTES).contains(&address)
}

/// Allocates what this library itself needs.
struct LibraryAllocator;

// SAFETY: dlmalloc keeps to what is asked of an allocator, under its lock.
unsafe impl GlobalAlloc for LibraryAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIBRARY_BYTES.fetch_add(layout.size(), Relaxed);
        tell();
        let _waiting = signals::quiet();
        // SAFETY: as the caller promises.
        unsafe { HEAP.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIBRARY_BYTES.fetch_sub(layout.size(), Relaxed);
        let _waiting = signals::quiet();
        // SAFETY: as the caller promises.
        unsafe { HEAP.lock().free(at, layout.size(), layout.align()) }
    }
}

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: LibraryAllocator = LibraryAllocator;
