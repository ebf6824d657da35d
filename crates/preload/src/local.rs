//! The heap that is never remote: this library's own, and what the C library and the loader allocate for themselves.
//!
//! Those touch what they allocated where no page fault may be handled yet: a forked child's C library goes through open files before
//! anybody else runs. dlmalloc, on a range of its own.

use crate::layout::{BASE, LOCAL_BYTES};
use crate::lock::Lock;
use crate::raw;
use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static START: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

/// Reserves the addresses, where nobody has needed them yet.
pub(crate) fn reserve() -> io::Result<usize> {
    if START.load(Relaxed) == 0 {
        START.store(raw::reserve(LOCAL_BYTES)?, Relaxed);
    }
    Ok(START.load(Relaxed))
}

/// Memory of a range, from one end to the other.
pub(crate) struct Source;

// SAFETY: each call gives memory that nobody else has; it is zero, and never taken back.
unsafe impl Allocator for Source {
    fn alloc(&self, bytes: usize) -> (*mut u8, usize, u32) {
        let Ok(start) = reserve() else { return (ptr::null_mut(), 0, 0) };
        let bytes = bytes.next_multiple_of(16 * BASE);
        let at = USED.fetch_add(bytes, Relaxed);
        if at + bytes > LOCAL_BYTES { (ptr::null_mut(), 0, 0) } else { ((start + at) as *mut u8, bytes, 0) }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        BASE
    }
}

/// The heap.
pub(crate) static HEAP: Lock<Dlmalloc<Source>> = Lock::new(Dlmalloc::new_with_allocator(Source));

/// Whether it is memory of this heap.
pub(crate) fn owns(address: usize) -> bool {
    let start = START.load(Relaxed);
    start != 0 && (start..start + LOCAL_BYTES).contains(&address)
}

/// What this library itself allocates.
struct Own;

// SAFETY: dlmalloc keeps to what is asked of an allocator, under its lock.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { HEAP.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { HEAP.lock().free(at, layout.size(), layout.align()) }
    }
}

#[global_allocator]
static OWN: Own = Own;
