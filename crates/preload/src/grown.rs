//! How far each of the program's heaps has grown.

use crate::layout::{self, HEAP_BYTES, HEAPS};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sys::userfaultfd::Range;

/// Bytes of each, from the beginning of its range.
pub(crate) static USED: [AtomicUsize; HEAPS] = [const { AtomicUsize::new(0) }; HEAPS];

/// What heaps have of the program's memory.
pub(crate) fn ranges() -> impl Iterator<Item = Range> {
    let at =
        |heap: usize| Range { start: layout::start() + heap * HEAP_BYTES, bytes: USED[heap].load(Relaxed) };
    (0..HEAPS).map(at)
}
